"""Times the calls of a case on a card.

    timer      one call: warm-up, a method, what to do when it fails, the event
    methods    queued and direct, over a Device; graphs by replay, sampling what all of them need
    device     what the methods need of a device; torch_device is the real one, sweep what it flushes the L2 with
    warmup     load until the clock is steady      watchdog   notices a device that never answers
    turns      waits for the other side's process at each row, where the tool has both take turns
    entrance   waits for the pair before, where the tool has the next one start up meanwhile
    nvml       the card's clock, temperature, power and processes, for NVIDIA
    random_numbers   leaves them as they were      selftest   times calls of known length, for `doctor`
    summary    median, quartiles and minimum of the samples

Only torch_device, sweep and nvml touch a card; everything else takes them as arguments.
"""

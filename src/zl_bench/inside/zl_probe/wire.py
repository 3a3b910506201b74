"""The contract between tool and probe: which files, which events, which fields.

A run is a directory. The tool writes `input.json` into it and starts a process; the probe appends one JSON object per
line to `events.jsonl`, flushed per event, and puts raw stage texts under `ir/`. Whatever happens to the process, the
complete lines of `events.jsonl` are true. Nothing else crosses the wall, but for whose turn it is (see below).

Standard library only, and no imports from the rest of the probe: both worlds import this module.

input.json::

    {"wire": 1, "operator": "matmul", "dtype": "float16" | null, "side": "before", "node": "test_matmul.py::test_matmul",
     "suite": "builtin", "rootdir": "/…/suites/builtin", "pytest_args": ["…"], "target": "cuda:90" | null,
     "stages": "all" | "ttgir", "drop_pass": {"name": "pipeline", "occurrence": 2 | [1, 3] | null} | null,
     "pins": {"mode": "tune" | "first" | "all" | "replay", "records": [PIN, …]}, "caches": {"TRITON_CACHE_DIR": "/…", …},
     "out": "/…/matmul_before", "compat_plugins": ["zl_probe.compat.mthreads"], "dtype_by": "parameter" | "option"}

    optional:
     "timing": {"method": "graph" | "queued" | "direct", "l2": "cold" | "warm", "baseline": true | false}
     "numerics": true, "device": "cuda"
     "continue": {"from_call": 17, "avoid": {"17": ["graph"]}, "queue_rest": false}
     "turns": {"socket": "NAME", "each": 2, "patience_s": 300.0}
     in "pins" with mode "replay": "follow": "/…/matmul_before"

With "follow" the choices to replay are those that the run in that directory records, which may still be going on: a choice that
is not there yet is waited for until that run has ended.

Without "timing" nothing is timed. "baseline": what the suite compares the operator with is run and timed too. "numerics": the
outputs of each row's first call are sampled. "device": torch's module for the card, `cuda` where it is not told.
With "continue" this process goes on in the directory of one that had to be given up: of the calls that the benchmark itself
times, counted from 0, those before from_call are neither run nor recorded, `avoid` names the methods that a call must not be
timed by, and with queue_rest none is timed by graph; pins that the given-up process recorded are in its "records", to be
replayed where they fit while mode "tune" chooses the rest.

With "turns" two processes, one of each side, time each row in turns, `each` times; the tool says when, over a Unix socket of
that abstract name. JSON objects, one a line:

    probe -> tool   {"side": "before", "pid": 4711}, then {"ready": true} where it must use the card to go on, once each;
                    then, of each of the operator's timed calls,
                    {"row": {call, node, operator, dtype, ordinal, detail, role}}      it has run and waits
                    {"prepared": METHOD} or {"refused": why}, when told to prepare; {"timed": true} or {"failed": why} per turn
    tool -> probe   {"do": "enter"}                           the card is this pair's; before that, any time may pass
                    {"do": "prepare"}
                    {"do": "turn", "loaded": when the card was last under load, by the monotonic clock | null}
                    {"do": "next", "why": why the row is not timed in this round, empty if it was}
                    {"do": "leave", "why": why this process must end}

A process that is told to leave, or whose channel is closed or silent for patience_s, records `left` and ends at once.

compat_plugins and dtype_by may be absent: no such plugins, and the dtype is a test's parameter. With "option" the suite was
told the dtype by an argument, so only tests with a dtype parameter of another value are deselected.

events.jsonl, one of these a line; every event carries `event` and `t` (seconds since the epoch):

    begin        wire, pid, python, triton {version, path, library, library_sha256}, torch {version} | null, target,
                 opened [devices that this process had open when it was forked]
    collected    nodes [node ids that will run]
    deselected   dtype, available [dtypes]                     the asked dtype is not one of this node's
    removed      nodes [node ids]                              the suite itself took them out of what was collected
    compile      kernel, seconds, cached, foreign              one finished compilation of this process (launched or not);
                 foreign: a cache answered it, with what this process never compiled itself
    compile_failed  kernel, signature, stage, error, message, pass, cause, diagnostics   diagnostics: what the compiler
                 printed meanwhile; pass and cause: the pass and the first telling error in it, empty if it names none
    kernel       id, name, signature, constants, attributes, num_warps, num_stages, num_ctas, shared, configuration,
                 stages {name: {"file": "ir/…", "sha256": "…"}}, source {"file", "sha256"} | null (what the frontend made of
                 it, where Triton keeps that), target, options {name: value} | null (what the compile was asked for, of what
                 JSON can hold), registers, spills (null where no driver loaded it)   once per variant, before the first row
                 that launched it
    pin          tuner, key, configuration, position, candidates, how, origin   origin: of a replayed choice that no card has
                 timed, how it was made ("first", "all"), else empty; tuner: `module.kernel#digest of its candidates`,
                 with `.2`, `.3` … for further tuners alike in both, in the order of their first use
    pin_missing  tuner, key, reason                            at the launch, or before `end` for a record that was left over
    row          node, operator, dtype, ordinal, detail, launches [kernel id, …], guesses, ran
                 ran: of a row without a launch on the stand-in, {operator: "view" | "native" | "library"}, as it was done
    latency      node, operator, dtype, ordinal, detail, call, role "operator" | "baseline", method, l2, median_ms, q1_ms,
                 q3_ms, min_ms, samples, warmup_ms, launch_bound, invalid (why it is no latency, else empty),
                 fell_back [{"method", "why"}], before, after: {"clock_mhz", "memory_clock_mhz", "temperature_c", "power_w",
                 "throttle": [words]} | null, others [processes, as of `card`, that were on the card after it],
                 turns [{"median_ms", "samples", "warmup_ms", "steady", "before", "after"}] where there were several: then
                 median_ms is the median of theirs      milliseconds per call; follows the `row` of its key (role operator),
                 or comes before it (role baseline)
    outputs      node, operator, dtype, ordinal, detail, tensors [{"dtype", "shape", "sha256", "file": "outputs/…",
                 "elements", "of", "strides"}], reason      the sampled outputs of the row's first call: `elements` of its
                 `of` elements, raw little-endian in `file`, whose SHA-256 is `sha256`; numbers are tensors of shape [];
                 strides: of a tensor that is not contiguous, in elements, otherwise absent; reason: why there are no
                 tensors, or which outputs are not among them, else empty
    abandoned    call, node, operator, dtype, ordinal, detail, role, method, why "poisoned" | "wedged", message
                 timing by that method left a process that can not be trusted, so it ends here without `end`; a fresh one
                 goes on in this file, with a `begin` and kernel ids of its own
    entered      waited_s                                      it was let in, and uses the card from now on
    left         why                                           there was nobody left to take turns with
    card         name, uuid, driver, processes [{"pid", "name", "used_mib"}]    before the first `latency`: the card, and the
                 processes of others on it
    row_failed   node, operator, dtype, ordinal, detail, phase "compile" | "run", message, kernel, stage, whole_test
                 at once, with whole_test false, when a row's call raises, even if the test catches that; then, if the test
                 ends by that exception (fails, skips or is expected to fail), again with the same key and whole_test true,
                 perhaps in the test's own words: the last one of a key counts
    unlabelled_row  caller ("file.py:line")                    something was timed while no test ran: it was called, and no row
    shapes       node, operator, classes [names, the nearest first], file (the shape file it was told to read), shapes [nested
                 lists]   what a FlagGems benchmark object had when it made inputs, each time that this changed
    compat       plugin, node, dropped [mark names], reason, why   a compat plugin took marks off a collected test
    needs_device operation                                     the stand-in could not do this honestly
    test         node, outcome "passed" | "failed" | "skipped", message
    end          exit (pytest's exit status), message (why pytest ran nothing, empty otherwise), stopped (what ended pytest
                 before its tests did, such as `Exit: reason`, else empty), unrun [node ids that were to run and have no
                 `test` event], cached_kernels (compiled kernels in TRITON_CACHE_DIR, by whatever process)

A replay compiles recorded kernels again, in a process without a suite. Its request::

    {"out": "/…", "kernels": [{"id", "source": "/…/ir/….source", "made": "source" | "ttir" (the stage whose result the file
     holds), "target", "options"}, …], "drop_pass": as above, "last": stage | null (where to
     stop), "passes": true | false (whether to record the IR after each pass)}

and its events, beside `begin` (which says nothing of torch: a replay does not import it) and `end`:

    replay         kernel                                      what follows is about this kernel of the request
    stage_begins   kernel, stage
    pass_begins    kernel, stage, pass
    pass           kernel, stage, pass, left_out, file, sha256     the IR after it
    stage          kernel, stage, file, sha256
    replayed       kernel, shared, added [passes of the TTGIR pipeline, those left out too]
    replay_failed  kernel, stage, pass, message, cause, added      the stage is `load` where the target has not enough memory
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

WIRE_VERSION = 1
HIDDEN_CARDS = {"CUDA_VISIBLE_DEVICES": "-1", "HIP_VISIBLE_DEVICES": "-1"}
"""Set in a process that compiles for a target: whatever it still starts can not open a card that the machine may have."""
FIRST_DTYPE = "first"
"""As a dtype: the first one of the operator's own."""
INPUT_FILE = "input.json"
EVENTS_FILE = "events.jsonl"
OUTCOME_FILE = "outcome.json"
"""How the run's process ended; the tool writes it, once it has."""
LOG_FILE = "run.log"
ENVIRONMENT_FILE = "env.json"
IR_FOLDER = "ir"
OUTPUTS_FOLDER = "outputs"
DIRECT_MARKER = "BENCHMARK_DIRECT_NO_CUDAGRAPH"
"""In the run's log, of a row that was not timed by graph replay (R12)."""


def read_events(path: str) -> Iterator[dict[str, Any]]:
    """Yield the complete events of a file; a last line cut short by a kill or a full disk is passed over.

    A file that does not exist has no events. A broken line that is not the last one raises ValueError.
    """
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8", errors="replace") as stream:  # a line may be cut inside a character
        lines = stream.read().split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except ValueError:
            if number == len(lines):
                return
            raise ValueError(f"{path}:{number}: not a JSON object") from None
        yield event

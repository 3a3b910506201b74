"""Moore Threads: drops benchmark skip guards written as `torch.cuda.is_available()`, which is False with torch_musa.

Each override is pinned to one file and one exact reason, and acts only when flag_gems has dispatched to `mthreads`.
Nothing here was tried on a card: every statement was read from FlagGems' source.

Dropped, because inputs and code under test go through flag_gems.device:

- benchmark/test_fft.py, "CUDA is not available". The test itself is device-neutral. The operator's file asserts
  `x.is_cuda`, which is False on MUSA, so a run may end in that assertion: then it is NO_ROWS with the assertion as its
  reason, which is more than a skip says.
- benchmark/test_scaled_dot_product_attention_math.py, "CUDA is not available". The operator uses
  flag_gems.runtime.torch_device_fn and no CUDA call. Its second guard (CPU mode) stays.
- benchmark/test_embedding_dense_backward.py, "CUDA backend is not available for this benchmark.". The operator compares
  with flag_gems.device; the guard asks for the device name `cuda` as well, and goes as a whole.

Examined and deliberately left in place:

- benchmark/test_top_k_per_row_prefill.py (the module's mark), "CUDA device required": without vLLM the baseline is FlagGems'
  own kernel, so the comparison would be of a thing with itself.
- benchmark/test_fused_indexer_q_rope_quant.py, "requires CUDA": the operator refuses tensors whose is_cuda is False.
- benchmark/test_flash_attention_forward.py and test_flash_attention_backward.py, "CUDA is not available": the aten baseline
  exists for CUDA only.
- benchmark/test_cudnn_attention_forward.py, "CUDA is not available": rightly CUDA, the baseline is cuDNN.
- benchmark/test_apply_repetition_penalties.py, test_cp_gather_indexer_k_quant_cache.py and
  test_indexer_k_quant_and_cache.py, "CUDA required": rightly CUDA, the baselines are vLLM's CUDA operators.
- benchmark/test_FLA/test_chunk_gated_delta_rule_perf.py, "benchmark requires CUDA device": a guard on flag_gems.device
  itself, not on torch.cuda.
- all that asks for vLLM, DeepGEMM, cuDNN or an SM90 or SM100 card (deepseek_v4_*, fp8_*, scaled_grouped_mm,
  pack_seq, unpack_seq, stage_deepseek_v4_mega_moe_inputs): rightly CUDA.
"""

from typing import Any

from ..recorder import EventSink
from .guards import SkipOverride

VENDOR = "mthreads"

OVERRIDES = (
    SkipOverride(
        file="benchmark/test_fft.py",
        reason="CUDA is not available",
        condition="not torch.cuda.is_available()",
        why="inputs are made on flag_gems.device; the operator's own assertion, if it holds, is the better reason",
    ),
    SkipOverride(
        file="benchmark/test_scaled_dot_product_attention_math.py",
        reason="CUDA is not available",
        condition="not torch.cuda.is_available()",
        why="inputs and operator go through flag_gems.device",
    ),
    SkipOverride(
        file="benchmark/test_embedding_dense_backward.py",
        reason="CUDA backend is not available for this benchmark.",
        condition="not torch.cuda.is_available()",
        why="inputs and operator go through flag_gems.device",
    ),
)


def compat_plugin(sink: EventSink) -> Any:
    """The plugin, as the probe loads it."""
    from .unskip import Unskip  # imports pytest, which whoever only reads the table need not have

    return Unskip(VENDOR, VENDOR, OVERRIDES, sink)

"""Says which compiler and framework this process has, down to the hash of the native library."""

import functools
import hashlib
import os
import platform
import sys
from typing import Any


@functools.cache
def sha256_of(path: str) -> str:
    """SHA-256 of a file's bytes; cached, because libtriton has hundreds of megabytes and children inherit the answer."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 22), b""):
            digest.update(block)
    return digest.hexdigest()


def triton_version() -> dict[str, str] | None:
    """Version, package folder, native library and its hash; None when Triton can not be imported."""
    try:
        import triton
        from triton._C import libtriton
    except ImportError:
        return None
    library = os.path.realpath(libtriton.__file__)
    return {
        "version": str(triton.__version__),
        "path": os.path.dirname(os.path.realpath(triton.__file__)),
        "library": library,
        "library_sha256": sha256_of(library),
    }


def torch_version() -> dict[str, Any] | None:
    """Version of torch and the CUDA or HIP version it was built for; None without torch."""
    try:
        import torch
    except ImportError:
        return None
    return {
        "version": str(torch.__version__),
        "cuda": getattr(torch.version, "cuda", None),
        "hip": getattr(torch.version, "hip", None),
    }


def compiler_versions() -> dict[str, Any]:
    """The fields of `begin` that a compile alone needs; importing torch takes seconds."""
    return {
        "python": platform.python_version(),
        "interpreter": sys.executable,
        "platform": platform.platform(),
        "triton": triton_version(),
    }


def versions() -> dict[str, Any]:
    """The version fields of the `begin` event."""
    return {**compiler_versions(), "torch": torch_version()}

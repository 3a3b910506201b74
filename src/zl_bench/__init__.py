"""zl-bench: which operators a Triton compiler change really touches, and whether it made them faster."""

__version__ = "0.1.0"

"""What crosses into the measured process: this folder goes on its path, and `zl_probe` is imported there."""

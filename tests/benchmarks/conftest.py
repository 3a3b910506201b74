"""The benchmarks are scripts beside the package: their folder is where they find each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

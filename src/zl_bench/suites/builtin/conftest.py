"""Lets the benchmarks import their shared module also under pytest's import mode importlib."""

import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.insert(0, FOLDER)

"""The probe's tests import it as the measured process does: as `zl_probe`, from the folder that is put on its path."""

import sys
from pathlib import Path

INSIDE = Path(__file__).resolve().parents[2] / "src" / "zl_bench" / "inside"
if str(INSIDE) not in sys.path:
    sys.path.insert(0, str(INSIDE))

"""The host's random numbers are the same in every run."""

import random
import subprocess
import sys

from zl_probe import seeding


def test_python_draws_the_same_numbers():
    seeding.seed_host()
    first = [random.random() for _ in range(3)]
    random.random()
    seeding.seed_host()
    assert [random.random() for _ in range(3)] == first


def test_nothing_is_imported_for_it():
    code = "import sys; from zl_probe.seeding import seed_host; seed_host(); print(*({'torch', 'numpy'} & set(sys.modules)))"
    path = seeding.__file__.rsplit("/", 2)[0]
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []

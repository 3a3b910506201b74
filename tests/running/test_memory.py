"""How the memory of a machine, and of the control groups around a process, is shared out among runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.running.memory import GIB, LEAST, SHARE, available_memory, gib, shared_out

MEMINFO = "MemTotal:  16777216 kB\nMemFree:   1048576 kB\nMemAvailable:  8388608 kB\nCached:  2097152 kB\n"


@given(st.none() | st.integers(1, 64), st.integers(1, 256), st.integers(GIB // 2, 4096 * GIB))
def test_all_runs_fit_together_unless_the_limit_is_given(jobs: int | None, cores: int, available: int) -> None:
    at_a_time, memory = shared_out(jobs, None, cores, available)
    assert at_a_time * memory <= available * SHARE
    assert at_a_time == jobs or 1 <= at_a_time <= cores
    assert memory >= LEAST or at_a_time in (jobs, 1)


@given(st.integers(1, 64 * GIB), st.integers(1, 256), st.integers(0, 4096 * GIB))
def test_a_given_limit_lowers_the_number_of_runs(memory: int, cores: int, available: int) -> None:
    at_a_time, limit = shared_out(None, memory, cores, available)
    assert limit == memory
    assert at_a_time == 1 or at_a_time * limit <= available


def test_what_is_given_stays_as_it_is() -> None:
    assert shared_out(8, 4 * GIB, 2, GIB) == (8, 4 * GIB)
    assert shared_out(None, None, 2, 10 * GIB) == (2, 4 * GIB)
    assert shared_out(1, None, 2, 0) == (1, 1)


@pytest.mark.parametrize(
    ("size", "text"), [(GIB, "1 GiB"), (GIB // 4, "0.25 GiB"), (3 * GIB // 2, "1.5 GiB"), (2000 * GIB, "2000 GiB")]
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert gib(size) == text


def machine(folder: Path, membership: str, meminfo: str = MEMINFO, **groups: dict[str, str]) -> int:
    """What is available on a machine of these files; `groups` by path below the mount, `__` for a slash."""
    (folder / "meminfo").write_text(meminfo)
    (folder / "cgroup").write_text(membership)
    for path, files in groups.items():
        group = folder / "groups" / path.replace("__", "/")
        group.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (group / name.replace("_", ".", 1)).write_text(text)
    return available_memory(folder / "meminfo", folder / "cgroup", folder / "groups")


def test_without_groups_it_is_the_machine_s(tmp_path: Path) -> None:
    assert machine(tmp_path, "0::/\n") == 8 * GIB
    assert available_memory(tmp_path / "meminfo", tmp_path / "nowhere", tmp_path) == 8 * GIB
    assert machine(tmp_path, "", MEMINFO.replace("MemAvailable", "Other")) == 3 * GIB


def test_the_narrowest_group_around_the_process_decides(tmp_path: Path) -> None:
    inner = {"memory_max": "max\n", "memory_current": f"{GIB}\n", "memory_stat": "anon 1\ninactive_file 5\n"}
    outer = {
        "memory_max": f"{4 * GIB}\n",
        "memory_current": f"{2 * GIB}\n",
        "memory_stat": f"inactive_file {GIB}\n",
    }
    assert machine(tmp_path, "1:cpu:/\n0::/outer/inner\n", outer=outer, outer__inner=inner) == 3 * GIB


def test_a_first_generation_group(tmp_path: Path) -> None:
    group = {
        "memory_limit_in_bytes": f"{2 * GIB}\n",
        "memory_usage_in_bytes": f"{GIB}\n",
        "memory_stat": "inactive_file 7\ntotal_inactive_file 0\n",
    }
    assert machine(tmp_path, "4:cpu,memory:/docker/x\n0::/\n", memory=group) == GIB


def test_a_group_that_is_full_has_nothing_left(tmp_path: Path) -> None:
    full = {"memory_max": "5\n", "memory_current": "9\n", "memory_stat": ""}
    assert machine(tmp_path, "0::/full\n", full=full) == 0


def test_this_machine_has_some() -> None:
    assert available_memory() > 0

"""The error family and the exit codes that the commands promise."""

from __future__ import annotations

import pytest

from zl_bench import errors
from zl_bench.errors import DeadAxis, EnvironmentUnfit, ExitCode, UsageError, ZlBenchError


def test_the_promised_exit_codes() -> None:
    assert {code.name: int(code) for code in ExitCode} == {
        "OK": 0,
        "FAILED_RUN": 1,
        "USAGE": 2,
        "ENVIRONMENT": 3,
        "DEAD_AXIS": 4,
        "VERDICT_FOUND": 10,
        "INTERRUPTED": 130,
    }


@pytest.mark.parametrize(("kind", "code"), [(UsageError, 2), (EnvironmentUnfit, 3), (DeadAxis, 4), (ZlBenchError, 1)])
def test_every_error_has_its_code(kind: type[ZlBenchError], code: int) -> None:
    assert kind("why").exit_code == code


def test_every_error_is_of_the_family() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert all(issubclass(kind, ZlBenchError) for kind in kinds)
    assert len(kinds) == 4

"""Keeps a process from touching its card while it starts up, though what it imports asks the card for its properties.

torch initialises a device to answer such a question, after which no fork can use it. So a child of the side's parent asks
once, and ends (`answers_of`); the parent answers with what it said while a suite's library is imported; and each run, once it
may use the card, asks what was asked again and compares. What needs the card itself calls torch's `_lazy_init`, from Python and
from its native code alike: that is where a parent finds that importing is not possible without it, and where a run waits for
its turn.
"""

import functools
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from . import devices, processes

OF_THE_MACHINE = ("is_available", "device_count", "current_device")
OF_A_DEVICE = ("get_device_capability", "get_device_name", "get_device_properties")
PROPERTIES = "get_device_properties"
ENTRY = "_lazy_init"
"""Torch's way into a device: the function of its module that all use of one goes through."""


class CardDiffers(Exception):
    """The card does not answer as it did when what was imported asked for it."""


class Untouched:
    """The torch module of a device, which answers from `answers` and calls `on_use` before it is used, until `touch`."""

    def __init__(self, module: Any, answers: Mapping[str, Any], on_use: Callable[[], None]):
        self._module = module
        self._answers = answers
        self._asked: set[str] = set()
        self.on_use = on_use
        """Called where the device is needed; the use goes on when it returns."""
        self.touched = False

    @classmethod
    def without_answers(cls, module: Any) -> "Untouched":
        """One that stands before what uses the device, and answers nothing."""
        untouched = cls(module, {}, lambda: None)
        untouched.install()
        return untouched

    @property
    def notices(self) -> bool:
        """Whether a first use can be noticed at all."""
        return callable(getattr(self._module, ENTRY, None))

    def install(self) -> None:
        """Stand before the module's functions for good: who has imported one keeps it."""
        for name in self._answers:
            if hasattr(self._module, name):
                setattr(self._module, name, self._answering(name, getattr(self._module, name)))
        if self.notices:
            original = getattr(self._module, ENTRY)
            noticing = self._noticing(original)
            for module in (self._module, *sys.modules.values()):  # torch's own parts have imported it by name
                if getattr(module, "__dict__", {}).get(ENTRY) is original:
                    setattr(module, ENTRY, noticing)

    def touch(self) -> None:
        """From now on every call is the module's own."""
        self.touched = True

    def require_same(self) -> None:
        """Ask what was asked again, of the device itself. Raises CardDiffers naming what it answers otherwise."""
        now = {name: _said(self._module, name) for name in sorted(self._asked)}
        differing = [name for name, answer in now.items() if answer != self._answers[name]]
        if differing:
            raise CardDiffers(f"the card answers {', '.join(differing)} otherwise than when this side's imports asked")

    def _answering(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        known = self._answers[name]
        answer = SimpleNamespace(**known) if name == PROPERTIES else tuple(known) if isinstance(known, list) else known

        @functools.wraps(original)
        def answering(*args: Any, **kwargs: Any) -> Any:
            if self.touched or not all(map(_is_the_card, (*args, *kwargs.values()))):
                return original(*args, **kwargs)
            self._asked.add(name)
            return answer

        return answering

    def _noticing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def noticing(*args: Any, **kwargs: Any) -> Any:
            if not self.touched:
                self.on_use()
            return original(*args, **kwargs)

        return noticing


class UntouchedImports:
    """Imports modules for a card that is not touched: a context manager around the imports.

    Raises DeviceInitialised at its end if they have touched it all the same, or went on without it though they needed it.
    """

    def __init__(self, module: Any, answers: Mapping[str, Any]):
        self.untouched = Untouched(module, answers, self._refuse)
        self._needed = False

    def __enter__(self) -> Untouched:
        self._opened = devices.opened()
        self.untouched.install()
        return self.untouched

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            return
        devices.require_untouched()
        opened = sorted(set(devices.opened()) - set(self._opened))
        if opened or self._needed:
            raise devices.DeviceInitialised(
                f"importing what every run needs has opened {', '.join(opened)}" if opened else NEEDED
            )

    def _refuse(self) -> None:
        self._needed = True
        raise devices.DeviceInitialised(NEEDED)


NEEDED = "importing what every run needs uses the card"


def answers_of(name: str) -> dict[str, Any] | None:
    """What torch's module of that name says of its card, asked in a child that ends; None where there is no card to ask."""
    reading, writing = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _answer(parent, name, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        said = stream.read()
    _, status = os.waitpid(pid, 0)
    answers: dict[str, Any] = json.loads(said) if status == 0 and said else {}
    return answers if answers.get("is_available") else None


def _answer(parent: int, name: str, writing: int) -> None:
    """The child: never returns."""
    code = 1
    try:
        processes.die_with_parent(parent)
        module = getattr(sys.modules["torch"], name)
        answers: dict[str, Any] = {"is_available": bool(module.is_available())}
        if answers["is_available"]:
            asked = [one for one in (*OF_THE_MACHINE, *OF_A_DEVICE) if hasattr(module, one)]
            answers.update((one, _said(module, one)) for one in asked)
        os.write(writing, json.dumps(answers).encode())
        code = 0
    except BaseException:  # noqa: BLE001 - the process edge: whatever it was goes to the log and becomes the exit status
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _said(module: Any, name: str) -> Any:
    """What the module itself answers about the one card; an older torch must be told which."""
    return plain(getattr(module, name)(*([0] if name in OF_A_DEVICE else [])))


def plain(answer: Any) -> Any:
    """An answer as JSON can hold it: properties of a device by their names, and what JSON has no word for as text."""
    if answer is None or isinstance(answer, (bool, int, float, str)):
        return answer
    if isinstance(answer, (tuple, list)):
        return [plain(one) for one in answer]
    names = [name for name in dir(answer) if not name.startswith("_")]
    fields = {name: getattr(answer, name) for name in names}
    return {
        name: value if isinstance(value, (bool, int, float, str)) else str(value)
        for name, value in fields.items()
        if not callable(value)
    }


def _is_the_card(argument: Any) -> bool:
    """Whether a device that a question is about is the one card that the process sees: none named, or number 0."""
    if argument is None or isinstance(argument, int):
        return not argument
    if isinstance(argument, str):
        return argument.partition(":")[2] in ("", "0")
    return getattr(argument, "index", None) in (None, 0)

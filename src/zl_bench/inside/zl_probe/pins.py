"""Pins autotuners: records the choice that one run makes and forces it on another, which then never tunes.

Modes (input.json, `pins.mode`):
    tune    let the autotuner time its candidates as usual, record what it chose (needs a card); records are what an
            earlier process of the same run has chosen, and are replayed where they fit
    first   no timing is possible: take the first candidate that compiles
    all     launch every candidate that compiles
    replay  force the recorded choice; a choice without a record falls back to `first` and is reported missing

A tuner is known across sides by the text `module.kernel#digest`, where the digest is that of its candidates whatever their
order. Several tuner objects that are alike in both, as a factory makes them, get `.2`, `.3` … in the order of their first use:
nothing else tells them apart, so a side that uses them in another order swaps their choices.
"""

import functools
import hashlib
import re
from collections.abc import Callable, Iterable
from typing import Any

from . import kernels
from .capture import Capture
from .compiling import compile_failure, skipped_by_autotuner
from .pins_followed import FollowedPins
from .recorder import Recorder
from .timing.random_numbers import RandomNumbers, unmoved

PROCESS_ID = re.compile(r"pid_?\d+")
"""Generated modules may have it in their names."""

UNTIMED = ("first", "all")
"""Ways to choose without a card; the replay of such a choice names it as its origin."""
Key = tuple[str, str]
"""(tuner, key): which autotuner, and for which of its tuning keys."""


def configuration_text(config: Any) -> str:
    """A Config as canonical JSON; equal for equal choices in every Triton version, so that pins cross versions."""
    fields = {name: getattr(config, name, None) for name in ("num_warps", "num_stages", "num_ctas", "maxnreg")}
    given = {name: value for name, value in fields.items() if value is not None}
    return kernels.canonical({**config.kwargs, **given})


def tuner_name(tuner: Any) -> str:
    """Module and name of the tuned kernel."""
    function = getattr(tuner, "base_fn", tuner.fn)
    name = "{}.{}".format(getattr(function, "__module__", ""), getattr(function, "__qualname__", "kernel"))
    return PROCESS_ID.sub("pid", name)


def candidates_digest(configs: Iterable[Any]) -> str:
    """Eight hexadecimal digits that tell one list of candidates from another, whatever its order."""
    texts = sorted(map(configuration_text, configs))
    return hashlib.sha256(kernels.canonical(texts).encode()).hexdigest()[:8]


def kernel_of(name: str) -> str:
    """The tuned kernel's part of a tuner's name."""
    return name.split("#", 1)[0]


def tuning_key(tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What the tuner chooses by: the values of its key arguments and the dtypes of all, as Triton's Autotuner does.

    FlagGems' tuners round the values by a strategy each, and share a choice among what rounds to the same.
    """
    given = {**dict(zip(tuner.arg_names, args, strict=False)), **kwargs}
    given = {name: value for name, value in given.items() if name in tuner.arg_names}
    names = getattr(tuner, "keys", None)
    if names is None:  # Triton 3.1 and older keep positions
        names = [tuner.arg_names[index] for index in tuner.key_idx]
    values = [[name, given[name]] for name in names if name in given]
    strategies = getattr(tuner, "strategy", None) or []
    if len(strategies) == len(names) == len(values):
        values = [[name, round_by(value)] for (name, value), round_by in zip(values, strategies, strict=True)]
    dtypes = [str(value.dtype) for value in given.values() if hasattr(value, "dtype")]
    return kernels.canonical([values, dtypes])


class Pins:
    """Takes over `Autotuner.run` in this process."""

    def __init__(
        self,
        mode: str,
        records: Iterable[dict[str, Any]],
        recorder: Recorder,
        capture: Capture,
        followed: FollowedPins | None = None,
    ):
        self._mode = mode
        self._recorder = recorder
        self._capture = capture
        self._wanted: dict[Key, list[str]] = {}
        self._origins: dict[Key, str] = {}  # replaying a choice that no card has timed does not make it a better one
        for record in records:
            self._want(record)
        self._followed = followed
        """Where further records come from while this side runs already."""
        self._replayed: set[Key] = set()  # records that found their tuner
        self._fixed: dict[Key, str] = {}  # what tuners without a choice of their own ran
        self._settled: dict[tuple[int, str], list[Any]] = {}  # by id(tuner) and tuning key
        self._names: dict[int, tuple[Any, str]] = {}  # by id(tuner); keeps the tuner, so that an id is never reused
        self._alike: dict[str, int] = {}  # how many tuners had that name
        self._busy: set[int] = set()  # tuners that are tuning or forced to one configuration
        self.tuning_depth = 0
        """Above 0 while an autotuner times its candidates: a do_bench call then is no row."""
        self.random_numbers: RandomNumbers | None = None
        """Where there is a device: candidates that draw from them would move those of every later row, on the side
        that tunes and not on the one that replays."""

    def install(self) -> None:
        """Replace `run` of Autotuner and of every subclass that has its own, such as FlagGems' tuners, now and later."""
        from triton.runtime.autotuner import Autotuner

        def watch(tuner_class: Any) -> None:
            if "run" in vars(tuner_class):
                tuner_class.run = self._pinned(tuner_class.run)
            for subclass in tuner_class.__subclasses__():
                watch(subclass)

        def watch_new(tuner_class: Any, **options: Any) -> None:
            super(Autotuner, tuner_class).__init_subclass__(**options)
            if "run" in vars(tuner_class):
                tuner_class.run = self._pinned(tuner_class.run)

        watch(Autotuner)
        hook: Any = classmethod(watch_new)  # type: ignore[arg-type]
        Autotuner.__init_subclass__ = hook

    def _pinned(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            # While it is tuning, or forced to one configuration, it may call the `run` that it overrides.
            if id(tuner) in self._busy:
                return original(tuner, *args, **kwargs)
            if len(tuner.configs) < 2:
                self._note_fixed(tuner, args, kwargs)
                return original(tuner, *args, **kwargs)
            return self._run(original, tuner, args, kwargs)

        return run

    def _want(self, record: dict[str, Any]) -> None:
        key, configuration = (record["tuner"], record["key"]), record["configuration"]
        wanted = self._wanted.setdefault(key, [])
        if configuration not in wanted:
            wanted.append(configuration)
        origin = record.get("origin") or record.get("how")
        if origin in UNTIMED:
            self._origins[key] = origin

    def _wait_for(self, own: Key | None) -> None:
        """Take in what the other side has chosen so far, until that choice is there; None waits for its end."""
        if self._followed is not None:
            self._followed.until(lambda: own in self._wanted, self._want)

    def _run(self, original: Callable[..., Any], tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        own = (self._name(tuner), tuning_key(tuner, args, kwargs))
        settled = self._settled.get((id(tuner), own[1]))
        if settled is not None:
            result = None
            for config in settled:
                result = self._force(original, tuner, config, args, kwargs)
            return result
        self._wait_for(own)
        key = self._record_for(own) or own
        if self._mode == "tune" and not self._fits(tuner, key):
            return self._tune(original, tuner, key, args, kwargs)
        configs, how = self._candidates(tuner, key, args, kwargs)
        if how == "first":
            return self._first(original, tuner, key, configs, args, kwargs)
        return self._every(original, tuner, key, configs, how, args, kwargs)

    def _name(self, tuner: Any) -> str:
        """The text by which this tuner is known across sides."""
        if id(tuner) not in self._names:
            name = f"{tuner_name(tuner)}#{candidates_digest(tuner.configs)}"
            count = self._alike[name] = self._alike.get(name, 0) + 1
            self._names[id(tuner)] = (tuner, name if count == 1 else f"{name}.{count}")
        return self._names[id(tuner)][1]

    def _record_for(self, own: Key) -> Key | None:
        """The record that a tuner's choice is to be replayed from: its own, or else that of the same kernel's only other tuner.

        The other one is this tuner with candidates that differ on the side which recorded it.
        """
        if own not in self._wanted:
            others = self._unclaimed(own)
            if (
                len(others) != 1 or self._mode == "tune"
            ):  # then this side recorded them, and has chosen for another tuner
                return None
            own = others[0]
        self._replayed.add(own)
        return own

    def _unclaimed(self, own: Key) -> list[Key]:
        """The records of the same kernel and tuning key that no tuner of this run has claimed so far."""
        alike = [key for key in self._wanted if key[1] == own[1] and kernel_of(key[0]) == kernel_of(own[0])]
        return [key for key in alike if key not in self._replayed]

    def _fits(self, tuner: Any, key: Key) -> bool:
        """Whether every configuration that is recorded for this choice, if any is, is one of the tuner's."""
        known = set(map(configuration_text, tuner.configs))
        return key in self._wanted and known.issuperset(self._wanted[key])

    def _note_fixed(self, tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Remember what a tuner without a choice runs: where it has one on the side that recorded, a record is left over."""
        if (self._wanted or self._followed) and tuner.configs:
            key = (self._name(tuner), tuning_key(tuner, args, kwargs))
            self._fixed[key] = configuration_text(tuner.configs[0])

    def finish(self) -> None:
        """Report the records that were left over because their tuner has but one configuration here, and another one.

        Only the end of the run tells: the record may belong to another tuner of that kernel, which comes later.
        """
        if self._fixed:
            self._wait_for(None)
        for own, configuration in self._fixed.items():
            for key in self._unclaimed(own):
                if self._wanted[key] != [configuration]:
                    recorded = ", ".join(self._wanted[key])
                    self._missing(key, f"recorded is {recorded}, and here the tuner has nothing but {configuration}")

    def _candidates(self, tuner: Any, key: Key, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], str]:
        """The configurations to launch, and how they were found."""
        wanted = self._wanted.get(key)
        if wanted is not None:
            known = {configuration_text(config): config for config in tuner.configs}
            lost = [text for text in wanted if text not in known]
            if not lost:
                return [known[text] for text in wanted], "replayed"
            self._missing(key, f"the tuner no longer has the configuration {lost[0]}")
        elif self._mode == "replay":
            self._missing(key, "no choice is recorded for this tuning key")
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))  # prune functions read it
        return list(tuner.prune_configs(kwargs)), "all" if self._mode == "all" else "first"

    def _tune(self, original: Callable[..., Any], tuner: Any, key: Key, args: Any, kwargs: Any) -> Any:
        self.tuning_depth += 1
        self._busy.add(id(tuner))
        try:
            with self._capture.paused(), unmoved(self.random_numbers):
                result = original(tuner, *args, **kwargs)
        finally:
            self.tuning_depth -= 1
            self._busy.discard(id(tuner))
        self._settle(tuner, key, [tuner.best_config], "tuned")
        if self._capture.active:  # a tuner made within the timed call: the row has its choice, not its candidates
            result = self._force(original, tuner, tuner.best_config, args, kwargs)
        return result

    def _first(
        self, original: Callable[..., Any], tuner: Any, key: Key, configs: list[Any], args: Any, kwargs: Any
    ) -> Any:
        for position, config in enumerate(configs):
            try:
                result = self._force(original, tuner, config, args, kwargs)
            except Exception as error:  # told apart below: only a failure to compile or to fit goes on to the next
                if position + 1 == len(configs) or not self._is_compile_failure(error):
                    raise
                continue
            self._settle(tuner, key, [config], "first")
            return result
        raise RuntimeError(f"the autotuner of {key[0]} has no configuration left after pruning")

    def _every(
        self, original: Callable[..., Any], tuner: Any, key: Key, configs: list[Any], how: str, args: Any, kwargs: Any
    ) -> Any:
        """Launch each of `configs`. A recorded configuration must compile; a candidate may fail if another does not."""
        compiled: list[Any] = []
        result: Any = None
        failure: Exception | None = None
        for config in configs:
            try:
                result = self._force(original, tuner, config, args, kwargs)
            except Exception as error:  # told apart below
                if how == "replayed" or not self._is_compile_failure(error):
                    raise
                failure = error
                continue
            compiled.append(config)
        if not compiled:
            raise failure or RuntimeError(f"the autotuner of {key[0]} has no configuration left")
        self._settle(tuner, key, compiled, how)
        return result

    def _force(self, original: Callable[..., Any], tuner: Any, config: Any, args: Any, kwargs: Any) -> Any:
        """Run the tuner with that one configuration, which keeps its pre_hook and needs no timing."""
        configs, tuner.configs = tuner.configs, [config]
        self._capture.configuration = configuration_text(config)
        self._busy.add(id(tuner))
        try:
            return original(tuner, *args, **kwargs)
        finally:
            self._busy.discard(id(tuner))
            tuner.configs = configs
            self._capture.configuration = ""

    def _settle(self, tuner: Any, key: Key, configs: list[Any], how: str) -> None:
        self._settled[id(tuner), key[1]] = configs
        texts = [configuration_text(config) for config in tuner.configs]
        for config in configs:
            text = configuration_text(config)
            self._recorder.event(
                "pin",
                tuner=key[0],
                key=key[1],
                configuration=text,
                position=texts.index(text) if text in texts else -1,
                candidates=len(texts),
                how=how,
                origin=self._origins.get(key, "") if how == "replayed" else "",
            )

    def _missing(self, key: Key, reason: str) -> None:
        self._recorder.event("pin_missing", tuner=key[0], key=key[1], reason=reason)

    @staticmethod
    def _is_compile_failure(error: Exception) -> bool:
        return isinstance(error, skipped_by_autotuner()) or compile_failure(error) is not None

"""Pins autotuners: records the choice that one run makes and forces it on another, which then never tunes.

Modes (input.json, `pins.mode`):
    tune    let the autotuner time its candidates as usual, record what it chose (needs a card)
    first   no timing is possible: take the first candidate that compiles
    all     launch every candidate that compiles
    replay  force the recorded choice; a choice without a record falls back to `first` and is reported missing
"""

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from . import kernels
from .capture import Capture
from .compiling import compile_failure
from .recorder import Recorder

PROCESS_ID = re.compile(r"pid_?\d+")
"""Generated modules may have it in their names."""

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


def _tolerated() -> tuple[type, ...]:
    """The errors for which Triton's own Autotuner skips a candidate."""
    from triton.compiler import errors as compiler_errors
    from triton.runtime import errors as runtime_errors

    found = [getattr(runtime_errors, name, None) for name in ("OutOfResources", "PTXASError")]
    found.append(getattr(compiler_errors, "CompileTimeAssertionFailure", None))
    return tuple(error for error in found if error is not None)


class Pins:
    """Takes over `Autotuner.run` in this process."""

    def __init__(self, mode: str, records: Iterable[dict[str, Any]], recorder: Recorder, capture: Capture):
        self._mode = mode
        self._recorder = recorder
        self._capture = capture
        self._wanted: dict[Key, list[str]] = {}
        for record in records:
            self._wanted.setdefault((record["tuner"], record["key"]), []).append(record["configuration"])
        self._settled: dict[Key, list[Any]] = {}
        self._names: dict[int, tuple[Any, str]] = {}  # by id(tuner); keeps the tuner, so that an id is never reused
        self._candidate_lists: dict[str, list[list[str]]] = {}
        self._tuning: set[int] = set()
        self.tuning_depth = 0
        """Above 0 while an autotuner times its candidates: a do_bench call then is no row."""

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
        Autotuner.__init_subclass__ = classmethod(watch_new)

    def _pinned(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            # While it is tuning, or forced to one configuration, it may call the `run` that it overrides.
            if len(tuner.configs) < 2 or id(tuner) in self._tuning:
                return original(tuner, *args, **kwargs)
            return self._run(original, tuner, args, kwargs)

        return run

    def _run(self, original: Callable[..., Any], tuner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key = (self._name(tuner), tuning_key(tuner, args, kwargs))
        if key in self._settled:
            result = None
            for config in self._settled[key]:
                result = self._force(original, tuner, config, args, kwargs)
            return result
        if self._mode == "tune" and key not in self._wanted:
            return self._tune(original, tuner, key, args, kwargs)
        configs, how = self._candidates(tuner, key, args, kwargs)
        if how == "first":
            return self._first(original, tuner, key, configs, args, kwargs)
        return self._every(original, tuner, key, configs, how, args, kwargs)

    def _name(self, tuner: Any) -> str:
        """The tuner's name; when one kernel is tuned over several candidate lists, the second to come up is `name#2`."""
        if id(tuner) not in self._names:
            name = tuner_name(tuner)
            lists = self._candidate_lists.setdefault(name, [])
            candidates = [configuration_text(config) for config in tuner.configs]
            if candidates not in lists:
                lists.append(candidates)
            position = lists.index(candidates)
            self._names[id(tuner)] = (tuner, name if position == 0 else f"{name}#{position + 1}")
        return self._names[id(tuner)][1]

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
        self._tuning.add(id(tuner))
        try:
            result = original(tuner, *args, **kwargs)
        finally:
            self.tuning_depth -= 1
            self._tuning.discard(id(tuner))
        self._settle(tuner, key, [tuner.best_config], "tuned")
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
        try:
            return original(tuner, *args, **kwargs)
        finally:
            tuner.configs = configs
            self._capture.configuration = ""

    def _settle(self, tuner: Any, key: Key, configs: list[Any], how: str) -> None:
        self._settled[key] = configs
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
            )

    def _missing(self, key: Key, reason: str) -> None:
        self._recorder.event("pin_missing", tuner=key[0], key=key[1], reason=reason)

    @staticmethod
    def _is_compile_failure(error: Exception) -> bool:
        return isinstance(error, _tolerated()) or compile_failure(error) is not None

"""A card is not touched by what is imported for it, nor by a run that waits. Torch and its card are simulated."""

import os
import subprocess
import sys
import types

import pytest
from probe_side import PATIENCE, Side, environment
from zl_probe import devices
from zl_probe.timing.entrance import Entrance
from zl_probe.untouched import CardDiffers, Untouched, UntouchedImports, plain

TORCH = """
import types
__version__ = "0"
version = types.SimpleNamespace(cuda=None, hip=None)
_C = types.SimpleNamespace()
set_num_threads = lambda count: None
from . import cuda
"""
CUDA = """
import os
initialised = False


class Properties:
    name, major, minor, multi_processor_count = "Simulated H1", 9, 0, 132


def _lazy_init():
    global initialised
    initialised = True


from . import memory


def is_initialized():
    return initialised


def is_available():
    return os.environ["ZL_TEST_CARD"] == "there"


def get_device_properties(device=None):
    _lazy_init()
    return Properties()


def get_device_capability(device=None):
    found = get_device_properties(device)
    return found.major, found.minor
"""
MEMORY = """
from . import _lazy_init


def memory_allocated():
    _lazy_init()
    return 0
"""
ASKS = """
from torch.cuda import get_device_capability, get_device_properties, is_available
assert is_available() and get_device_capability() == (9, 0) and get_device_capability(0) >= (9, 0)
assert get_device_properties("cuda:0").multi_processor_count == 132
print("library imported", flush=True)
"""
USES = """
import torch
try:
    torch.cuda.memory.memory_allocated()
except Exception:
    print("library went on without", flush=True)
"""


class Module(types.ModuleType):
    """A device's torch module, of which the test says what it answers; `entries` counts how often it was initialised."""

    def __init__(self, capability=(9, 0), name="Simulated H1"):
        super().__init__("simulated")
        self.entries, self.capability = 0, capability
        self.properties = types.SimpleNamespace(name=name, major=9, minor=0)

        def lazy_init():
            self.entries += 1

        def get_device_capability(device=None):
            self._lazy_init()
            return self.capability

        def get_device_properties(device=None):
            self._lazy_init()
            return self.properties

        self._lazy_init = lazy_init
        self.get_device_capability = get_device_capability
        self.get_device_properties = get_device_properties

    @property
    def answers(self):
        return {"get_device_capability": [9, 0], "get_device_properties": plain(self.properties)}


class Gate:
    """Lets in at once, and counts."""

    def __init__(self):
        self.entered = 0

    def enter(self):
        self.entered += 1


class Events(list):
    def event(self, event, **fields):
        self.append(event)


def refuse():
    raise AssertionError("the card was used")


def test_what_is_known_is_answered_without_the_card_and_what_is_not_needs_it():
    module = Module()
    Untouched(module, module.answers, refuse).install()
    assert module.get_device_capability() == (9, 0)
    assert module.get_device_properties(0).name == "Simulated H1"
    for argument in (None, 0, "cuda", "cuda:0", types.SimpleNamespace(index=None), types.SimpleNamespace(index=0)):
        assert module.get_device_capability(argument) == (9, 0)
    for argument in (1, "cuda:1", types.SimpleNamespace(index=1)):
        with pytest.raises(AssertionError, match="was used"):
            module.get_device_capability(argument)
    assert module.entries == 0


def test_what_was_imported_by_name_asks_the_card_itself_once_it_may():
    module = Module()
    untouched = Untouched(module, module.answers, refuse)
    untouched.install()
    imported = module.get_device_capability
    assert imported() == (9, 0)
    module.capability = (8, 0)
    untouched.touch()
    assert imported() == (8, 0)
    assert module.entries == 1


def test_only_what_was_asked_is_asked_again_and_a_difference_is_named():
    module = Module()
    untouched = Untouched(module, module.answers, refuse)
    untouched.install()
    module.get_device_properties()
    module.capability = (8, 0)
    untouched.touch()
    untouched.require_same()
    module.properties = types.SimpleNamespace(name="another", major=9, minor=0)
    with pytest.raises(CardDiffers, match="answers get_device_properties otherwise"):
        untouched.require_same()


def test_properties_are_told_by_their_names():
    class Properties:
        def __init__(self):
            self.name, self.major, self.uuid, self._own = "H1", 9, types.SimpleNamespace(), 1

        def method(self):
            raise AssertionError

    told = plain(Properties())
    assert told.keys() == {"name", "major", "uuid"}
    assert (told["name"], told["major"]) == ("H1", 9)
    assert isinstance(told["uuid"], str)
    assert plain((9, 0)) == [9, 0]


def test_imports_that_use_the_card_are_noticed_though_they_swallow_it(monkeypatch):
    monkeypatch.setattr(devices, "require_untouched", lambda: None)
    module = Module()
    with (
        pytest.raises(devices.DeviceInitialised, match="uses the card"),
        UntouchedImports(module, module.answers),
        pytest.raises(devices.DeviceInitialised),
    ):
        module._lazy_init()
    assert module.entries == 0


def entrance(module, untouched=None):
    gate, events, used = Gate(), Events(), []
    made = Entrance.before(untouched or Untouched.without_answers(module), gate, events, lambda: used.append(1))
    return made, gate, events, used


def test_a_run_waits_where_it_first_needs_the_card_and_only_there():
    module = Module()
    made, gate, events, used = entrance(module)
    assert (gate.entered, used) == (0, [])
    assert module.get_device_capability() == (9, 0)
    assert (gate.entered, module.entries, used, events) == (1, 1, [1], ["entered"])
    made.enter()
    module.get_device_capability()
    assert (gate.entered, used) == (1, [1])


def test_a_run_that_needs_no_card_waits_when_its_tests_are_collected():
    module = Module()
    made, gate, _, used = entrance(module)
    made.enter()
    assert (gate.entered, module.entries, used) == (1, 0, [1])


def test_where_no_first_use_can_be_noticed_a_run_waits_at_once():
    _, gate, _, used = entrance(types.SimpleNamespace())
    assert (gate.entered, used) == (1, [1])


def test_a_run_whose_card_is_another_ends_at_once_and_tells_why():
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        sys.stderr = os.fdopen(writing, "w")
        module = Module()
        untouched = Untouched(module, module.answers, refuse)
        untouched.install()
        module.get_device_capability()
        module.capability = (8, 0)
        made, *_ = entrance(module, untouched)
        try:
            made.enter()
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        told = stream.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 70
    assert "answers get_device_capability otherwise" in told


NATIVE = """
import torch
from zl_probe.untouched import Untouched


class Needed(Exception):
    pass


def needed():
    raise Needed


Untouched.without_answers(torch.cuda).on_use = needed
for use in (lambda: torch.empty(1, device="cuda"), lambda: torch.cuda.get_rng_state(), torch.cuda.init):
    try:
        use()
    except Needed:
        print("noticed")
"""


def test_real_torch_goes_that_way_into_a_device_from_native_code_too():
    pytest.importorskip("torch", reason="needs torch")
    done = subprocess.run(
        [sys.executable, "-c", NATIVE], env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout == "noticed\n" * 3, done.stderr


@pytest.fixture
def served(tmp_path):
    """Starts a server whose torch and whose library are simulated."""
    pytest.importorskip("triton", reason="needs triton")
    package = tmp_path / "paths" / "torch"
    (package / "cuda").mkdir(parents=True)
    (package / "__init__.py").write_text(TORCH)
    (package / "cuda" / "__init__.py").write_text(CUDA)
    (package / "cuda" / "memory.py").write_text(MEMORY)
    sides = []

    def serve(library, card="there"):
        (tmp_path / "paths" / "simulated_library.py").write_text(library)
        paths = [tmp_path / "paths"]
        sides.append(Side(tmp_path, modules=["simulated_library"], first_paths=paths, device="cuda", ZL_TEST_CARD=card))
        return sides[-1]

    yield serve
    for side in sides:
        side.close()


@pytest.mark.integration
def test_a_library_that_asks_for_its_card_is_imported_once_without_touching_it(served):
    side = served(ASKS)
    assert side.greeting["ready"]["not_imported"] == ""
    assert side.greeting["ready"]["opened"] == []
    assert side.log().count("library imported") == 1


@pytest.mark.integration
def test_a_library_that_uses_its_card_is_left_to_each_run_and_the_server_starts_without(served, tmp_path):
    side = served(USES)
    assert "uses the card" in side.greeting["ready"]["not_imported"]
    assert side.log().count("library went on without") == 1
    assert side.ask("target", out=str(tmp_path / "answer.json")).keys() >= {"code"}


@pytest.mark.integration
def test_a_library_that_can_not_be_imported_is_left_to_each_run_which_tells_why(served):
    side = served("raise ImportError('no such thing')")
    assert side.greeting["ready"]["not_imported"] == "ImportError: no such thing"


@pytest.mark.integration
def test_without_a_card_to_ask_nothing_is_imported(served):
    side = served(ASKS, card="gone")
    assert side.greeting["ready"]["not_imported"] == "no card answered"
    assert "library imported" not in side.log()

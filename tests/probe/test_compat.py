"""The MThreads compat plugin, on trees that a real pytest collects, and where compat plugins come in a run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from probe_side import PATIENCE, environment
from zl_probe import case
from zl_probe.caches import RunCache
from zl_probe.compat import mthreads
from zl_probe.pins import Pins
from zl_probe.recorder import Recorder

FFT = "benchmark/test_fft.py"
EMBEDDING = "benchmark/test_embedding_dense_backward.py"
REASON = "CUDA is not available"

DRIVER = """
import sys
import pytest
from zl_probe import case
from zl_probe.recorder import Recorder

class Reads:
    '''Another plugin, registered like the probe's own, which reads the items at the first chance there is.'''
    def __init__(self):
        self.marks = {}
    @pytest.hookimpl(tryfirst=True)
    def pytest_itemcollected(self, item):
        self.marks.setdefault(item.nodeid, []).append([mark.name for mark in item.iter_markers()])
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        for item in items:
            self.marks[item.nodeid].append([mark.name for mark in item.iter_markers()])

recorder = Recorder(sys.argv[1])
reads = Reads()
given = {"compat_plugins": ["zl_probe.compat.mthreads"]}
arguments = ["-p", "no:cacheprovider", "-q", "-rs", "--rootdir", ".", *sys.argv[2:]]
pytest.main(arguments, plugins=[*case.compat_plugins(given, recorder), reads])
recorder.event("marks", seen=reads.marks)
"""


class Tree:
    """A benchmark tree with a fake flag_gems, and what became of it."""

    def __init__(self, folder, vendor):
        self.folder = Path(folder) / "tree"
        (self.folder / "benchmark").mkdir(parents=True)
        if vendor is not None:
            (self.folder / "flag_gems.py").write_text(f"vendor_name = {vendor!r}\n")
            (self.folder / "conftest.py").write_text("import flag_gems\n")
        self._out = Path(folder) / "out"

    def add(self, file, text):
        (self.folder / file).parent.mkdir(exist_ok=True)
        (self.folder / file).write_text("import pytest\n" + text)

    def run(self, *arguments):
        """pytest's events by kind, and what the short summary said."""
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, str(self._out), *arguments],
            cwd=self.folder,
            env=environment(self.folder),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        events = [json.loads(line) for line in (self._out / "events.jsonl").read_text().splitlines()]
        dropped = [event for event in events if event["event"] == "compat"]
        return done.stdout, dropped, events[-1]["seen"]


def guarded(reason, name="test_x", more=""):
    return f"{more}@pytest.mark.skipif(True, reason={reason!r})\ndef {name}():\n    pass\n"


def test_the_right_file_and_reason_is_unskipped_and_said(tmp_path):
    tree = Tree(tmp_path, "mthreads")
    tree.add(FFT, guarded(REASON, more="@pytest.mark.fft\n@pytest.mark.usefixtures('tmp_path')\n"))
    printed, (event,), seen = tree.run()
    assert "1 passed" in printed
    assert event["plugin"] == "mthreads"
    assert event["node"] == f"{FFT}::test_x"
    assert event["dropped"] == ["skipif"]
    assert event["reason"] == REASON
    assert event["why"]
    assert set(event) == {"event", "t", "plugin", "node", "dropped", "reason", "why"}
    at_collection, at_selection = seen[f"{FFT}::test_x"]
    assert at_collection == at_selection == ["usefixtures", "fft"], "others see the marks that are left, from the start"


@pytest.mark.parametrize("override", mthreads.OVERRIDES, ids=lambda override: override.file)
def test_every_override_unskips_its_test(tmp_path, override):
    tree = Tree(tmp_path, "mthreads")
    tree.add(override.file, guarded(override.reason))
    printed, dropped, _ = tree.run()
    assert "1 passed" in printed
    assert len(dropped) == 1


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("benchmark/test_flash_attention_forward.py", REASON),
        ("benchmark/test_fft_more.py", REASON),
        ("benchmark/deep/test_fft.py", REASON),
        ("test_fft.py", REASON),
        (FFT, "CUDA is not available."),
        (FFT, "CUDA is not available for this benchmark"),
        (FFT, "Here CUDA is not available"),
        (FFT, "cuda is not available"),
        (FFT, " CUDA is not available"),
        (FFT, "CUDA backend is not available for this benchmark."),
        (EMBEDDING, REASON),
    ],
)
def test_another_file_or_another_reason_stays_skipped(tmp_path, file, reason):
    tree = Tree(tmp_path, "mthreads")
    tree.add(file, guarded(reason))
    printed, dropped, seen = tree.run()
    assert "1 skipped" in printed
    assert dropped == []
    assert seen == {f"{file}::test_x": [["skipif"], ["skipif"]]}


@pytest.mark.parametrize("vendor", ["nvidia", "metax", "MTHREADS", "", None])
def test_another_vendor_stays_skipped(tmp_path, vendor):
    tree = Tree(tmp_path, vendor)
    tree.add(FFT, guarded(REASON))
    printed, dropped, _ = tree.run()
    assert "1 skipped" in printed
    assert dropped == []


def test_the_other_guards_of_the_same_test_stay(tmp_path):
    tree = Tree(tmp_path, "mthreads")
    tree.add(FFT, guarded(REASON, more="@pytest.mark.skipif(True, reason='Unsupported in CPU mode')\n"))
    tree.add(
        EMBEDDING, "pytestmark = pytest.mark.skipif(True, reason='vLLM')\n" + guarded(mthreads.OVERRIDES[2].reason)
    )
    printed, dropped, _ = tree.run()
    assert "2 skipped" in printed
    assert "Unsupported in CPU mode" in printed
    assert "vLLM" in printed
    assert len(dropped) == 2


@pytest.mark.parametrize(
    "text",
    [
        f"pytestmark = pytest.mark.skipif(True, reason={REASON!r})\ndef test_x():\n    pass\n",
        f"@pytest.mark.skipif(True, reason={REASON!r})\nclass TestX:\n    def test_x(self):\n        pass\n",
        f"@pytest.mark.skip(reason={REASON!r})\ndef test_x():\n    pass\n",
        f"def test_x():\n    pytest.skip({REASON!r})\n",
    ],
    ids=["module", "class", "skip", "inside"],
)
def test_only_a_skipif_of_the_test_s_own_is_dropped(tmp_path, text):
    tree = Tree(tmp_path, "mthreads")
    tree.add(FFT, text)
    printed, dropped, _ = tree.run()
    assert "1 skipped" in printed
    assert dropped == []


def test_every_case_of_a_parametrised_test_and_no_other_test(tmp_path):
    tree = Tree(tmp_path, "mthreads")
    tree.add(FFT, guarded(REASON, more="@pytest.mark.parametrize('n', [1, 2])\n").replace("test_x()", "test_x(n)"))
    tree.add("benchmark/test_other.py", guarded(REASON))
    printed, dropped, _ = tree.run()
    assert "2 passed, 1 skipped" in printed
    assert [event["node"] for event in dropped] == [f"{FFT}::test_x[1]", f"{FFT}::test_x[2]"]


def test_a_function_is_not_changed_for_whoever_collects_it_next(tmp_path):
    """The marks of the item go, not those that the function carries."""
    tree = Tree(tmp_path, "mthreads")
    tree.add(
        FFT, guarded(REASON) + "def test_marks():\n    assert [mark.name for mark in test_x.pytestmark] == ['skipif']\n"
    )
    assert "2 passed" in tree.run()[0]


class TestThePlaceOfCompatPlugins:
    """R10: before every other plugin of a run, and only where the input names them."""

    @pytest.fixture
    def started(self, tmp_path, monkeypatch):
        """Run a case up to pytest; return the plugins in the order in which it is given them."""

        def start(**fields):
            given = {"wire": 1, "suite": "builtin", "out": str(tmp_path), "target": None}
            given.update(rootdir=str(tmp_path), pytest_args=[])
            seen = []
            parts = case.Parts(None, Pins("first", [], None, None), RunCache(str(tmp_path)))
            monkeypatch.setattr(case, "install", lambda given, recorder, untouched: parts)
            monkeypatch.setattr(case.versions, "versions", dict)
            monkeypatch.setattr(pytest, "main", lambda arguments, plugins: seen.extend(plugins) or 0)
            case.run({**given, "node": "test_x.py", "dtype": None, **fields})
            return [type(plugin).__name__ for plugin in seen]

        return start

    def test_they_come_first(self, started):
        assert started(compat_plugins=["zl_probe.compat.mthreads"])[0] == "Unskip"
        assert started(compat_plugins=["zl_probe.compat.mthreads"]) == ["Unskip", *started()]

    def test_without_any_there_are_none(self, started):
        assert "Unskip" not in started()
        assert "Unskip" not in started(compat_plugins=[])


def test_an_unskip_that_fails_is_a_failure_with_its_reason(tmp_path):
    """As where an operator asserts is_cuda: more than a skip says."""
    tree = Tree(tmp_path, "mthreads")
    tree.add(FFT, guarded(REASON).replace("pass", "assert False, 'input must be on CUDA'"))
    printed, dropped, _ = tree.run()
    assert "1 failed" in printed
    assert "input must be on CUDA" in printed
    assert len(dropped) == 1


def test_the_table_is_pinned_exactly():
    for override in mthreads.OVERRIDES:
        assert override.file.startswith("benchmark/test_")
        assert override.reason == override.reason.strip() != ""
        assert override.condition == "not torch.cuda.is_available()"
        assert override.why
        assert override.tried == "", "a card on which it was tried has to be named in the docstring too"
        assert f'{override.file}, "{override.reason}"' in mthreads.__doc__
    assert len({(override.file, override.reason) for override in mthreads.OVERRIDES}) == len(mthreads.OVERRIDES)


@pytest.mark.parametrize(
    "left",
    [
        "top_k_per_row_prefill",
        "fused_indexer_q_rope_quant",
        "flash_attention_forward",
        "flash_attention_backward",
        "cudnn",
    ],
)
def test_guards_left_in_place_are_named_and_not_overridden(left):
    assert left in mthreads.__doc__.partition("deliberately left in place")[2]
    assert not [override for override in mthreads.OVERRIDES if left in override.file]


def test_the_table_can_be_read_without_pytest():
    """The tool checks it against a checkout, and need not have pytest."""
    script = (
        "import sys; sys.modules['pytest'] = None; from zl_probe.compat import mthreads; print(len(mthreads.OVERRIDES))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert int(done.stdout) == len(mthreads.OVERRIDES)


def test_a_recorder_is_all_that_a_plugin_is_given(tmp_path):
    plugins = case.compat_plugins({"compat_plugins": ["zl_probe.compat.mthreads"]}, Recorder(str(tmp_path)))
    assert [type(plugin).__name__ for plugin in plugins] == ["Unskip"]

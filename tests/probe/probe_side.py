"""Drives the probe as the tool does: a real server over a socket pair, real input.json files, real events.jsonl files."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from zl_probe import wire

INSIDE = Path(wire.__file__).resolve().parents[1]
CASES = Path(__file__).resolve().parent / "cases"
CUDA = "cuda:90"
HIP = "hip:gfx942"
PATIENCE = 300
"""Seconds. Reached by nothing that works."""
NOTES = "ZL_CASE_NOTES"
"""Names the folder in which a benchmark file of `cases/` leaves what it saw itself."""


def environment(*first_paths, **variables):
    """The environment of a measured process; `first_paths` come before the probe's own folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TRITON_"))}
    path = os.pathsep.join(map(str, [*first_paths, INSIDE]))
    return {**kept, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **variables}


HIDE_TORCH = """
from importlib.machinery import PathFinder
find_spec = PathFinder.find_spec
PathFinder.find_spec = lambda name, *args, **kwargs: None if name == "torch" else find_spec(name, *args, **kwargs)
"""


def without_torch(folder):
    """A path entry that hides torch from an interpreter, whose import takes longer than everything else together."""
    hidden = Path(folder) / "without_torch"
    hidden.mkdir(exist_ok=True)
    (hidden / "sitecustomize.py").write_text(HIDE_TORCH)
    return hidden


class Side:
    """One side server. `first_paths` go before everything else on its import path."""

    def __init__(self, folder, target=None, modules=(), first_paths=(), memory=None, device="", **variables):
        self.folder = Path(folder)
        self.target = target
        self._channel, theirs = socket.socketpair()
        self._channel.settimeout(PATIENCE)
        self._buffer = b""
        self._count = 0
        self._others = []
        arguments = json.dumps({"modules": list(modules), "target": target, "memory": memory, "device": device})
        self._log = (self.folder / "server.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "zl_probe.server", str(theirs.fileno()), arguments],
            env=environment(*first_paths, **variables),
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        self.greeting = self.hear()

    def __enter__(self):
        assert "ready" in self.greeting, self.greeting.get("failed")
        return self

    def __exit__(self, *exception):
        self.close()

    def hang_up(self):
        """Close the channel, as happens in whatever way the tool ends."""
        self._channel.close()
        self._log.close()

    def close(self):
        """Hang up and return the server's exit status."""
        self.hang_up()
        return self.process.wait(PATIENCE)

    def log(self):
        return (self.folder / "server.log").read_text()

    def send(self, **message):
        self._channel.sendall(json.dumps(message).encode() + b"\n")

    def hear(self):
        """The next message of the server; {} when it has hung up."""
        while b"\n" not in self._buffer:
            data = self._channel.recv(1 << 16)
            if not data:
                return {}
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def hear_about(self, number):
        """The next message about one request; the others are kept for who waits for them."""
        for position, message in enumerate(self._others):
            if message["id"] == number:
                return self._others.pop(position)
        while True:
            message = self.hear()
            if not message or message["id"] == number:
                return message
            self._others.append(message)

    def start(self, op, **fields):
        """Send a request and return its number and its process id."""
        self._count += 1
        self.send(op=op, id=self._count, **fields)
        return self._count, self.hear_about(self._count)["pid"]

    def ask(self, op, **fields):
        """Send a request and return how it ended."""
        number, _ = self.start(op, **fields)
        return self.hear_about(number)


class Ran:
    """What one run left behind."""

    def __init__(self, out, end):
        self.out = Path(out)
        self.end = end
        self.events = list(wire.read_events(str(self.out / wire.EVENTS_FILE)))

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def one(self, kind):
        found = self.of(kind)
        assert len(found) == 1, f"{len(found)} events `{kind}`\n{self.log()}"
        return found[0]

    def rows(self, operator=None):
        """The kernel events that each row launched, in order; of one operator (a test without its `test_`) or of all."""
        assert self.end.get("code") == 0, self.log()
        kernels = {event["id"]: event for event in self.of("kernel")}
        rows = [row for row in self.of("row") if operator in (None, row["operator"])]
        return [[kernels[number] for number in row["launches"]] for row in rows]

    def failed_rows(self):
        """What is known of each failed row: the last event of its key."""
        fields = ("node", "operator", "dtype", "ordinal", "detail")
        return list({tuple(event[field] for field in fields): event for event in self.of("row_failed")}.values())

    def failed_row(self):
        (failed,) = self.failed_rows()
        return failed

    def skip_as(self, operator):
        """Skip the current test where the benchmark skipped itself, for its reason."""
        for event in self.of("test"):
            if event["node"].endswith("::test_" + operator) and event["outcome"] == "skipped":
                pytest.skip(event["message"])

    def names(self):
        """The names of the kernels that each row launched."""
        return [[kernel["name"] for kernel in row] for row in self.rows()]

    def pins(self):
        """(position, candidates, how) of each pin."""
        return [(event["position"], event["candidates"], event["how"]) for event in self.of("pin")]

    def log(self):
        path = self.out / wire.LOG_FILE
        return path.read_text(errors="replace") if path.exists() else "(no log)"

    def notes(self):
        """What the benchmark file itself noted, by name."""
        return {path.stem: json.loads(path.read_text()) for path in (self.out / "notes").glob("*.json")}


class Cases:
    """Runs the benchmark files of `cases/`, copied to a folder of their own as any suite would be."""

    def __init__(self, side, folder):
        self.side = side
        self.folder = Path(folder)
        self.suite = self.folder / "suite"
        shutil.copytree(CASES, self.suite, ignore=shutil.ignore_patterns("__pycache__"))
        self._count = 0
        self._ran = {}

    def prepare(self, node, **fields):
        """Write the input.json of a new run and return its path."""
        self._count += 1
        out = self.folder / f"run{self._count}"
        out.mkdir()
        given = {
            "wire": wire.WIRE_VERSION,
            "operator": "case",
            "dtype": None,
            "side": "before",
            "node": node,
            "suite": "cases",
            "rootdir": str(self.suite),
            "pytest_args": [],
            "target": self.side.target or CUDA,
            "stages": "ttgir",
            "drop_pass": None,
            "pins": {"mode": "first", "records": []},
            "caches": {"TRITON_CACHE_DIR": str(out / "cache"), NOTES: str(out / "notes")},
            "out": str(out),
        }
        unknown = set(fields) - set(given)
        assert not unknown, unknown
        path = out / wire.INPUT_FILE
        path.write_text(json.dumps({**given, **fields}))
        return path

    def run(self, node, **fields):
        """What a run of a node left, in a child of the server. Asked for twice, it is run once: runs are only read."""
        request = json.dumps([node, fields], sort_keys=True)
        if request not in self._ran:
            self._ran[request] = self.run_again(node, **fields)
        return self._ran[request]

    def run_again(self, node, **fields):
        """Run a node in a new child of the server."""
        path = self.prepare(node, **fields)
        return Ran(path.parent, self.side.ask("run", input=str(path)))

    def run_alone(self, node, **fields):
        """Run a node in an interpreter of its own, which shares no address and no hash seed with the server."""
        path = self.prepare(node, **fields)
        script = "import sys; from zl_probe import server; sys.exit(server._run_case(sys.argv[1], None))"
        variables = environment(without_torch(self.folder), PYTHONHASHSEED="4321")
        done = subprocess.run([sys.executable, "-c", script, str(path)], env=variables, timeout=PATIENCE, check=False)
        return Ran(path.parent, {"code": done.returncode})

    def write(self, name, text):
        """Add a benchmark file to the suite."""
        (self.suite / name).write_text(text)

"""A simulated side server: speaks the protocol of zl_probe.server and runs nothing, so that every ending can be staged.

It is found in the place of the real one because Python is told to leave the working directory off its path. Its plan is in
the environment variable SIMULATED: `start` is what it does first, and a run's `input` text is what it does with that run.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from zl_bench.running.side_server import SidePlan

PROGRAM = """\
import json, os, signal, socket, sys, time

channel = socket.socket(fileno=int(sys.argv[1]))
given = json.loads(sys.argv[2])


def tell(text):
    channel.sendall(text.encode() + b"\\n")


start = os.environ["SIMULATED"]
if start == "ready":
    tell(json.dumps({"ready": {"given": given, "pid": os.getpid(), "marker": os.environ.get("MARKER")}}))
elif start == "dies":
    sys.exit("nothing to be said")
elif start == "sleeps":
    print(os.getpid(), flush=True)
    time.sleep(60)
else:
    tell(start)
    time.sleep(0.02)
for line in channel.makefile():
    message = json.loads(line)
    number = message["id"]
    if message["op"] == "kill":
        print("asked to kill", number, flush=True)
        if held[number] != "stubborn":
            tell(json.dumps({"id": number, "signal": 9}))
        continue
    held = {**globals().get("held", {}), number: message.get("input") or message["op"]}
    tell(json.dumps({"id": number, "pid": 1}))
    what, _, value = held[number].partition(":")
    if what == "code" or what == "signal":
        tell(json.dumps({"id": number, what: int(value)}))
    elif what == "passes":
        with open(message["out"], "w") as stream:
            stream.write(message["target"])
        tell(json.dumps({"id": number, "code": 0}))
    elif what == "target":
        with open(message["out"], "w") as stream:
            stream.write("its card's")
        tell(json.dumps({"id": number, "code": 0}))
    elif what == "selftest":
        with open(message["out"], "w") as stream:
            stream.write(message["device"] + " " + " ".join(message["methods"]))
        tell(json.dumps({"id": number, "code": 0}))
    elif what == "die":
        os._exit(3)
    elif what == "say":
        tell(value)
"""


def simulated(folder: Path, start: str = "ready", **variables: str) -> SidePlan:
    """The plan of a simulated side whose log is `folder`/before.log."""
    package = folder / "simulated" / "zl_probe"
    if not package.exists():
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("")
        (package / "server.py").write_text(PROGRAM)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(package.parent),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SIMULATED": start,
        **variables,
    }
    return SidePlan("before", Path(sys.executable), environment, folder / "before.log", "cuda:90", ("json",))


def is_gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return True
    return state in "ZX"

"""What a screened root has to say of each operator, as one JSON object: enough to compare, and to replay its pins."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import json_lines

from zl_bench.inside.zl_probe.wire import EVENTS_FILE, INPUT_FILE, read_events
from zl_bench.model import FailedRow, Kernel, Latency, RowKey, Run
from zl_bench.store.layout import CARDS_FILE, RECORD_FILE, REQUEST_FILE, operator_folder
from zl_bench.store.screened import load_operator
from zl_bench.store.timings import row_key
from zl_bench.workflow.judge import StageFingerprints

CRITERION = "ttgir"
Record = dict[str, Any]


def operators(root: Path) -> Iterator[Record]:
    """One object per operator that the root has finished; each of them has one test."""
    finished = {str(line["operator"]): line for line in json_lines.read(root / RECORD_FILE)}
    for operator, line in finished.items():
        loaded = load_operator(root, operator, None)
        if len(loaded.nodes) != 1:
            raise SystemExit(f"{root}: {operator} has {len(loaded.nodes)} tests; one each is compared here")
        prints = StageFingerprints()
        before, after = (run_record(run, prints) for run in loaded.nodes[0])
        verdict = {name: value for name, value in line.items() if name != "nodes"}
        yield {"node": operator, "verdict": verdict, "numerics": _numerics(line), "before": before, "after": after}


def about(root: Path) -> Record:
    """What produced the root: what was asked, the cards and who else used them, and the versions."""
    path = root / REQUEST_FILE
    request = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    begin: Record = {}
    for events in root.glob(f"*_before/{EVENTS_FILE}"):
        begin = next(read_events(str(events)), {})
        break
    uses = json_lines.read_all([root / CARDS_FILE])
    return {
        "cards": request.get("cards", []),
        "suite": request.get("extra", {}).get("suite's files", "unknown")[:12],
        "others": sorted({other["name"] for use in uses for other in use["others"] or ()}),
        "versions": {
            "python": begin.get("python", "unknown"),
            **{name: (begin.get(name) or {}).get("version", "unknown") for name in ("torch", "triton")},
        },
    }


def run_record(run: Run, prints: StageFingerprints) -> Record:
    """The rows of a run, each with the kernels that it launched, by their place in `kernels`."""
    kernels = list(dict.fromkeys(kernel for row in run.rows for kernel in row.launches))
    places = {kernel: place for place, kernel in enumerate(kernels)}
    whys = _why_not_by_graph(run)
    return {
        "kernels": [_kernel(kernel, prints) for kernel in kernels],
        "rows": [
            {
                "key": key_record(row.key),
                "launches": [places[kernel] for kernel in row.launches],
                "guesses": row.guesses,
                "latency": None if row.latency is None else _latency(row.latency, whys.get(row.key, "")),
            }
            for row in run.rows
        ],
        "failed": [_failed(row) for row in run.failed_rows],
        "absence": run.absence.reason if run.absence is not None else "",
        "pins": [asdict(pin) for pin in run.pins],
        "missing_pins": [asdict(pin) for pin in run.missing_pins],
    }


def key_record(key: RowKey) -> list[Any]:
    return [key.node, key.operator, key.dtype, key.ordinal, key.detail]


def write_pins(root: Path, records: Sequence[Record]) -> None:
    """Make a root that `--pins` can replay: of each operator's before run, the choices and nothing else."""
    for record in records:
        folder = operator_folder(root, record["node"], None, "before")
        folder.mkdir(parents=True, exist_ok=True)
        given = {"operator": record["node"], "dtype": None, "node": record["node"]}
        (folder / INPUT_FILE).write_text(json.dumps(given), encoding="utf-8")
        events = [{"event": "begin"}, *({"event": "pin", **pin} for pin in record["before"]["pins"]), {"event": "end"}]
        (folder / EVENTS_FILE).write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")


def _kernel(kernel: Kernel, prints: StageFingerprints) -> Record:
    """Its identity, and the fingerprint by which the screen compares it; empty where there is none."""
    stage = kernel.stage(CRITERION)
    found = prints.of([stage])[stage.path] if stage is not None else None
    digest = getattr(found, "digest", "")
    return {**asdict(kernel.identity), "configuration": kernel.configuration, CRITERION: digest}


def _latency(latency: Latency, abandoned: str) -> Record:
    fell_back = "; ".join(f"{method}: {why}" for method, why in latency.fell_back)
    return {
        "method": latency.method,
        "l2": latency.l2,
        "median_ms": None if latency.invalid else latency.median_ms,
        "invalid": latency.invalid,
        "launch_bound": latency.launch_bound,
        "why": "" if latency.method == "graph" else "; ".join(filter(None, (abandoned, fell_back))),
    }


def _why_not_by_graph(run: Run) -> dict[RowKey, str]:
    """Of rows at which a process had to be given up, and of those after two such: what the record says of that."""
    whys: dict[RowKey, str] = {}
    lost = 0
    for event in read_events(str(run.directory / EVENTS_FILE)):
        if event["event"] == "abandoned" and event["method"] == "graph":
            whys[row_key(event)] = f"graph: {event['why']}: {event['message']}"
            lost += 1
        elif event["event"] == "latency" and lost > 1:
            whys.setdefault(row_key(event), f"graph: not tried any more, it had cost {lost} processes of this run")
    return whys


def _failed(row: FailedRow) -> Record:
    return {"key": key_record(row.key), "phase": row.phase, "message": row.message, "kernel": row.kernel}


def _numerics(line: Mapping[str, Any]) -> Record:
    """How the outputs of the two sides compare: rows by outcome, and those that differ."""
    paired = [row for node in line["nodes"] for row in node["paired"]]
    told = [row for row in paired if row["numerics"] is not None]
    differ = [row for row in told if not row["numerics"]["same"] and not row["numerics"].get("unordered")]
    free = sum(bool(row["numerics"].get("unordered")) for row in told)
    return {
        "same": len(told) - len(differ) - free,
        "unordered": free,
        "without": len(paired) - len(told),
        "differs": [[row["key"]["detail"], row["numerics"]] for row in differ],
    }

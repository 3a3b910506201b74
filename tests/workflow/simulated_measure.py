"""Simulated sides that measure: they take turns as a real probe does, over the real socket, and time what a test has planted.

A world says what each operator's rows are, how they change between the sides, and what happens to which pair. Screens of it
leave kernels with machine code; rounds leave latencies. Nothing touches a device.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fleet.simulated import MASK
from tests.workflow.simulated import EXITED, TTGIR, Given, SimulatedServers, versions
from zl_bench.inside.zl_probe.wire import EVENTS_FILE
from zl_bench.model import ProcessOutcome, Side
from zl_bench.running.side_server import SidePlan

STEADY = {"clock_mhz": 1980, "memory_clock_mhz": 3000, "temperature_c": 40, "power_w": 300.0, "throttle": []}


@dataclass(frozen=True)
class SimulatedRow:
    """A row that takes so long before; after, its code differs if `changed`, and it takes `factor` times as long."""

    detail: str
    milliseconds: float = 0.1
    changed: bool = True
    factor: float = 1.0
    numerics: bytes = b""
    """What the after side computes, where that is not what the before side does."""


@dataclass
class Happening:
    """What happens to one process of a round; nothing unless set."""

    dies_at: int | None = None
    """It ends at the row of that number, before it arrives there."""
    abandons_at: int | None = None
    """Timing by graph poisons it at that row, unless it is told to avoid that."""
    refuses: int | None = None
    """It can not prepare the row of that number by any method."""
    lacks: int | None = None
    """It has no row of that number."""
    reading: Mapping[str, Any] | None = None
    """What the card tells instead of STEADY after the first turn of its first row."""
    others: int = 0
    """How many further processes are on the card."""
    other_code: bool = False
    """Its kernels are not those that were screened."""
    direct: bool = False
    """All of its rows are timed by do_bench, which measures the host."""
    dies_waiting: bool = False
    """It ends before it is let in."""
    meets: tuple[str, int] | None = None
    """It takes its first turn when processes of that operator's round are there."""
    hangs: bool = False
    """It never comes to a row, until it is killed for the time that it took."""


@dataclass
class World:
    """Everything that goes on. `happens` is asked for (operator, round, attempt, side)."""

    folder: Path
    rows: Mapping[str, tuple[SimulatedRow, ...]]
    happens: Callable[[str, int, int, Side], Happening] = lambda *_: Happening()
    noise: float = 0.001
    servers: list[MeasuringSides] = field(default_factory=list)
    ran: list[tuple[str, str, int, Side]] = field(default_factory=list)
    """(card, operator, round, side), as they began; round 0 is the screen."""
    turns: list[tuple[str, str, int, Side]] = field(default_factory=list)
    """(operator, detail, round, side), as they were taken."""
    given: list[Given] = field(default_factory=list)
    timing: dict[str, int] = field(default_factory=dict)
    """By card, how many processes time something at this moment."""
    alive: list[tuple[str, int, Side]] = field(default_factory=list)
    """(operator, round, side) of the processes that there are at this moment."""
    using: list[tuple[str, str, int, Side]] = field(default_factory=list)
    """(card, operator, round, side) of those that may use the card at this moment."""
    beside: set[tuple[str, int, str, int]] = field(default_factory=set)
    """(operator, round) whose turns were taken while (operator, round) had started up and waited."""
    target: str = "cuda:90"
    lost_after_round: int | None = None
    """The last round after which a card still answers."""
    library: str = "1" * 64

    def open(self, plans: Mapping[Side, SidePlan]) -> MeasuringSides:
        """In the place of SideServers."""
        found: dict[Side, dict[str, Any]] = {side: versions(self.folder, self.library) for side in plans}
        made = MeasuringSides(plans, found=found, card_target=self.target, world=self)
        made.card = next(iter(plans.values())).environment.get(MASK, "")
        self.servers.append(made)
        return made


@dataclass
class MeasuringSides(SimulatedServers):
    """The sides on one card, or none."""

    world: World | None = None
    card: str = ""

    async def target(self, out: Path, timeout: float) -> ProcessOutcome:
        assert self.world is not None
        last = self.world.lost_after_round
        if last is not None and any(number > last for _, _, number, _ in self.world.ran):
            return ProcessOutcome("exited", 70)
        return await super().target(out, timeout)

    async def run(
        self, side: Side, input_file: Path, timeout: float, entered: asyncio.Event | None = None
    ) -> ProcessOutcome:
        assert self.world is not None
        given = json.loads(input_file.read_text(encoding="utf-8"))
        number = _round(input_file)
        world, operator = self.world, given["operator"]
        attempt = sum(one == (self.card, operator, number, side) for one in world.ran)
        world.ran.append((self.card, operator, number, side))
        world.given.append(given)
        process = SimulatedProcess(world, self.card, given, number, world.happens(operator, number, attempt, side))
        where = (operator, number, side)
        world.alive.append(where)
        running = asyncio.create_task(process.run())
        waiting = asyncio.create_task(asyncio.sleep(0) if entered is None else entered.wait())
        try:
            await asyncio.wait((running, waiting), return_when="FIRST_COMPLETED")  # its time counts from there
            await asyncio.wait_for(running, timeout if process.happening.hangs else 30)
        except TimeoutError:
            return ProcessOutcome("timeout", detail=f"more than {timeout:g} s")
        finally:
            waiting.cancel()
            running.cancel()
            world.alive.remove(where)
        return process.outcome


@dataclass
class SimulatedProcess:
    """One run: of a screen where nothing is timed, of a round otherwise."""

    world: World
    card: str
    given: Given
    number: int
    happening: Happening
    outcome: ProcessOutcome = EXITED

    async def run(self) -> None:
        given = self.given
        self._say("begin", wire=1, pid=1, interpreter="/usr/bin/python", opened=[])
        if self.happening.hangs:
            await asyncio.sleep(60)
        channel = await self._connect() if given.get("turns") else None
        if channel is None:
            return await self._use_card(None)
        if not await self._enters(channel):
            channel[1].close()
            return None
        where = (self.card, given["operator"], self.number, given["side"])
        assert {one[1:3] for one in self.world.using if one[0] == self.card} <= {where[1:3]}  # one pair at a time
        self.world.using.append(where)
        try:
            return await self._use_card(channel)
        finally:
            self.world.using.remove(where)

    async def _enters(self, channel: Any) -> bool:
        reader, writer = channel
        if self.happening.dies_waiting:
            self.outcome = ProcessOutcome("signal", 9)
            return False
        writer.write(b'{"ready": true}\n')
        line = await reader.readline()
        return bool(line) and json.loads(line)["do"] == "enter"

    async def _use_card(self, channel: Any) -> None:
        given = self.given
        if given.get("timing"):
            self._say("card", name="Simulated H1", uuid=self.card, driver="1", processes=[])
        for place, row in enumerate(self.world.rows[given["operator"]]):
            if self.happening.dies_at == place:
                self.outcome = ProcessOutcome("signal", 9)
                if channel is not None:
                    channel[1].close()
                return
            if self.happening.lacks == place:
                continue
            self._launch(row, place)
            if given.get("timing") and not await self._timed(row, place, channel):
                if channel is not None:
                    channel[1].close()
                return
        self._say("test", node=given["node"], outcome="passed", message="")
        self._say("end", exit=0, message="", cached_kernels=0)
        if channel is not None:
            channel[1].close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_unix_connection("\0" + self.given["turns"]["socket"])
        writer.write(json.dumps({"side": self.given["side"], "pid": 1}).encode() + b"\n")
        return reader, writer

    def _launch(self, row: SimulatedRow, place: int) -> None:
        after = self.given["side"] == "after"
        value = f"{place}{'1' if row.changed and after else '0'}{'9' if self.happening.other_code else ''}"
        out = Path(self.given["out"])
        (out / "ir").mkdir(exist_ok=True)
        stages = {"ttgir": TTGIR.format(value=value), "mubin": f"machine code {value}"}
        for stage, content in stages.items():
            (out / "ir" / f"{place}.{stage}").write_text(content)
        told = {stage: {"file": f"ir/{place}.{stage}", "sha256": ""} for stage in stages}
        self._say("kernel", id=place, name=f"kernel{place}", signature="{}", constants="{}", attributes="{}", num_warps=4,
                  num_stages=1, num_ctas=1, shared=0, configuration="BLOCK: 64", stages=told)  # fmt: skip
        self._say("row", **self._key(row), launches=[place], guesses=0)
        if self.given.get("numerics"):
            self._outputs(row, after)

    def _outputs(self, row: SimulatedRow, after: bool) -> None:
        content = row.numerics if after and row.numerics else b"\0\0\x80?"
        name = f"outputs/{row.detail}"
        path = Path(self.given["out"]) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        tensor = {"dtype": "float32", "shape": [1], "sha256": hashlib.sha256(content).hexdigest(), "file": name,
                  "elements": 1, "of": 1}  # fmt: skip
        self._say("outputs", **self._key(row), tensors=[tensor], reason="")

    async def _timed(self, row: SimulatedRow, place: int, channel: Any) -> bool:
        """Time a row, alone or in turns; False when the process ends there."""
        avoid = (self.given.get("continue") or {}).get("avoid") or {}
        usual = ("direct",) if self.happening.direct else ("graph", "queued")
        methods = [name for name in usual if name not in avoid.get(str(place), ())]
        if channel is None:
            if self._abandons(row, place, methods[0]):
                return False
            self._latency(row, methods[0], [await self._turn(row)])
            return True
        reader, writer = channel
        writer.write(json.dumps({"row": {"call": place, **self._key(row)}}).encode() + b"\n")
        taken: list[float] = []
        while True:
            line = await reader.readline()
            order = json.loads(line) if line else {"do": "leave", "why": "closed"}
            match order["do"]:
                case "prepare":
                    if self._abandons(row, place, methods[0]):
                        return False
                    refused = self.happening.refuses == place
                    answer = {"refused": "simulated"} if refused else {"prepared": methods[0]}
                    writer.write(json.dumps(answer).encode() + b"\n")
                case "turn":
                    taken.append(await self._turn(row))
                    writer.write(b'{"timed": true}\n')
                case "next":
                    self._latency(row, methods[0], taken, order["why"])
                    return True
                case _:
                    self._say("left", why=order["why"])
                    return False

    def _abandons(self, row: SimulatedRow, place: int, method: str) -> bool:
        if self.happening.abandons_at != place or method != "graph":
            return False
        about = {"role": "operator", "method": "graph", "why": "poisoned", "message": "simulated"}
        self._say("abandoned", call=place, **self._key(row), **about)
        return True

    async def _turn(self, row: SimulatedRow) -> float:
        side, operator = self.given["side"], self.given["operator"]
        busy = self.world.timing
        busy[self.card] = busy.get(self.card, 0) + 1
        assert busy[self.card] == 1  # nothing is timed beside it
        while self.happening.meets is not None and all(one[:2] != self.happening.meets for one in self.world.alive):
            await asyncio.sleep(0.001)
        others = {one[:2] for one in self.world.alive if one[:2] != (operator, self.number)}
        self.world.beside |= {(operator, self.number, *other) for other in others}
        await asyncio.sleep(0)
        busy[self.card] -= 1
        self.world.turns.append((operator, row.detail, self.number, side))
        chance = random.Random(f"{operator} {row.detail} {self.number} {side} {len(self.world.turns)}")
        return row.milliseconds * (row.factor if side == "after" else 1.0) * (1 + chance.gauss(0, self.world.noise))

    def _latency(self, row: SimulatedRow, method: str, taken: list[float], invalid: str = "") -> None:
        median = sorted(taken)[len(taken) // 2] if taken else float("nan")
        after = self.happening.reading or STEADY
        turns = [{"median_ms": one, "samples": 50, "before": STEADY, "after": after} for one in taken]
        peers = 1 if self.given.get("turns") else 0
        others = [
            {"pid": 100 + number, "name": "other", "used_mib": 1} for number in range(peers + self.happening.others)
        ]
        self._say("latency", **self._key(row), call=0, role="operator", method=method, l2=self.given["timing"]["l2"],
                  **dict.fromkeys(("median_ms", "q1_ms", "q3_ms", "min_ms"), median if taken else "nan"),
                  samples=50 * len(taken), warmup_ms=10.0, launch_bound=False, invalid=invalid, fell_back=[], before=STEADY,
                  after=after, others=others, turns=turns)  # fmt: skip

    def _key(self, row: SimulatedRow) -> dict[str, Any]:
        given = self.given
        return {
            "node": given["node"],
            "operator": given["operator"],
            "dtype": "float32",
            "ordinal": 0,
            "detail": row.detail,
        }

    def _say(self, event: str, **fields: Any) -> None:
        with (Path(self.given["out"]) / EVENTS_FILE).open("a") as stream:
            stream.write(json.dumps({"event": event, "t": 1.0, **fields}) + "\n")


def _round(input_file: Path) -> int:
    """The round that a run belongs to, by where it lies; 0 of a screen's."""
    found = [part for part in input_file.parts if part.startswith("round_")]
    return int(found[-1].removeprefix("round_")) if found else 0

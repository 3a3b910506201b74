// The rounds of a row as dots on one line, with the interval of its ratio: what stands behind a verdict, at a glance.
const WIDTH = 240, HEIGHT = 26, SIDE = 8;

function toneOf(timing) {
  if (timing.kind === "placebo") return "placebo";
  return { FASTER: "better", SLOWER: "worse" }[timing.verdict] || "neutral";
}

function strip(timing, scale, width = WIDTH) {
  const middle = HEIGHT / 2, tone = toneOf(timing);
  const across = (one) => SIDE + scale.place(one) * (width - 2 * SIDE);
  const parts = [drawn("line", { class: "one", x1: across(1), x2: across(1), y1: 2, y2: HEIGHT - 2 })];
  if (timing.low !== null) {
    const [low, high] = [across(timing.low), across(timing.high)];
    parts.push(drawn("rect", { class: `range fill-${tone}`, x: low, y: middle - 5, width: Math.max(1, high - low), height: 10, rx: 2 }));
  }
  for (const round of timing.rounds || []) {
    if (round.speedup === null) continue;
    const x = across(round.speedup), after = round.first === "after";
    parts.push(after
      ? drawn("rect", { class: `round ink-${tone}`, x: x - 2.6, y: middle - 2.6, width: 5.2, height: 5.2 })
      : drawn("circle", { class: `round ink-${tone}`, cx: x, cy: middle, r: 3 }));
  }
  if (timing.speedup !== null) {
    const x = across(timing.speedup), beyond = scale.beyond(timing.speedup);
    parts.push(beyond
      ? drawn("path", { class: `fill-${tone}`, d: `M${x + beyond * 7} ${middle}L${x - beyond * 3} ${middle - 6}V${middle + 6}Z` })
      : drawn("line", { class: `mean ink-${tone}`, x1: x, x2: x, y1: middle - 8, y2: middle + 8 }));
  }
  const rounds = (timing.rounds || []).filter((round) => round.speedup !== null);
  const said = rounds.map((round) => `round ${round.number}: ${readable(round.speedup)}${round.first ? ` (${round.first} first)` : ""}`);
  return drawn(
    "svg",
    { class: "strip", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": said.join("; ") || ratio(timing) },
    parts,
  );
}

function stripAxis(scale) {
  const across = (one) => SIDE + scale.place(one) * (WIDTH - 2 * SIDE);
  return drawn(
    "svg",
    { class: "strip axis", viewBox: `0 0 ${WIDTH} 14`, "aria-hidden": "true" },
    scale.ticks(0.17).map((tick) => drawn("text", { x: across(tick), y: 11, "text-anchor": "middle" }, String(tick))),
  );
}

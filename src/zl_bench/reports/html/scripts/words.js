// Verdicts as signs and tones. Blue with ▲ is better, orange with ▼ or ✕ is worse, and nothing else is coloured:
// a difference as such is neither.
const VERDICTS = {
  BROKEN: { sign: "✕", tone: "worse" },
  IR_CHANGED: { sign: "≠", tone: "changed" },
  NO_IR_DIFF: { sign: "=", tone: "same" },
  NO_KERNEL: { sign: "∅", tone: "absent" },
  NO_ROWS: { sign: "–", tone: "none" },
  FASTER: { sign: "▲", tone: "better" },
  SLOWER: { sign: "▼", tone: "worse" },
  NO_CHANGE: { sign: "●", tone: "changed" },
  INCONCLUSIVE: { sign: "○", tone: "open" },
  IDENTICAL: { sign: "=", tone: "same" },
  LAUNCH_BOUND: { sign: "◷", tone: "absent" },
  UNTRUSTED: { sign: "!", tone: "none" },
};
const lookOf = (verdict) => VERDICTS[verdict] || { sign: "·", tone: "open" };
const counts = [...((report.screen && report.screen.counts) || []), ...((report.measure && report.measure.counts) || [])];
const meaningOf = new Map(counts.map((count) => [count.verdict, count.sentence]));

function badge(verdict) {
  if (!verdict) return null;
  const look = lookOf(verdict);
  return element(
    "span",
    { class: `badge says ${look.tone}`, "data-tip": meaningOf.get(verdict) },
    element("span", { class: "sign", "aria-hidden": "true" }, look.sign),
    verdict,
  );
}

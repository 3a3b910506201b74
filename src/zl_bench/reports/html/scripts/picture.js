// The first picture: operators by verdict as a bar, and every measured ratio with its interval, sorted.
function bar(title, entries, pick) {
  const total = entries.reduce((sum, entry) => sum + entry.count, 0);
  return element(
    "figure",
    { class: "bar" },
    element("figcaption", {}, title),
    element(
      "div",
      { class: "segments", "aria-hidden": "true" },
      entries.map((entry) =>
        element("span", {
          class: `segment says ${lookOf(entry.verdict).tone}`,
          style: `flex-grow:${entry.count / total}`,
          "data-tip": `${entry.count} ${entry.verdict}. ${entry.sentence}`,
          onclick: () => pick(entry.verdict),
        }),
      ),
    ),
    element(
      "ul",
      { class: "legend" },
      entries.map((entry) =>
        element(
          "li",
          {},
          element(
            "button",
            { type: "button", class: "says", "data-tip": entry.sentence, onclick: () => pick(entry.verdict) },
            element("span", { class: `key ${lookOf(entry.verdict).tone}`, "aria-hidden": "true" }, lookOf(entry.verdict).sign),
            element("b", {}, entry.count.toLocaleString("en")),
            ` ${entry.verdict}`,
          ),
        ),
      ),
    ),
  );
}

// Changed rows from the slowest to the fastest, then the placebos: what identical code shows is how far to believe the rest.
function ranked() {
  const measured = rows.filter((row) => row.speedup !== null);
  const bySpeed = (a, b) => a.speedup - b.speedup;
  const placebos = measured.filter((row) => row.kind === "placebo").sort(bySpeed);
  return { changed: measured.filter((row) => row.kind !== "placebo").sort(bySpeed), placebos };
}

function ranking(open) {
  const { changed, placebos } = ranked();
  const shown = [...changed, ...placebos];
  if (!shown.length) return null;
  const canvas = element("canvas", { role: "img", "aria-label": "Speed-up of every measured row, sorted" });
  const scale = axis(reachOf(shown.flatMap((row) => [row.speedup])));
  const left = 46, top = 10, bottom = 22, height = 260, gap = placebos.length && changed.length ? 14 : 0;
  let step = 1;

  const at = (place) => left + 8 + (place + 0.5) * step + (place >= changed.length ? gap : 0);
  const up = (one) => top + (1 - scale.place(one)) * (height - top - bottom);

  function draw() {
    const style = getComputedStyle(document.documentElement);
    const parts = ["ink", "line", "quiet", "better", "worse", "neutral", "placebo"];
    const colours = Object.fromEntries(parts.map((part) => [part, style.getPropertyValue(`--${part}`).trim()]));
    const colour = (part) => colours[part];
    const width = canvas.parentElement.clientWidth, sharp = Math.max(2, devicePixelRatio || 1);
    canvas.width = width * sharp;
    canvas.height = height * sharp;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(sharp, sharp);
    pen.font = "11px system-ui, sans-serif";
    step = Math.min(40, (width - left - 16 - gap) / shown.length);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const tick of scale.ticks(0.09)) {
      pen.strokeStyle = tick === 1 ? colour("ink") : colour("line");
      pen.lineWidth = 1;
      pen.beginPath();
      pen.moveTo(left, Math.round(up(tick)) + 0.5);
      pen.lineTo(width, Math.round(up(tick)) + 0.5);
      pen.stroke();
      pen.fillStyle = colour("quiet");
      pen.fillText(String(tick), left - 6, up(tick));
    }
    shown.forEach((row, place) => mark(pen, colour, row, at(place)));
    pen.textBaseline = "alphabetic";
    pen.textAlign = "left";
    pen.fillStyle = colour("quiet");
    if (changed.length) pen.fillText(changed.length * step > 90 ? counted(changed.length, "row") : "", left + 8, height - 6);
    const room = placebos.length * step;
    if (placebos.length && room > 30) {
      pen.textAlign = room > 130 ? "left" : "right";
      pen.fillText(counted(placebos.length, "placebo"), room > 130 ? at(changed.length) : width - 2, height - 6);
    }
  }

  function mark(pen, colour, row, x) {
    const tone = row.kind === "placebo" ? "placebo" : { FASTER: "better", SLOWER: "worse" }[row.verdict] || "neutral";
    const size = Math.min(5, Math.max(1.4, step / 2.6)), y = up(row.speedup), beyond = scale.beyond(row.speedup);
    pen.strokeStyle = pen.fillStyle = colour(tone);
    if (row.low !== null) {
      pen.lineWidth = Math.min(2, Math.max(0.6, step / 3));
      pen.globalAlpha = step < 3 ? 0.5 : 0.8;
      pen.beginPath();
      pen.moveTo(x, up(row.low));
      pen.lineTo(x, up(row.high));
      pen.stroke();
      pen.globalAlpha = 1;
    }
    pen.beginPath();
    const turn = beyond || { better: 1, worse: -1 }[tone];
    if (turn) {
      const big = size * 1.35;
      pen.moveTo(x, y - turn * big);
      pen.lineTo(x - big, y + turn * big * 0.7);
      pen.lineTo(x + big, y + turn * big * 0.7);
      pen.fill();
    } else {
      pen.arc(x, y, size * 0.8, 0, 7);
      pen.lineWidth = 1.2;
      if (tone === "placebo" || step < 4) pen.fill();
      else pen.stroke();
    }
  }

  const nearest = (event) => {
    const x = event.clientX - canvas.getBoundingClientRect().left - left - 8;
    const inner = x > changed.length * step + gap ? x - gap : x;
    return shown[Math.min(shown.length - 1, Math.max(0, Math.floor(inner / step)))];
  };
  canvas.addEventListener("mousemove", (event) => {
    const row = nearest(event);
    const operator = report.operators[row.operator];
    const said = [row.kind === "placebo" ? "placebo" : row.verdict, row.basis].filter(Boolean).join(", ");
    showTip([element("b", {}, name(`${operator.operator} ${row.dtype} ${row.detail}`)), element("p", {}, `${ratio(row)} ${said}`)],
      event.clientX, event.clientY);
    event.stopPropagation();
  });
  canvas.addEventListener("mouseleave", hideTip);
  canvas.addEventListener("click", (event) => open(nearest(event).operator, nearest(event).place));
  new ResizeObserver(draw).observe(canvas);
  document.addEventListener("themechange", draw);

  const has = (test) => changed.some(test);
  const explained = [
    has((row) => row.verdict === "FASTER") && ["better", "▲", "faster"],
    has((row) => row.verdict === "SLOWER") && ["worse", "▼", "slower"],
    has((row) => !["FASTER", "SLOWER"].includes(row.verdict)) && ["neutral", "○", "neither"],
    placebos.length && ["placebo", "●", "placebo: identical code"],
  ].filter(Boolean);
  const bars = shown.some((row) => row.low !== null);
  return element(
    "figure",
    { class: "ranking" },
    element(
      "figcaption",
      {},
      `Speed-up of each measured row, before / after: above 1 is faster. `,
      element("span", { class: "quiet" }, bars ? "Bars are 95 % intervals." : "One round: no intervals."),
    ),
    element("div", { class: "canvas" }, canvas),
    element(
      "ul",
      { class: "legend plain" },
      explained.map(([tone, sign, text]) => element("li", {}, element("span", { class: `ink-${tone}` }, sign), ` ${text}`)),
    ),
  );
}

// One operator, opened: its rows with their rounds, their kernels and what differs in them, and what was not compared.
const dialog = document.getElementById("operator");
const addressOf = (operator) => `#${encodeURIComponent(operator.entry)}`;

function timingFacts(timing) {
  const share = (value) => (value === null ? "-" : `${(value * 100).toPrecision(2)} %`);
  const facts = [
    ["before", `${readable(timing.before_ms)} ms`], ["after", `${readable(timing.after_ms)} ms`], ["speed-up", ratio(timing)],
    ["rests on", timing.basis], ["q", timing.q === null ? "-" : timing.q.toPrecision(2)], ["smallest change that would have shown", share(timing.mde)],
    ["timed by", timing.method], ["L2", timing.l2], ["clocks", timing.clocks],
    ["", timing.launch_bound ? "the host was slower than the device" : ""], ["note", timing.note],
  ];
  return element("ul", { class: "facts" }, facts.filter(([, value]) => value && value !== "-").map(([label, value]) =>
    element("li", {}, element("span", { class: "quiet" }, `${label} `), value)));
}

function roundTable(timing) {
  if (timing.rounds.length < 2) return null;
  return element(
    "details",
    { class: "rounds" },
    element("summary", {}, `${counted(timing.rounds.length, "round")}, one by one`),
    element("table", {},
      element("thead", {}, element("tr", {}, ["round", "before ms", "after ms", "before / after", "first"].map((title) => element("th", {}, title)))),
      element("tbody", {}, timing.rounds.map((round) => element("tr", {},
        [String(round.number), readable(round.before_ms), readable(round.after_ms), readable(round.speedup), round.first || "-"].map((cell) => element("td", {}, cell)))))),
  );
}

function rowEntry(row, kernels, scale) {
  const state = row.changed === null ? "" : row.changed ? `≠ from ${row.first_stage === "-" ? "the launch sequence" : row.first_stage} on` : row.first_stage === "-" ? "= same code" : `= (${row.first_stage} differs)`;
  const entry = element(
    "details",
    { class: row.timing ? "row" : "row untimed", "data-place": row.place },
    element("summary", {},
      element("span", { class: "where" }, row.number === null ? "" : element("span", { class: "quiet" }, `${row.number} `), name(row.dtype), " ", name(row.detail), row.ordinal ? ` (${row.ordinal + 1})` : ""),
      element("span", { class: "state" }, state),
      row.timing ? element("span", { class: "timing" }, strip(row.timing, scale), element("span", { class: "ratio" }, ratio(row.timing))) : null,
      row.timing && row.timing.verdict ? badge(row.timing.verdict) : null),
  );
  entry.addEventListener("toggle", () => {
    if (!entry.open || entry.childElementCount > 1) return;
    const told = [
      ["test", row.node], ["parameters", row.parameters], ["launch sequence", row.sequence === "same" ? "" : row.sequence], ["row key", row.key],
      ["guessed values", row.guesses || ""], ["outputs", row.numerics ? row.numerics.text : ""],
    ].filter(([, value]) => value);
    entry.append(element("div", { class: "inside" },
      element("ul", { class: "facts" }, told.map(([label, value]) => element("li", {}, element("span", { class: "quiet" }, `${label} `), name(String(value))))),
      row.timing ? [timingFacts(row.timing), roundTable(row.timing)] : null,
      launchList(row, kernels)));
  });
  return entry;
}

function problemList(problems) {
  if (!problems.length) return null;
  return element("section", {}, element("h3", {}, "What was not compared"),
    element("ul", { class: "problems" }, problems.map((problem) => element("li", {},
      element("b", { class: problem.kind === "broken" ? "ink-worse" : "" }, `${problem.kind === "broken" ? "✕ " : ""}${problem.kind}`),
      ` ${problem.side}: `, problem.row ? [name(problem.row), ": "] : "", element("span", { class: "message" }, problem.text),
      element("div", { class: "quiet" }, name(problem.node))))));
}

function operatorSheet(around) {
  let current = -1;
  async function open(place, row = null) {
    const operator = report.operators[place];
    if (!operator) return;
    current = place;
    const [previous, next] = around(place);
    const step = (target, text, label) =>
      element("button", { type: "button", disabled: !report.operators[target], "aria-label": label, onclick: () => open(target) }, text);
    const body = element("div", { class: "body" }, element("p", { class: "quiet" }, "…"));
    dialog.replaceChildren(
      element("header", {},
        element("h2", { id: "operator-name" }, name(operator.entry)), badge(operator.verdict),
        element("nav", {}, step(previous, "↑", "previous operator"), step(next, "↓", "next operator"),
          element("button", { type: "button", class: "close", "aria-label": "close", onclick: () => dialog.close() }, "✕"))),
      body);
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    history.replaceState(null, "", addressOf(operator));
    let details;
    try {
      details = await detailsOf(place);
    } catch (error) {
      return body.replaceChildren(element("p", { class: "warning" }, `This browser can not inflate what is stored here (${error.message}); one of 2023 or later can.`));
    }
    if (current !== place) return;
    body.replaceChildren(...content(operator, details).flat().filter(Boolean));
    const chosen = row === null ? (details.rows.length === 1 ? 0 : null) : row;
    if (chosen !== null && body.querySelectorAll(".row")[chosen]) {
      const entry = body.querySelectorAll(".row")[chosen];
      entry.open = true;
      if (row !== null) entry.scrollIntoView({ block: "start" });
    }
  }

  function content(operator, details) {
    const facts = [
      ["rows changed", !operator.verdict ? "" : operator.row_count ? `${operator.changed_rows} of ${operator.row_count}` : "-"], ["kernels", operator.verdict ? operator.kernel_count : ""],
      ["convert_layout", operator.kernel_count ? converts(operator) : operator.verdict ? "-" : ""], ["first stage that differs", atStage(operator)],
      ["machine code", operator.machine_code === "-" ? "" : operator.machine_code], ["pins", operator.pins],
      ["outputs", operator.numerics === "n/a" ? "" : operator.numerics], ["status", operator.status],
    ].filter(([, value]) => value !== "" && value !== null);
    const timings = details.rows.map((row) => row.timing).filter(Boolean);
    const scale = axis(reachOf(timings.flatMap((timing) => [timing.speedup, ...timing.rounds.map((round) => round.speedup)]).filter((one) => one !== null)));
    const timed = timings.some((timing) => timing.speedup !== null);
    return [
      operator.advice || operator.reason ? element("p", { class: "reason" }, operator.advice ? element("b", {}, operator.advice) : "", operator.advice && operator.reason ? ": " : "", operator.reason) : null,
      element("ul", { class: "facts" }, facts.map(([label, value]) => element("li", {}, element("span", { class: "quiet" }, `${label} `), String(value)))),
      operator.speed ? element("p", {}, operator.speed.sentence) : null,
      element("section", {},
        element("h3", {}, details.rows.length ? "Rows" : "No row was recorded on both sides"),
        timed ? element("div", { class: "strip-head" },
          element("p", { class: "quiet" }, "before / after, above 1 is faster. Each mark is a round, ● before went first, ■ after went first; the line is the mean, the bar its 95 % interval."),
          stripAxis(scale)) : null,
        details.rows.map((row, place) => rowEntry({ ...row, place }, details.kernels, scale))),
      problemList(details.problems),
    ];
  }
  dialog.addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return open;
}

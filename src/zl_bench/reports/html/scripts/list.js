// The list: all operators or all rows, filtered and sorted, of which only what is on the screen is in the page.
const measured = rows.some((row) => row.speedup !== null);
const screened = report.operators.some((operator) => operator.verdict);
const listScale = axis(reachOf(rows.map((row) => row.speedup).filter((one) => one !== null)));
const NARROW = matchMedia("screen and (max-width: 760px)");

const speedCell = (timing) =>
  timing && timing.speedup !== null ? [strip({ ...timing, rounds: [] }, listScale, 110), element("span", { class: "ratio" }, ratio(timing))] : "";
const tallies = (operator) =>
  operator.speed_verdicts.map(([verdict, count]) =>
    element("span", { class: `tally ink-${lookOf(verdict).tone}`, "data-tip": `${count} ${verdict}` }, `${lookOf(verdict).sign}${count}`));
const converts = (one) =>
  one.converts_before === one.converts_after ? `${one.converts_before}` : `${one.converts_before} → ${one.converts_after}`;
const speedOfOperator = (operator) => {
  if (!operator.speed) return null;
  const words = operator.speed_verdicts.map(([verdict]) => verdict);
  const verdict = words.includes("FASTER") === words.includes("SLOWER") ? "" : words.includes("FASTER") ? "FASTER" : "SLOWER";
  return { ...operator.speed, verdict, kind: "changed" };
};
const atStage = (one) => (one.first_stage === "-" ? "" : one.first_stage);
const marked = (row) => badge(row.verdict) || (row.changed === null ? "" : row.changed ? "changed" : "same");

const MOST_PRINTED = 2000;
// Pixels of a line, and of the one below it that says what failed in a broken operator; the style has the same.
const LINE_HEIGHT = 36, NARROW_LINE_HEIGHT = 66, FAILURE_HEIGHT = 22;

// Each column: its key, its title, its width, what it is sorted by, what it shows, and when it is there at all.
const COLUMNS = {
  operators: [
    ["name", "operator", "minmax(11rem,1.6fr)", (one) => one.entry.toLowerCase(), (one) => name(one.entry), true],
    ["verdict", "verdict", "9.2rem", (one) => one.place, (one) => [badge(one.verdict), one.status === "complete" || !one.status ? "" : element("small", {}, ` ${one.status}`)], screened],
    ["changed", "changed rows", "5.6rem", (one) => one.changed_rows, (one) => (one.row_count ? `${one.changed_rows}/${one.row_count}` : element("span", { class: "nothing" }, "-")), screened],
    ["converts", "converts", "6.4rem", (one) => one.converts_after - one.converts_before, (one) => (one.kernel_count ? converts(one) : "-"), screened],
    ["stage", "first stage", "5rem", (one) => atStage(one), atStage, screened],
    ["code", "machine code", "5.6rem", (one) => one.machine_code, (one) => one.machine_code, screened],
    ["speed", "speed-up of changed rows", "minmax(19rem,1.3fr)", (one) => one.speed && one.speed.speedup, (one) => speedCell(speedOfOperator(one)), measured],
    ["words", "its rows", "7rem", (one) => one.speed_verdicts.reduce((sum, [verdict, count]) => sum + (verdict === "FASTER" ? count : verdict === "SLOWER" ? -count : 0), 0), tallies, measured],
    ["advice", "what to do", "minmax(7rem,1fr)", (one) => one.advice, (one) => one.advice, screened && !measured],
  ],
  rows: [
    ["name", "operator", "minmax(10rem,1.2fr)", (one) => one.entry.toLowerCase(), (one) => name(one.entry), true],
    ["dtype", "dtype", "6rem", (one) => one.dtype, (one) => name(one.dtype), true],
    ["detail", "size detail", "minmax(9rem,1.4fr)", (one) => one.detail, (one) => name(one.detail), true],
    ["stage", "first stage", "5rem", atStage, atStage, screened],
    ["before", "before ms", "5.4rem", (one) => one.before_ms, (one) => readable(one.before_ms), measured],
    ["after", "after ms", "5.4rem", (one) => one.after_ms, (one) => readable(one.after_ms), measured],
    ["speed", "speed-up", "minmax(19rem,1.2fr)", (one) => one.speedup, speedCell, measured],
    ["verdict", "verdict", "9.2rem", (one) => one.verdict || String(one.changed), marked, true],
  ],
};

function list(open) {
  const state = { mode: "operators", text: "", verdict: "", speed: "", dtype: "", sort: "", down: false };
  const items = {
    operators: report.operators.map((operator, place) => ({ ...operator, place })),
    rows: rows.map((row) => ({ ...row, entry: report.operators[row.operator].entry })),
  };
  const rowsOf = report.operators.map(() => []);
  rows.forEach((row) => rowsOf[row.operator].push(row));
  let shown = [], columns = [];

  const body = element("div", { class: "lines", role: "rowgroup" });
  const head = element("div", { class: "head", role: "row" });
  const table = element("div", { class: "table", role: "table" }, element("div", { role: "rowgroup", class: "heads" }, head), body);
  const count = element("p", { class: "count quiet", "aria-live": "polite" });

  const fits = {
    operators: (one) =>
      one.entry.toLowerCase().includes(state.text) && (!state.verdict || one.verdict === state.verdict) &&
      (!state.dtype || one.dtypes.includes(state.dtype)) && (!state.speed || one.speed_verdicts.some(([word]) => word === state.speed)),
    rows: (one) =>
      `${one.entry} ${one.detail}`.toLowerCase().includes(state.text) && (!state.dtype || one.dtype === state.dtype) &&
      (!state.verdict || report.operators[one.operator].verdict === state.verdict) && (!state.speed || one.verdict === state.speed),
  };

  function compared(value) {
    const none = (one) => one === null || one === undefined || one === "" || one === "-";
    return (a, b) => {
      const [one, other] = [value(a), value(b)];
      if (none(one) || none(other)) return none(one) - none(other); // what is not known comes last either way
      return (one < other ? -1 : one > other ? 1 : 0) * (state.down ? -1 : 1);
    };
  }

  function refresh() {
    columns = COLUMNS[state.mode].filter((column) => column[5]);
    table.style.setProperty("--columns", columns.map((column) => column[2]).join(" "));
    table.className = `table of-${state.mode}`;
    const sorted = columns.find((column) => column[0] === state.sort);
    shown = items[state.mode].filter(fits[state.mode]);
    if (sorted) shown.sort(compared(sorted[3]));
    head.replaceChildren(...columns.map((column) => heading(column)));
    sortBy.replaceChildren(...[["", "the table's order"], ...columns].map(([key, title]) =>
      element("option", { value: key, selected: key === state.sort }, title)));
    const all = items[state.mode].length, noun = state.mode.slice(0, -1);
    count.textContent = shown.length === all ? counted(all, noun) : `${shown.length.toLocaleString("en")} of ${counted(all, noun)}`;
    table.setAttribute("aria-rowcount", shown.length + 1);
    drawnFrom = -1;
    draw();
  }

  function heading([key, title]) {
    const direction = key !== state.sort ? "none" : state.down ? "descending" : "ascending";
    return element(
      "div",
      { role: "columnheader", class: `c-${key}`, "aria-sort": direction },
      element("button", { type: "button", onclick: () => sort(key) }, title, element("span", { class: "arrow" }, { ascending: " ↑", descending: " ↓" }[direction])),
    );
  }

  function sort(key) {
    // The first click on a number puts the largest first.
    const firstDown = ["speed", "changed", "converts", "words", "before", "after"].includes(key);
    if (state.sort !== key) Object.assign(state, { sort: key, down: firstDown });
    else if (state.down === firstDown) state.down = !firstDown;
    else state.sort = "";
    refresh();
  }

  const failureOf = (item) => (state.mode === "operators" && item.first_failure) || "";
  let drawnFrom = -1, drawnTo = -1;
  let tops = [0]; // of each line that is shown, and the end of the last
  const firstBelow = (y) => {
    const found = tops.findIndex((top) => top > y);
    return found < 0 ? tops.length : found;
  };
  let whole = false; // on paper, where nothing can be scrolled into view
  function draw() {
    if (drawnFrom < 0) {
      const height = NARROW.matches ? NARROW_LINE_HEIGHT : LINE_HEIGHT;
      tops = [0];
      for (const item of shown) tops.push(tops.at(-1) + height + (failureOf(item) ? FAILURE_HEIGHT : 0));
    }
    body.style.height = whole ? "auto" : `${tops.at(-1)}px`;
    table.classList.toggle("whole", whole);
    const above = -body.getBoundingClientRect().top;
    const from = whole ? 0 : Math.max(0, firstBelow(above) - 9);
    const to = whole ? shown.length : Math.min(shown.length, firstBelow(above + innerHeight) + 8);
    if (from === drawnFrom && to === drawnTo) return;
    [drawnFrom, drawnTo] = [from, to];
    body.replaceChildren(...shown.slice(from, to).map((item, place) => line(item, from + place, tops[from + place])));
    if (!shown.length) body.replaceChildren(element("p", { class: "empty" }, items[state.mode].length ? "Nothing fits these filters." : "There is nothing here."));
  }

  function line(item, place, top) {
    const failure = failureOf(item);
    const chosen = state.mode === "operators" ? [item.place] : [item.operator, item.place];
    return element(
      "div",
      { role: "row", class: failure ? "line failing" : "line", "aria-rowindex": place + 2, style: `top:${top}px`, onclick: (event) => event.target.closest("button.open") || open(...chosen) },
      columns.map(([key, , , , shows]) =>
        element("div", { role: "cell", class: `c-${key}` },
          key === "name" ? element("button", { type: "button", class: "open", onclick: () => open(...chosen) }, shows(item)) : shows(item))),
      failure ? element("div", { role: "cell", class: "c-failure", "aria-colspan": columns.length, title: item.reason }, failure) : null,
    );
  }

  const choose = (label, key, choices) =>
    choices.length < 2 ? null : element(
      "label", {}, element("span", {}, label),
      element("select", { name: key, onchange: (event) => { state[key] = event.target.value; refresh(); } },
        element("option", { value: "" }, "all"), choices.map((choice) => element("option", { value: choice }, choice))),
    );
  const order = Object.keys(VERDICTS);
  const distinct = (values) => [...new Set(values)].filter(Boolean).sort((a, b) => order.indexOf(a) - order.indexOf(b) || (a < b ? -1 : 1));
  const sortBy = element("select", { name: "sort", onchange: (event) => (event.target.value ? sort(event.target.value) : (state.sort = "", refresh())) });
  const modes = ["operators", "rows"].map((mode) =>
    element("button", { type: "button", "data-mode": mode, "aria-pressed": String(mode === state.mode), onclick: () => show(mode) }, mode));
  function show(mode) {
    state.mode = mode;
    state.sort = "";
    modes.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.mode === mode)));
    refresh();
  }
  const controls = element(
    "form",
    { class: "controls", onsubmit: (event) => event.preventDefault() },
    element("div", { class: "modes", role: "group", "aria-label": "What to list" }, modes),
    element("label", { class: "search" }, element("span", {}, "find"),
      element("input", { type: "search", name: "find", autocomplete: "off", placeholder: "operator or size", oninput: (event) => { state.text = event.target.value.trim().toLowerCase(); refresh(); } })),
    choose("verdict", "verdict", distinct(report.operators.map((operator) => operator.verdict))),
    choose("speed", "speed", distinct(rows.map((row) => row.verdict))),
    choose("dtype", "dtype", distinct(rows.map((row) => row.dtype))),
    element("label", { class: "sort" }, element("span", {}, "sort by"), sortBy),
  );
  document.getElementById("list").append(element("h2", {}, "Operators and rows"), controls, count, table);
  addEventListener("scroll", draw, { passive: true });
  addEventListener("resize", draw);
  const again = () => { drawnFrom = -1; draw(); };
  NARROW.addEventListener("change", again);
  addEventListener("beforeprint", () => { whole = shown.length <= MOST_PRINTED; again(); });
  addEventListener("afterprint", () => { whole = false; again(); });
  refresh();

  return {
    // What a click in the picture does: only that verdict, and the list in view.
    only(verdict) {
      const key = screened && report.operators.some((operator) => operator.verdict === verdict) ? "verdict" : "speed";
      if (key === "speed") show("rows");
      for (const field of ["verdict", "speed"]) {
        state[field] = field === key ? verdict : "";
        const select = controls.elements[field];
        if (select) select.value = state[field];
      }
      refresh();
      document.getElementById("list").scrollIntoView({ behavior: "smooth" });
    },
    around: (place) => {
      const order = state.mode === "operators" ? shown.map((one) => one.place) : [...new Set(shown.map((one) => one.operator))];
      const at = order.indexOf(place);
      return at < 0 ? [place - 1, place + 1] : [order[at - 1], order[at + 1]];
    },
  };
}

// Two texts of a stage side by side. On a narrow screen the lines of both sides stand below each other.
const LAYOUT = /#[A-Za-z_][\w.]*/g;

// A text with its layouts as things that explain themselves, and with marks where it differs from the other side's.
function code(text, layouts, marks) {
  const parts = [];
  let done = 0;
  const put = (stop) => {
    for (const [from, to] of marks) {
      if (to <= done || from >= stop) continue;
      if (from > done) parts.push(text.slice(done, from));
      parts.push(element("mark", {}, text.slice(Math.max(done, from), Math.min(to, stop))));
      done = Math.min(to, stop);
    }
    if (stop > done) parts.push(text.slice(done, stop));
    done = stop;
  };
  for (const found of text.matchAll(LAYOUT)) {
    const layout = layouts.get(found[0]);
    if (!layout) continue;
    put(found.index);
    done += found[0].length;
    const within = marks.some(([from, to]) => from < done && to > found.index);
    parts.push(element("span", { class: within ? "layout marked" : "layout", tabindex: "0", "data-tip-title": layout.title, "data-tip": layout.meaning }, found[0]));
  }
  put(text.length);
  return parts;
}

// Where two lines part, as places in each: word by word if they have as many, else between what they begin and end with alike.
function partings(a, b) {
  const words = [a, b].map((text) => text.match(/[\w.#%$]+|\s+|./g) || []);
  const marks = [[], []];
  if (words[0].length === words[1].length) {
    const at = [0, 0];
    words[0].forEach((word, place) => {
      const both = [word, words[1][place]];
      for (const side of [0, 1]) {
        if (both[0] !== both[1]) marks[side].push([at[side], at[side] + both[side].length]);
        at[side] += both[side].length;
      }
    });
    return marks;
  }
  const most = Math.min(words[0].length, words[1].length);
  const alike = (one, other) => words[0].at(one) === words[1].at(other);
  let start = 0, end = 0;
  while (start < most && alike(start, start)) start += 1;
  while (end < most - start && alike(-1 - end, -1 - end)) end += 1;
  const long = (list) => list.join("").length;
  return words.map((list) => [[long(list.slice(0, start)), long(list.slice(0, list.length - end))]]);
}

function comparedLine([kind, ...values], layouts) {
  if (kind === 2) return element("div", { class: "away" }, `${counted(values[0], "line")} the same`);
  const [beforeNumber, before, afterNumber] = values;
  const after = values.length > 3 ? values[3] : before;
  const both = before !== null && after !== null;
  const marks = kind === 1 && both ? partings(before, after) : [[], []];
  const state = kind === 0 ? "same" : both ? "differs" : before !== null ? "gone" : "new";
  const half = (side, number, text, sign, marked) => [
    element("span", { class: `number ${side}` }, number === null ? "" : String(number)),
    element("code", { class: `text ${side}${text === null ? " missing" : ""}`, "data-sign": kind === 1 && text !== null ? sign : "" },
      text === null ? "" : code(text, layouts, marked)),
  ];
  const told = kind === 1 && before === after ? "The same words, but a value that is named here is another one on the other side." : null;
  return element("div", { class: `pair ${state}`, "data-tip": told }, half("before", beforeNumber, before, "−", marks[0]), half("after", afterNumber, after, "+", marks[1]));
}

function comparison(found, stage, kernel) {
  const layouts = new Map(found.layouts.map(([label, definition, meaning]) => [label, { title: definition || label, meaning }]));
  const said = found.lines.length
    ? `${kernel}, ${stage}: ${counted(found.differing, "line")} differ${found.differing === 1 ? "s" : ""} of ${found.before_lines} before and ${found.after_lines} after`
    : `${kernel}, ${stage}: not shown`;
  return element(
    "div",
    { class: "comparison" },
    element("p", { class: "quiet" }, said, found.note ? `; ${found.note}` : "", "."),
    found.layouts.length
      ? element("p", { class: "layouts quiet" }, "Layouts, by names that both sides share: ",
          [...layouts].map(([label, layout]) => [element("span", { class: "layout", tabindex: "0", "data-tip-title": layout.title, "data-tip": layout.meaning }, label), " "]))
      : null,
    element("div", { class: "pairs" },
      element("div", { class: "sides", "aria-hidden": "true" }, element("span", {}, "before"), element("span", {}, "after")),
      found.lines.map((values) => comparedLine(values, layouts))),
  );
}

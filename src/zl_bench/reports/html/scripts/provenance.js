// Where it comes from, what it does not speak for, and how a second person repeats it.
function grid(titles, lines) {
  return element("div", { class: "scroll" }, element("table", {},
    element("thead", {}, element("tr", {}, titles.map((title) => element("th", {}, title)))),
    element("tbody", {}, lines.map((cells) => element("tr", {}, cells.map((cell, place) => element(place ? "td" : "th", {}, cell)))))));
}

function copied(text) {
  const button = element("button", { type: "button", class: "copy", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      // A page from a file may not be allowed to: then the text is marked, to be copied by hand.
      getSelection().selectAllChildren(button.nextElementSibling);
      button.textContent = "marked: copy it";
    }
  } }, "copy");
  return element("div", { class: "commands" }, button, element("pre", {}, text));
}

const SIDE_FACTS = [
  ["Python", "python"], ["interpreter", "interpreter"], ["platform", "platform"], ["Triton", "triton"], ["Triton commit", "triton_commit"],
  ["library", "library"], ["its SHA-256", "library_sha256"], ["torch", "torch"], ["target", "target"],
];
const CARD_FACTS = [
  ["UUID", "uuid"], ["PCI", "pci"], ["driver", "driver"], ["clocks", "clocks"], ["throttled", "throttle"], ["others on it", "others"],
];

// Of a long list, how many stand there at once.
const SOME = 8;

function provenance() {
  const { provenance: origin, reproduction, screen, measure } = report;
  const facts = [
    ["root", origin.root], ["started", origin.started], ["tool", origin.tool_version], ["suite", origin.suite], ["its folder", origin.suite_folder],
    ["its commit", origin.suite_revision], ["its hash", origin.suite_hash], ["pins", origin.pins],
  ].filter(([, value]) => value);
  const notes = [...report.notes, ...(measure ? measure.notes : []), ...(screen ? screen.shapes : []), report.differences_note].filter(Boolean);
  const words = [...counts.map((count) => [count.verdict, count.sentence])];
  const part = (title, ...content) => element("section", { class: "part" }, element("h2", {}, title), ...content);
  const missing = report.not_covered.map((entry) => element("li", {}, element("b", {}, name(entry.subject)), ": ", asSentence(entry.why)));
  const parts = [
    part("How to read it",
      element("p", {}, [screen && screen.axis, screen && screen.finding, screen && screen.basis, measure && measure.basis, measure && measure.placebo_line, measure && measure.words].filter(Boolean).map((sentence) => [asSentence(sentence), " "])),
      element("dl", { class: "words" }, words.map(([word, sentence]) => [element("dt", {}, badge(word)), element("dd", {}, asSentence(sentence))]))),
    part("What was not covered",
      missing.length ? element("ul", { class: "problems" }, missing.slice(0, SOME)) : element("p", { class: "quiet" }, "Nothing that was asked for is missing."),
      missing.length > SOME ? element("details", {}, element("summary", {}, `${missing.length - SOME} more`), element("ul", { class: "problems" }, missing.slice(SOME))) : ""),
    notes.length ? part("Notes", element("ul", {}, notes.map((note) => element("li", {}, asSentence(note))))) : null,
    part("Reproduce it",
      reproduction.commands.length ? [element("p", { class: "quiet" }, reproduction.exact ? "As it was typed; secrets are hashed." : "Put together from what was recorded."), copied(reproduction.commands.join("\n"))] : null,
      reproduction.environment.length ? grid(["variable", "before", "after"], reproduction.environment) : null,
      reproduction.facts.length ? grid(["what must be the same", ""], reproduction.facts) : null),
    part("Provenance",
      grid(["", ""], facts),
      origin.sides.length ? grid(["", ...origin.sides.map((side) => side.side)], SIDE_FACTS.map(([label, field]) => [label, ...origin.sides.map((side) => side[field] || "-")])) : null,
      origin.cards.length ? grid(["", ...origin.cards.map((card) => card.name)], CARD_FACTS.map(([label, field]) => [label, ...origin.cards.map((card) => card[field] || "-")])) : null,
      origin.environment_differences.length ? [element("h3", {}, "Variables in which the sides differ"), grid(["variable", "before", "after"], origin.environment_differences)] : null),
  ];
  document.getElementById("provenance").append(...parts.filter(Boolean));
}

// A kernel as both sides launched it: its stages, what it takes of the card, and what differs in its code.
const KERNEL_FACTS = [
  ["warps", "num_warps"], ["stages", "num_stages"], ["ctas", "num_ctas"], ["shared bytes", "shared_bytes"],
  ["registers", "registers"], ["spills", "spills"], ["convert_layout", "converts"], ["configuration", "configuration"],
];
const LONG_FACTS = [["signature", "signature"], ["constants", "constants"], ["attributes", "attributes"]];

function kernelFacts(before, after) {
  const told = (kernel, field) => (kernel && kernel[field] !== null && kernel[field] !== "" ? String(kernel[field]) : "-");
  const facts = KERNEL_FACTS.map(([label, field]) => [label, told(before, field), told(after, field)]).filter(([, a, b]) => a !== "-" || b !== "-");
  const long = LONG_FACTS.map(([label, field]) => [label, told(before, field), told(after, field)]).filter(([, a, b]) => a !== "-" || b !== "-");
  return [
    element("ul", { class: "facts" }, facts.map(([label, a, b]) =>
      element("li", {}, element("span", { class: "quiet" }, `${label} `), a === b || !before || !after ? (before ? a : b) : element("b", {}, `${a} → ${b}`)))),
    long.length
      ? element("details", { class: "identity" }, element("summary", {}, long.map(([label]) => label).join(", ")),
          long.map(([label, a, b]) => element("p", {}, element("span", { class: "quiet" }, `${label} `), element("code", {}, a === b || !before || !after ? (before ? a : b) : `${a} → ${b}`))))
      : null,
  ];
}

function launchCard(launch, kernels) {
  const [before, after] = [launch.before, launch.after].map((id) => (id === null ? null : kernels[id]));
  const place = element("div", { class: "comparisons" });
  let shownStage = "";
  async function toggle(stage, found, button) {
    card.querySelectorAll(".stage").forEach((one) => one.setAttribute("aria-expanded", "false"));
    if (shownStage === stage) {
      shownStage = "";
      return place.replaceChildren();
    }
    shownStage = stage;
    button.setAttribute("aria-expanded", "true");
    if (typeof found === "string") return place.replaceChildren(element("p", { class: "quiet" }, `${stage} differs; it is not shown: ${found}.`));
    const [piece, which] = found;
    const shown = comparison((await comparisonOf(piece))[which], stage, launch.name);
    if (shownStage === stage) place.replaceChildren(shown);
  }
  const stages = [
    ...launch.same_stages.map((stage) => [stage, false]), ...launch.changed_stages.map((stage) => [stage, true]),
  ];
  const order = [...new Set([...((before && before.stages) || []), ...((after && after.stages) || [])])];
  stages.sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
  const chips = stages.map(([stage, differs]) =>
    differs
      ? element("button", { type: "button", class: "stage differs", "data-stage": stage, "aria-expanded": "false", onclick: (event) => toggle(stage, launch.differences[stage], event.currentTarget) }, "≠ ", stage)
      : element("span", { class: "stage" }, "= ", stage));
  const said = [
    launch.times > 1 ? `launched ${launch.times} times` : "",
    launch.only_on ? `on the ${launch.only_on} side only` : "",
    launch.attributes_only ? "module attributes alone differ" : "",
    launch.specialised_otherwise.length ? `specialised otherwise: ${launch.specialised_otherwise.join(", ")}` : "",
    launch.unstable ? "unstable: it differed from itself when before was compiled twice" : "",
  ].filter(Boolean);
  const card = element(
    "article",
    { class: "launch" },
    element("h4", {}, name(launch.name), said.length ? element("small", {}, ` ${said.join("; ")}`) : ""),
    element("div", { class: "stages" }, chips),
    kernelFacts(before, after),
    place,
  );
  return card;
}

const untouched = (launch) => !launch.changed_stages.length && !launch.only_on && !launch.unstable && !launch.specialised_otherwise.length;

function launchList(row, kernels) {
  if (!row.launches.length) return element("p", { class: "quiet" }, row.changed === null ? "Its kernels were not recorded." : "No Triton kernel was launched.");
  const calm = row.launches.filter(untouched);
  const others = row.launches.filter((launch) => !untouched(launch));
  if (!calm.length) return others.map((launch) => launchCard(launch, kernels));
  const further = others.length ? "further kernel" : "kernel";
  const rest = element("details", { class: "calm", ontoggle: () => rest.childElementCount < 2 && rest.append(...calm.map((launch) => launchCard(launch, kernels))) },
    element("summary", {}, `${counted(calm.length, further)}, the same at every stage that was recorded`));
  return [...others.map((launch) => launchCard(launch, kernels)), rest];
}

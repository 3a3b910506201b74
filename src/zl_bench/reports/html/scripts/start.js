// The page as a whole.
function themes() {
  const buttons = [...document.querySelectorAll(".theme button")];
  const told = () => document.dispatchEvent(new Event("themechange"));
  for (const button of buttons) {
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = button.dataset.theme;
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
      told();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", told);
  let chosen = "";
  addEventListener("beforeprint", () => {
    chosen = document.documentElement.dataset.theme || "";
    document.documentElement.dataset.theme = "light";
    told();
  });
  addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = chosen;
    told();
  });
}

function warnings() {
  const { measure, screen } = report;
  const told = [];
  if (measure && !measure.trusted) told.push(["UNTRUSTED", `${measure.untrusted.join("; ")}. No speed-up of this measure can be believed.`]);
  if (screen && ["dead", "not shown live"].includes(screen.axis_state)) told.push([screen.axis_state, screen.axis]);
  document.getElementById("warnings").append(...told.map(([word, text]) => element("p", { class: "warning" }, element("b", {}, `! ${word}`), " ", asSentence(text))));
  const basis = [measure && measure.basis, measure && measure.placebo_line, !measure && screen && screen.basis].filter(Boolean);
  document.getElementById("basis").append(basis.join(" "));
}

function picture(shownList, open) {
  const place = document.getElementById("picture");
  const figures = [
    report.screen && report.screen.counts.length ? bar("Operators by verdict", report.screen.counts, shownList.only) : null,
    report.measure && report.measure.counts.length ? bar("Measured rows by verdict", report.measure.counts, shownList.only) : null,
  ].filter(Boolean);
  const sorted = ranking(open);
  if (figures.length) place.append(element("div", { class: "bars" }, figures));
  if (sorted) place.append(sorted);
  if (!figures.length && !sorted) place.append(element("p", { class: "empty" }, "Nothing was measured, so there is nothing to draw."));
}

function start() {
  themes();
  warnings();
  let shownList = null;
  const open = operatorSheet((place) => shownList.around(place));
  shownList = list(open);
  picture(shownList, open);
  provenance();
  const place = report.operators.findIndex((operator) => addressOf(operator) === location.hash);
  if (place >= 0) open(place);
  document.documentElement.dataset.ready = "yes";
}
start();

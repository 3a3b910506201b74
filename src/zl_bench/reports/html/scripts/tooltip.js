// One tooltip for everything with a data-tip: on hover, on focus and on touch; Escape closes it.
const tooltip = document.getElementById("tooltip");

function showTip(text, x, y) {
  const dialog = document.querySelector("dialog[open]");
  (dialog || document.body).append(tooltip);
  tooltip.replaceChildren(...[text].flat());
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  const left = Math.min(Math.max(8, x - box.width / 2), document.documentElement.clientWidth - box.width - 8);
  const top = y + 18 + box.height > innerHeight ? y - box.height - 12 : y + 18;
  tooltip.style.left = `${Math.max(8, left)}px`;
  tooltip.style.top = `${Math.max(8, top)}px`;
}
function hideTip() {
  tooltip.hidden = true;
}
function tipOf(event) {
  const owner = event.target.closest && event.target.closest("[data-tip]");
  if (!owner) return hideTip();
  const box = owner.getBoundingClientRect();
  const strong = owner.dataset.tipTitle;
  const lines = owner.dataset.tip;
  const shown = owner.matches(".says") ? asSentence(lines) : lines;
  showTip(strong ? [element("code", {}, strong), element("p", {}, lines)] : shown, box.left + box.width / 2, box.bottom - 8);
}
for (const kind of ["mouseover", "focusin", "click"]) document.addEventListener(kind, tipOf);
document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
document.addEventListener("scroll", hideTip, { capture: true, passive: true });

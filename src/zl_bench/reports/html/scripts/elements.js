// Building blocks. Text reaches the page as text alone: nothing here, or built on this, parses HTML.
const report = JSON.parse(document.getElementById("report").textContent);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}
const element = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
const drawn = (tag, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
// Names come from suites: whatever they hold turns no text around them.
const name = (text) => element("bdi", {}, text);
// A sentence of the tool's own: the commands that it names in backticks are code. Whatever was recorded is not put through this.
const asSentence = (sentence) =>
  String(sentence || "").split(/`(zl-bench[^`]*)`/).map((part, place) => (place % 2 ? element("code", {}, part) : part));

function readable(value) {
  if (value === null || value === undefined) return "-";
  const size = Math.abs(value);
  return size >= 0.1 && size < 1e6 ? value.toFixed(4) : value.toPrecision(4).replace(/\.?0+(e|$)/, "$1");
}
const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const interval = (low, high) => (low === null || high === null ? "" : `${readable(low)} to ${readable(high)}`);
const ratio = (timing) => {
  if (timing.speedup === null) return "-";
  const range = interval(timing.low, timing.high);
  return range ? `${readable(timing.speedup)} (${range})` : readable(timing.speedup);
};

// A piece is JSON, deflated, in base64. Pieces are inflated once, when something that is opened needs them.
async function inflated(piece) {
  const bytes = Uint8Array.from(atob(piece), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}
function pieces(id) {
  let block = null;
  const known = new Map();
  return (place) => {
    block = block || JSON.parse(document.getElementById(id).textContent);
    if (!known.has(place)) known.set(place, inflated(block[place]));
    return known.get(place);
  };
}
const detailsOf = pieces("operators");
const comparisonOf = pieces("differences");

const rows = report.rows.map((values) => Object.fromEntries(report.row_fields.map((field, place) => [field, values[place]])));

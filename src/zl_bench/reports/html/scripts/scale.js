// The logarithmic axis of ratios. What lies beyond it is drawn at its edge with an arrow, so that one outlier hides nothing.
const NICE = [
  0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 0.67, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 1, 1.005, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2, 4,
  5, 10, 20, 50, 100,
];

// The smallest reach, as a logarithm on either side of 1, that holds all but the outermost ratios, and never less than 3 %: there
// is room for that without hiding anything.
function reachOf(ratios) {
  const sizes = ratios.filter((one) => one > 0).map((one) => Math.abs(Math.log(one))).sort((a, b) => a - b);
  if (!sizes.length) return Math.log(1.05);
  const most = sizes[Math.floor((sizes.length - 1) * 0.98)];
  const last = sizes[sizes.length - 1];
  return Math.max(Math.log(1.03), (last > 3 * most ? 1.6 * most : last) * 1.1);
}

// From a ratio to a place between 0 and 1, and which ticks there is room for.
function axis(reach) {
  const place = (one) => (Math.log(one) + reach) / (2 * reach);
  return {
    place: (one) => Math.min(1, Math.max(0, place(one))),
    beyond: (one) => (place(one) > 1.0001 ? 1 : place(one) < -0.0001 ? -1 : 0),
    ticks(room) {
      const kept = [];
      // From 1 outwards, so that 1 is always there.
      for (const one of [...NICE].sort((a, b) => Math.abs(Math.log(a)) - Math.abs(Math.log(b)))) {
        const at = place(one);
        if (at >= 0 && at <= 1 && kept.every((other) => Math.abs(place(other) - at) >= room)) kept.push(one);
      }
      return kept;
    },
  };
}

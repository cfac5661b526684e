"use strict";
// Series of a watched run over time, one chart for each kind of figure.
const Watched = (() => {
  const R = Report, L = Lines;
  const FORMATS = {
    "1": R.count, "1/s": R.rate, "B": R.size, "B/s": (v) => (v === null || v === undefined ? "–" : `${R.size(v)}/s`),
    "ms": (v) => (v === null || v === undefined ? "–" : `${R.significant(v)} ms`),
    "cores": (v) => (v === null || v === undefined ? "–" : `${R.significant(v)} cores`),
    "s/s": (v) => (v === null || v === undefined ? "–" : `${R.significant(v)} s/s`),
  };

  function aligned(lines) {
    const xs = [...new Set(lines.flatMap((l) => l.seconds))].sort((a, b) => a - b);
    const columns = lines.map((l) => {
      const at = new Map(l.seconds.map((s, i) => [s, l.values[i]]));
      return xs.map((x) => at.get(x) ?? null);
    });
    return [xs, ...columns];
  }

  function draw() {
    const host = document.querySelector('[data-chart="watched"]');
    if (!host) return;
    L.clear(host);
    const charts = R.page.watched ?? [];
    if (!charts.length) host.append(R.element("p", { class: "absent" }, "No chart: there are no readings."));
    const boxes = charts.map((c) => {
      const format = FORMATS[c.unit];
      const words = c.lines.map((l) => `${l.label} at most ${format(Math.max(...l.values))}`).join(", ");
      const sub = c.hidden ? `the ${c.lines.length} largest of ${c.lines.length + c.hidden}` : "";
      return L.frame(host, c.title, sub, `${c.title}: ${words}`);
    });
    charts.forEach((c, i) => {
      const format = FORMATS[c.unit];
      L.draw(host, boxes[i], {
        cursor: { sync: { key: "watched" }, points: { size: 6 }, y: false },
        scales: { x: { time: false }, y: { range: (_u, _low, high) => [0, (high ?? 1) * 1.05 || 1] } },
        axes: [L.axis("x", (_u, vs) => vs.map((v) => `${v} s`), { size: 28 }), L.axis("y", (_u, vs) => vs.map(format), { size: 78 })],
        series: [
          { label: "second", value: (_u, v) => (v === null ? "" : `${v} s`) },
          ...c.lines.map((l, k) => ({
            label: l.label, stroke: R.seriesColor(k), plain: R.seriesColor(k), dash: R.dash(Math.floor(k / 8)), width: 1.5,
            points: { show: l.seconds.length < 2 }, value: (u, v) => (u.cursor.idx === null ? "" : format(v)),
          })),
        ],
      }, aligned(c.lines));
    });
  }

  return { draw };
})();

"use strict";
// A metric over runs: medians with their range, the level of each stretch, change points, and runs shown apart.
const History = (() => {
  const R = Report, L = Lines;
  const FORMATS = { ns: R.duration, "1/s": R.rate, "B/s": (v) => `${R.size(v)}/s`, B: R.size, 1: (v) => R.significant(v) };
  const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const times = (ratio) => `${ratio.toFixed(ratio >= 0.9 && ratio < 1.1 ? 3 : 2)}×`;
  const two = (v) => String(v).padStart(2, "0");

  /** Days where there are several, else times of the day. */
  function when(points) {
    const dates = points.map((p) => (p.started_unix_s === null ? null : new Date(p.started_unix_s * 1000)));
    const days = new Set(dates.map((d) => (d ? d.toISOString().slice(0, 10) : "")));
    return (i) => {
      const d = dates[i];
      if (!d) return "";
      return days.size > 1 ? `${MONTHS[d.getUTCMonth()]} ${d.getUTCDate()}` : `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
    };
  }

  /** From below the least to above the greatest value, and never so close that noise fills the chart. */
  function range(points) {
    const ends = points.flatMap((p) => [p.low, p.high]), low = Math.min(...ends), high = Math.max(...ends);
    const spare = Math.max((high - low) * 0.08, (0.12 * high - (high - low)) / 2, high ? 0 : 1);
    return [Math.max(0, low - spare), high + spare];
  }

  function marks(s) {
    return (u) => {
      const { ctx, bbox } = u, x = (v) => u.valToPos(v, "x", true), y = (v) => u.valToPos(v, "y", true), px = devicePixelRatio;
      ctx.save();
      const line = (color, width, dash, x0, y0, x1, y1) => {
        ctx.strokeStyle = color; ctx.lineWidth = width * px; ctx.setLineDash(dash.map((d) => d * px));
        ctx.beginPath(); ctx.moveTo(x0, y0); ctx.lineTo(x1, y1); ctx.stroke();
      };
      s.points.forEach((p, i) => { if (p.high > p.low) line(`${R.color(p.apart ? "--muted" : "--series-0")}66`, 3, [], x(i), y(p.low), x(i), y(p.high)); });
      for (const [first, last, level] of s.levels) line(R.color("--ink"), 1, [5, 4], x(first - 0.4), y(level), x(last + 0.4), y(level));
      ctx.textAlign = "left";
      ctx.font = `600 ${11 * px}px system-ui, sans-serif`;
      for (const c of s.changes) {
        const at = x(c.index - 0.5), color = R.color({ worse: "--bad", better: "--good" }[c.answer] ?? "--ink"), text = times(c.ratio);
        line(color, 1.5, [], at, bbox.top, at, bbox.top + bbox.height);
        const wide = ctx.measureText(text).width, left = Math.min(Math.max(at - wide / 2, bbox.left), bbox.left + bbox.width - wide);
        ctx.fillStyle = color;
        ctx.fillText(text, left, bbox.top - 5 * px);
      }
      ctx.restore();
    };
  }

  function draw(host, s) {
    L.clear(host);
    const format = FORMATS[s.unit] ?? ((v) => `${R.significant(v)} ${s.unit}`), date = when(s.points), last = s.points.length - 1;
    const said = s.changes.map((c) => `${c.answer}, ${times(c.ratio)} since ${c.run}`).join(", ") || "no change points";
    const box = L.frame(host, s.title, s.sub, `${s.words} of ${s.title} over ${s.points.length} runs: ${said}`);
    const of = (apart) => s.points.map((p) => (Boolean(p.apart) === apart ? p.value : null));
    const blue = R.color("--series-0"), muted = R.color("--muted"), some = s.points.some((p) => p.apart);
    const value = (u, v) => (u.cursor.idx === null || v === null ? "" : format(v));
    L.draw(host, box, {
      height: 220, padding: [22, 12, 0, 0],
      cursor: { points: { size: 7 }, y: false },
      scales: { x: { time: false, range: [-0.6, last + 0.6] }, y: { range: () => range(s.points) } },
      axes: [
        L.axis("x", (_u, vs) => vs.map((v) => (Number.isInteger(v) && v >= 0 && v <= last ? date(v) : "")), { size: 28, space: 64, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] }),
        L.axis("y", (_u, vs) => vs.map((v) => format(v)), { size: 72 }),
      ],
      series: [
        { label: "run", value: (_u, v) => (v === null ? "" : `${s.points[v].run}${s.points[v].version ? `, ${s.points[v].version}` : ""}`) },
        { label: s.words, stroke: blue, plain: blue, width: 1.25, spanGaps: true, points: { show: true, size: 6, fill: blue }, value },
        ...(some ? [{ label: "apart: not valid", stroke: muted, plain: muted, width: 0, paths: () => null, points: { show: true, size: 7, width: 1.5, stroke: muted, fill: R.color("--surface") }, value }] : []),
      ],
      hooks: { drawAxes: [marks(s)] },
    }, [s.points.map((_, i) => i), of(false), ...(some ? [of(true)] : [])]);
  }

  return { draw };
})();

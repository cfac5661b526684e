"use strict";
// Figures of a study: published points and lines, and ours with intervals, on the same axes.
const Study = (() => {
  const R = Report, L = Lines;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const BESIDE = 0.12; // on an axis of names ours stand this far right of the published ones
  const FAR_APART = 50; // from this ratio on an axis is logarithmic
  const CLOSE = 0.08; // of the width of a chart: below it two ticks may touch

  const number = (v, unit) => (v === null || v === undefined ? "–" : `${R.significant(v)}${unit && unit !== "1" ? ` ${unit}` : ""}`);

  /** Horizontal place of a point: its number, or the place of its name. */
  function place(figure, series, p) {
    if (!figure.names) return p.x;
    return figure.names.indexOf(p.x_text) + (series.source === "measured" ? BESIDE : -BESIDE);
  }

  function whiskers(figure, all) {
    return (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.lineWidth = 2 * devicePixelRatio;
      for (const s of all) {
        ctx.strokeStyle = s.color;
        for (const p of s.points) {
          if (p.low === null || p.high === null) continue;
          const x = u.valToPos(place(figure, s, p), "x", true), end = 4 * devicePixelRatio;
          const low = u.valToPos(p.low, "y", true), high = u.valToPos(p.high, "y", true);
          ctx.beginPath();
          ctx.moveTo(x, low);
          ctx.lineTo(x, high);
          for (const y of [low, high]) {
            ctx.moveTo(x - end, y);
            ctx.lineTo(x + end, y);
          }
          ctx.stroke();
        }
      }
      ctx.restore();
    };
  }

  function colored(figure) {
    const names = [...new Set(figure.series.map((s) => s.name))];
    return figure.series.map((s) => ({ ...s, color: R.seriesColor(names.indexOf(s.name)) }));
  }

  function spoken(figure, all) {
    const words = all.map((s) => `${s.source} ${s.name}: ${s.points.filter((p) => p.y !== null).slice(0, 12).map((p) => `${p.x_text || R.significant(p.x)} ${number(p.y, figure.unit)}`).join(", ")}`);
    return `${figure.heading}. ${words.join("; ")}`;
  }

  function scales(figure, ys, xs) {
    const low = Math.min(...ys.filter((v) => v > 0)), high = Math.max(...ys);
    const far = high / low > FAR_APART && Math.min(...ys) > 0;
    const wide = !figure.names && figure.along === "cell" && Math.min(...xs) > 0 && Math.max(...xs) / Math.min(...xs) > FAR_APART;
    const across = figure.names ? [-0.5, figure.names.length - 0.5] : null;
    return {
      far, wide,
      x: { time: false, distr: wide ? 3 : 1, range: (_u, a, b) => across ?? (wide ? [a / 1.4, b * 1.4] : a === b ? [a - 1, b + 1] : [a - (b - a) * 0.05, b + (b - a) * 0.05]) },
      y: { distr: far ? 3 : 1, range: () => (far ? [low / 1.5, high * 1.5] : [Math.min(0, ...ys), high * 1.1 || 1]) },
    };
  }

  /** Ticks at the places that there are, where they are few and apart: no 3.5 brokers. */
  function ticks(figure, xs) {
    const apart = Math.min(...xs.slice(1).map((x, i) => x - xs[i])) / (xs[xs.length - 1] - xs[0]);
    return figure.along === "cell" && xs.length > 1 && apart > CLOSE ? { splits: () => xs, filter: (_u, s) => s } : {};
  }

  function one(host, figure) {
    L.clear(host);
    const all = colored(figure);
    const box = L.frame(host, figure.y || figure.heading, "", spoken(figure, all));
    const drawn = all.filter((s) => s.points.some((p) => p.y !== null));
    if (!drawn.length) { box.append("There is nothing to draw yet: no figure was published, and nothing has been measured."); return; }
    const xs = [...new Set(drawn.flatMap((s) => s.points.filter((p) => p.y !== null).map((p) => place(figure, s, p))))].sort((a, b) => a - b);
    const columns = drawn.map((s) => {
      const at = new Map(s.points.filter((p) => p.y !== null).map((p) => [place(figure, s, p), p.y]));
      return xs.map((x) => at.get(x) ?? null);
    });
    const ys = drawn.flatMap((s) => s.points.flatMap((p) => [p.y, p.low, p.high])).filter((v) => v !== null);
    const scale = scales(figure, ys, xs);
    const lines = figure.along !== "cell" || !figure.names;
    const name = (v) => (figure.names ? figure.names[Math.round(v)] ?? "" : R.significant(v));
    const few = figure.names && box.clientWidth < 110 * figure.names.length;
    const short = (text) => (few && text.length > 8 ? `${text.slice(0, 7)}…` : text);
    // A series of the study is named after its authors: ours beside it is not theirs.
    const theirs = new Set(drawn.filter((s) => s.source === "published").map((s) => s.name));
    const label = (s) => {
      if (s.source === "published") return `published${s.name ? `: ${s.name}` : ""}`;
      return !s.name || theirs.has(s.name) ? "measured here" : `measured here: ${s.name}`;
    };
    L.draw(host, box, {
      height: 260,
      cursor: { points: { size: 8 }, y: false },
      scales: { x: scale.x, y: scale.y },
      axes: [
        L.axis("x", (_u, vs) => vs.map((v) => short(name(v))), { size: 30, label: figure.x, labelSize: 20, labelFont: "11px system-ui, sans-serif", ...(figure.names ? { splits: () => figure.names.map((_, i) => i), filter: (_u, s) => s } : scale.wide ? { splits: (u) => L.decades(u.scales.x.min, u.scales.x.max), filter: (_u, s) => s } : ticks(figure, xs)) }),
        L.axis("y", (_u, vs) => vs.map((v) => number(v, "")), { size: 64, label: figure.y, labelSize: 20, labelFont: "11px system-ui, sans-serif", ...(scale.far ? { splits: (u) => L.decades(u.scales.y.min, u.scales.y.max), filter: (_u, s) => s } : {}) }),
      ],
      series: [
        { label: figure.x || "x", value: (_u, v) => (v === null ? "" : name(v)) },
        ...drawn.map((s) => ({
          label: label(s), stroke: s.color, plain: s.color, spanGaps: true,
          width: lines ? 1.5 : 0, dash: s.source === "published" ? [6, 4] : [],
          points: { show: figure.along === "cell", size: 10, width: 2, stroke: s.color, fill: s.source === "published" ? R.color("--surface") : s.color },
          value: (u, v) => (u.cursor.idx === null ? "" : number(v, figure.unit)),
        })),
      ],
      hooks: { draw: [whiskers(figure, drawn)] },
    }, [xs, ...columns]);
  }

  function draw() {
    for (const figure of figures) {
      const host = document.querySelector(`[data-figure="${CSS.escape(figure.key)}"]`);
      if (host) one(host, figure);
    }
  }

  return { draw };
})();

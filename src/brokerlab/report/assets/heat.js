"use strict";
// The latency heat map: one canvas per cell; x the second a message was due, y its latency (log), colour how many.
const Heat = (() => {
  const R = Report;
  const LEFT = 62, RIGHT = 8, TOP = 18, BOTTOM = 22, HEIGHT = 250, SHADES = 100;
  const shown = new Map(); // host -> what its maps show, and their canvases

  function bands(cell, repeat, measure) {
    const merged = new Map(); // groups add up
    R.each("latency_heat", { cell, repeat, measure }, (i, c) => {
      const key = `${c.second_unix_s[i]} ${c.band[i]}`, known = merged.get(key);
      if (known) known.count += c.count[i];
      else merged.set(key, { second: c.second_unix_s[i], low: Math.max(c.lower_ns[i], 1), high: c.upper_ns[i] + 1, count: c.count[i] });
    });
    return [...merged.values()];
  }

  function quantileLines(cell, repeat, measure) {
    const groups = R.distinct("latency_per_second", "group", { cell, repeat, measure });
    if (groups.length !== 1) return []; // quantiles of several groups cannot be merged; the map itself can
    const p50 = new Map(), p99 = new Map();
    R.each("latency_per_second", { cell, repeat, measure }, (i, c) => {
      if (!c.count[i]) return;
      p50.set(c.second_unix_s[i], c.p50_ns[i]);
      p99.set(c.second_unix_s[i], c.p99_ns[i]);
    });
    return [{ label: "p50", points: p50, dash: [] }, { label: "p99", points: p99, dash: [4, 3] }];
  }

  function mixed(stops, share) {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2), f = at - k;
    const parts = stops[k].map((v, i) => Math.round(v + (stops[k + 1][i] - v) * f));
    return `rgb(${parts.join(" ")})`;
  }
  const ramp = () => [0, 1, 2, 3, 4].map((i) => R.color(`--heat-${i}`).match(/[0-9a-f]{2}/gi).map((h) => parseInt(h, 16)));

  function paint(canvas, view, scale) {
    const width = canvas.parentElement.clientWidth, ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    canvas.style.height = `${HEIGHT}px`;
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    const inner = { w: width - LEFT - RIGHT, h: HEIGHT - TOP - BOTTOM };
    const x = (second) => LEFT + ((second - view.first) / (view.last + 1 - view.first)) * inner.w;
    const y = (ns) => TOP + inner.h * (1 - Math.log(ns / scale.low) / Math.log(scale.high / scale.low));
    g.font = "11px system-ui, sans-serif";
    for (const s of view.time.spans) {
      const from = x(s.from + view.time.zero), to = x(s.to + 1 + view.time.zero), text = s.phase.replace("warm_up", "warm-up");
      if (s.phase !== "measure") { g.fillStyle = R.color("--shade"); g.fillRect(from, TOP, Math.min(to, LEFT + inner.w) - from, inner.h); }
      g.fillStyle = R.color("--muted");
      if (from < LEFT + inner.w && g.measureText(text).width < to - from) g.fillText(text, from + 3, TOP - 5);
    }
    axes(g, view, scale, inner, x, y);
    const stops = ramp(), most = Math.log(scale.most + 1), shades = Array.from({ length: SHADES + 1 }, (_, i) => mixed(stops, i / SHADES));
    for (const b of view.bands) {
      g.fillStyle = shades[Math.round((Math.log(b.count + 1) / most) * SHADES)];
      const left = Math.round(x(b.second)), top = Math.round(y(b.high));
      g.fillRect(left, top, Math.max(Math.round(x(b.second + 1)) - left, 1), Math.max(Math.round(y(b.low)) - top, 1));
    }
    for (const l of view.lines) line(g, l, x, y);
    view.locate = (px, py) => {
      const second = Math.floor(view.first + ((px - LEFT) / inner.w) * (view.last + 1 - view.first));
      const ns = scale.low * (scale.high / scale.low) ** (1 - (py - TOP) / inner.h);
      return { second, band: view.bands.find((b) => b.second === second && ns >= b.low && ns < b.high) };
    };
  }

  function axes(g, view, scale, inner, x, y) {
    g.lineWidth = 1;
    for (let e = Math.ceil(Math.log10(scale.low)); 10 ** e <= scale.high; e++) {
      const at = Math.round(y(10 ** e)) + 0.5;
      g.strokeStyle = R.color("--grid");
      g.beginPath(); g.moveTo(LEFT, at); g.lineTo(LEFT + inner.w, at); g.stroke();
      g.fillStyle = R.color("--muted"); g.textAlign = "right";
      g.fillText(R.duration(10 ** e), LEFT - 6, at + 4);
    }
    const seconds = view.last + 1 - view.first, room = Math.max(2, Math.floor(inner.w / 60));
    const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600].find((s) => seconds / s <= room) ?? 7200;
    g.textAlign = "center";
    for (let s = Math.ceil((view.first - view.time.zero) / step) * step; s <= view.last - view.time.zero; s += step)
      g.fillText(`${s} s`, x(s + view.time.zero), TOP + inner.h + 15);
    g.textAlign = "left";
  }

  function line(g, l, x, y) {
    for (const [color, width] of [[R.color("--surface"), 4], [R.color("--ink"), 1.5]]) {
      g.strokeStyle = color; g.lineWidth = width; g.setLineDash(width === 4 ? [] : l.dash);
      g.beginPath();
      let before = null;
      for (const [second, ns] of l.points) {
        const px = x(second + 0.5), py = y(Math.max(ns, 1));
        if (before === second - 1) g.lineTo(px, py); else g.moveTo(px, py);
        before = second;
      }
      g.stroke();
    }
    g.setLineDash([]);
  }

  function follow(figure) {
    const { canvas, tip } = figure;
    canvas.addEventListener("pointermove", (event) => {
      const view = figure.view;
      const box = canvas.getBoundingClientRect(), { second, band } = view.locate(event.clientX - box.left, event.clientY - box.top);
      const lines = view.lines.filter((l) => l.points.has(second)).map((l) => `${l.label} ${R.duration(l.points.get(second))}`);
      if (!band && !lines.length) { tip.textContent = tip.dataset.idle; return; }
      const inside = band ? [`${R.count(band.count)} messages, ${R.duration(band.low)} to ${R.duration(band.high)}`] : [];
      tip.textContent = [`second ${second - view.time.zero}`, ...inside, ...lines].join(" · ");
    });
    canvas.addEventListener("pointerleave", () => { tip.textContent = tip.dataset.idle; });
  }

  function heat(host, state) {
    const views = state.cells.map((cell) => ({
      cell, bands: bands(cell, state.repeat, state.measure), lines: quantileLines(cell, state.repeat, state.measure),
      time: Lines.phases(cell, state.repeat),
    }));
    const all = views.flatMap((v) => v.bands), name = R.measures[state.measure];
    const scale = {
      low: all.reduce((m, b) => Math.min(m, b.low), Infinity), high: all.reduce((m, b) => Math.max(m, b.high), 0),
      most: all.reduce((m, b) => Math.max(m, b.count), 0),
    };
    // Where only counts have changed, the canvases stay: what the pointer shows stays too.
    const kind = JSON.stringify([name, state.repeat, views.map((v) => [v.cell, v.bands.length > 0])]), known = shown.get(host);
    const isNew = known?.kind !== kind, kept = isNew ? new Map() : known.figures;
    shown.set(host, { kind, figures: kept });
    if (isNew) host.replaceChildren();
    for (const view of isNew ? views : []) {
      const figure = R.element("figure", {}, R.element("figcaption", {}, R.element("b", {}, R.label(view.cell)), ` ${name}, repeat ${state.repeat}`));
      host.append(figure);
      if (!view.bands.length) { figure.append(R.element("p", { class: "absent" }, "No samples in this repeat.")); continue; }
      const canvas = R.element("canvas", { role: "img" }), tip = R.element("p", { class: "tip" });
      figure.append(R.element("div", { class: "canvas" }, canvas), tip);
      kept.set(view.cell, { canvas, tip, view });
      follow(kept.get(view.cell));
    }
    for (const view of views.filter((v) => kept.has(v.cell))) { // after all frames stand: only then are widths final
      const figure = kept.get(view.cell), idle = figure.tip.textContent === (figure.tip.dataset.idle ?? "");
      view.first = view.bands.reduce((m, b) => Math.min(m, b.second), Infinity);
      view.last = view.bands.reduce((m, b) => Math.max(m, b.second), 0);
      const total = view.bands.reduce((s, b) => s + b.count, 0);
      figure.canvas.setAttribute("aria-label", `Heat map of ${name}, ${R.label(view.cell)}, repeat ${state.repeat}: ${R.count(total)} messages between ${R.duration(scale.low)} and ${R.duration(scale.high)}`);
      figure.tip.dataset.idle = `${R.count(total)} messages${view.lines.length ? " · solid line p50, dashed p99" : " · no quantile lines: several groups"}`;
      if (idle) figure.tip.textContent = figure.tip.dataset.idle;
      figure.view = view;
      paint(figure.canvas, view, scale);
    }
    // Beside the grid, not in it: an item across all columns would keep empty ones open.
    if (host.nextElementSibling?.classList.contains("key")) host.nextElementSibling.remove();
    if (all.length) host.after(key(scale));
  }

  function key(scale) {
    const stops = [0, 1, 2, 3, 4].map((i) => R.color(`--heat-${i}`));
    const bar = R.element("span", { class: "ramp", style: `background:linear-gradient(90deg, ${stops.join(",")})` });
    return R.element("p", { class: "key" }, "1", bar, `${R.count(scale.most)} messages in a second and band`);
  }

  function clear(host) {
    shown.delete(host);
    host.replaceChildren();
  }

  return { heat, clear };
})();

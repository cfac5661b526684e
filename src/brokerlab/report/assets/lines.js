"use strict";
// Line charts with uPlot: throughput over time, percentile spectrum, and what limited it.
const Lines = (() => {
  const R = Report;
  const WHOLE = Array.from({ length: 13 }, (_, e) => [1, 2, 5].map((s) => s * 10 ** e)).flat();
  const BINARY = Array.from({ length: 50 }, (_, i) => 2 ** i);
  const open = new Map(); // host -> charts drawn in it
  const shown = new Map(); // host -> what its charts show, but for the points

  function clear(host) {
    for (const u of open.get(host) ?? []) u.destroy();
    open.set(host, []);
    shown.delete(host);
    host.replaceChildren();
  }

  const least = (values) => { let m = Infinity; for (const v of values) if (v < m) m = v; return m; };
  const most = (values) => { let m = -Infinity; for (const v of values) if (v > m) m = v; return m; };

  /** A figure with a heading; the chart goes into the returned frame. */
  function frame(host, title, sub, described) {
    const box = R.element("div", { class: "plot", role: "img", "aria-label": described });
    host.append(R.element("figure", {}, R.element("figcaption", {}, R.element("b", {}, title), ` ${sub}`), box));
    return box;
  }

  function axis(scale, values, extra = {}) {
    return {
      scale, values, stroke: R.color("--muted"), font: "11px system-ui, sans-serif", ...extra,
      grid: { stroke: R.color("--grid"), width: 1 }, ticks: { show: false }, gap: 6,
    };
  }

  function draw(host, box, options, data) {
    const width = Math.max(240, Math.floor(box.clientWidth));
    const plain = (u, i) => u.series[i].plain;
    const markers = { width: 2, fill: () => "transparent", stroke: plain, dash: (u, i) => (u.series[i].dash?.length ? "dashed" : "solid") };
    const u = new uPlot({ width, height: 190, padding: [14, 12, 0, 0], legend: { live: true, markers }, ...options }, data, box);
    open.get(host).push(u);
    return u;
  }

  /** The first second of the measure phase and the stretches of the other phases, in seconds from it. */
  function phases(cell, repeat) {
    const seen = new Map();
    R.each("rate_per_second", { cell, repeat }, (i, c) => {
      const s = c.second_unix_s[i], p = c.phase[i], known = seen.get(p);
      seen.set(p, known ? [Math.min(known[0], s), Math.max(known[1], s)] : [s, s]);
    });
    const all = [...seen.values()];
    const zero = seen.has("measure") ? seen.get("measure")[0] : Math.min(...all.map((a) => a[0]));
    return { zero, spans: [...seen].map(([phase, [a, b]]) => ({ phase, from: a - zero, to: b - zero })) };
  }

  /** Shades what is not the measure phase and names each phase at the top. */
  function shade(spans) {
    return (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, 0, bbox.width, bbox.top + bbox.height);
      ctx.clip();
      ctx.font = `${10 * devicePixelRatio}px system-ui, sans-serif`;
      for (const s of spans) {
        const x = u.valToPos(s.from - 0.5, "x", true), end = Math.min(u.valToPos(s.to + 0.5, "x", true), bbox.left + bbox.width);
        if (s.phase !== "measure") {
          ctx.fillStyle = R.color("--shade");
          ctx.fillRect(x, bbox.top, end - x, bbox.height);
        }
        const text = s.phase.replace("warm_up", "warm-up");
        if (ctx.measureText(text).width < end - x) {
          ctx.fillStyle = R.color("--muted");
          ctx.fillText(text, Math.max(x, bbox.left) + 3 * devicePixelRatio, bbox.top - 4 * devicePixelRatio);
        }
      }
      ctx.restore();
    };
  }

  /** series: [{label, points: Map(second -> value), color, dash}] as aligned arrays over every second from first to last. */
  function aligned(series, zero) {
    const first = least(series.map((s) => least(s.points.keys()))), last = most(series.map((s) => most(s.points.keys())));
    const xs = [];
    for (let s = first; s <= last; s++) xs.push(s);
    return [xs.map((s) => s - zero), ...series.map((s) => xs.map((x) => s.points.get(x) ?? null))];
  }

  const single = (series) => series.every((s) => s.points.size < 2);

  /** Draws a view and returns what gives the same chart other points. */
  function overTime(host, box, view) {
    let now = view;
    const { series, format } = view, points = single(series), steps = view.limits?.steps;
    const u = draw(host, box, {
      cursor: { sync: { key: host.dataset.chart }, points: { size: 6 }, y: false },
      scales: { x: { time: false }, y: { range: (_u, _low, high) => [0, (now.limits?.top ?? high ?? 1) * 1.05 || 1] } },
      axes: [
        axis("x", (_u, vs) => vs.map((v) => `${v} s`), { size: 28 }),
        axis("y", (_u, vs) => vs.map(format), { size: 68, ...(steps ? { incrs: steps } : {}) }),
      ],
      series: [
        { label: "second", value: (_u, v) => (v === null ? "" : `${v} s`) },
        ...series.map((s) => ({
          label: s.label, stroke: s.color, plain: s.color, fill: s.fill, width: s.width ?? 1.75, dash: s.dash, points: { show: points },
          value: (u, v) => (u.cursor.idx === null ? "" : format(v)),
        })),
      ],
      hooks: { drawClear: [(chart) => shade(now.time.spans)(chart)] },
    }, aligned(series, view.time.zero));
    return (next) => { now = next; u.setData(aligned(next.series, next.time.zero)); };
  }

  /** Charts over time in one host. views: [{title, sub, described, series, format, time, limits?}]. Where only points have changed
   *  since the last time, charts stay in place: a cursor on them, and whatever is read of them, stays too. */
  function show(host, views, absent = "") {
    const kind = JSON.stringify([host.clientWidth, R.color("--ink"), absent, views.map((v) => [v.title, v.sub, single(v.series), v.series.map((s) => s.label)])]);
    const known = shown.get(host);
    if (known?.kind === kind) {
      views.forEach((v, i) => { known.boxes[i].setAttribute("aria-label", v.described); known.updates[i]?.(v); });
      return;
    }
    clear(host);
    // Every frame stands before the first chart is drawn: only then are their widths final.
    const boxes = views.map((v) => frame(host, v.title, v.sub, v.described));
    const updates = views.map((v, i) => {
      if (v.series.length) return overTime(host, boxes[i], v);
      boxes[i].append("This repeat has no rows.");
      return null;
    });
    if (absent) host.append(R.element("p", { class: "absent" }, absent));
    shown.set(host, { kind, boxes, updates });
  }

  function add(points, second, value) {
    points.set(second, (points.get(second) ?? 0) + value);
  }

  function rates(cell, repeat) {
    const sent = new Map(), acknowledged = new Map(), received = new Map();
    R.each("rate_per_second", { cell, repeat }, (i, c) => {
      const s = c.second_unix_s[i];
      if (c.role[i] === "producer") {
        add(sent, s, c.sent[i]);
        add(acknowledged, s, c.acknowledged[i]);
      } else {
        if (!received.has(c.group[i])) received.set(c.group[i], new Map());
        add(received.get(c.group[i]), s, c.received[i]);
      }
    });
    const many = received.size > 1;
    return [
      // They mostly coincide: an area, a broad line and a thin one stay apart by shape as well as by colour.
      { label: "sent", points: sent, color: R.color("--sent"), fill: `${R.color("--sent")}30`, width: 1, dash: [3, 3] },
      { label: "acknowledged", points: acknowledged, color: `${R.color("--acknowledged")}80`, width: 5 },
      ...[...received].map(([group, points], i) => ({
        label: many ? `received ${group}` : "received", points, color: i ? R.seriesColor(i + 2) : R.color("--received"), width: 1.5,
      })),
    ].filter((s) => s.points.size);
  }

  function throughput(host, state) {
    const drawn = state.cells.map((cell) => ({ cell, series: rates(cell, state.repeat), time: phases(cell, state.repeat) }));
    const top = Math.max(1, ...drawn.flatMap((s) => s.series.map((x) => most(x.points.values()))));
    show(host, drawn.map(({ cell, series, time }) => {
      const span = time.spans.find((s) => s.phase === "measure") ?? { from: -Infinity, to: Infinity };
      const words = series.map((s) => {
        const inside = [...s.points].filter(([at]) => at - time.zero >= span.from && at - time.zero <= span.to).map(([, v]) => v);
        return `${s.label} ${R.rate(inside.reduce((a, b) => a + b, 0) / (inside.length || 1))}`;
      }).join(", ");
      const described = `Throughput of ${R.label(cell)}, repeat ${state.repeat}: ${words ? `${words}, means of the measure phase` : "no rows"}`;
      return { title: R.label(cell), sub: `repeat ${state.repeat}`, described, series, format: R.rate, time, limits: { top } };
    }));
  }

  /** One rate of many cells in one chart, each counted from its own measure phase: received, or sent where nothing consumes. */
  function together(host, state) {
    const sides = state.cells.map((cell) => ({ cell, all: rates(cell, state.repeat), time: phases(cell, state.repeat) })).filter((s) => s.all.length);
    const kind = sides.some((s) => s.all.some((x) => x.label.startsWith("received"))) ? "received" : "sent";
    const series = sides.map(({ cell, all, time }) => {
      const points = new Map();
      for (const s of all.filter((x) => x.label.startsWith(kind))) for (const [at, v] of s.points) add(points, at - time.zero, v);
      return { label: R.label(cell), points, color: R.seriesColor(R.index(cell)), dash: R.cellDash(cell) };
    }).filter((s) => s.points.size);
    const described = `Messages ${kind} a second, repeat ${state.repeat}: ${series.map((s) => s.label).join(", ")}`;
    show(host, [{ title: `${kind} a second`, sub: `repeat ${state.repeat}`, described, series, format: R.rate, time: { zero: 0, spans: sides[0]?.time.spans ?? [] } }]);
  }

  /** Merged histogram of a cell: ascending [{value, before}] steps and n; no value is above the largest sample. Groups add up; histograms merge exactly. */
  function steps(cell, repeat, measure) {
    const counts = new Map();
    let bits = 7;
    R.each("latency_histogram", { cell, repeat, measure, phase: "measure" }, (i, c) => {
      bits = c.sub_bucket_bits[i];
      c.bucket[i].forEach((b, k) => counts.set(b, (counts.get(b) ?? 0) + c.count[i][k]));
    });
    let largest = 0;
    R.each("latency_per_phase", { cell, repeat, measure, phase: "measure" }, (i, c) => { largest = Math.max(largest, c.max_ns[i]); });
    const lower = (b) => {
      const shift = Math.max((b >> bits) - 1, 0);
      return (b - shift * 2 ** bits) * 2 ** shift;
    };
    let n = 0;
    const list = [...counts].sort((a, b) => a[0] - b[0]).map(([b, k]) => {
      const step = { value: Math.max(Math.min(lower(b + 1) - 1, largest || Infinity), 1), before: n };
      n += k;
      return step;
    });
    return { cell, n, list };
  }

  /** Round values of a logarithmic axis: 1, 2 and 5 of each decade, or its beginning alone where there are many. */
  function decades(low, high) {
    const steps = high / low > 1e3 ? [1] : [1, 2, 5], found = [];
    for (let e = Math.floor(Math.log10(low)); 10 ** e <= high; e++) found.push(...steps.map((s) => s * 10 ** e));
    return found.filter((v) => v >= low && v <= high);
  }

  function spectrum(host, state) {
    clear(host);
    const all = state.cells.map((c) => steps(c, state.repeat, state.measure)).filter((s) => s.n);
    const which = state.repeat ? `repeat ${state.repeat}` : "all repeats merged";
    const name = R.measures[state.measure];
    const box = frame(host, name, which, `Percentile spectrum of ${name}, ${which}: ${all.map((s) => R.label(s.cell)).join(", ")}`);
    if (!all.length) { box.append(`There are no samples of ${name} here.`); return; }
    // x = 1 / (1 - q). Every step of every line is a point: nothing is thinned out.
    const xs = [...new Set(all.flatMap((s) => [...s.list.map((p) => s.n / (s.n - p.before)), s.n]))].sort((a, b) => a - b);
    const columns = all.map(({ n, list }) => {
      let k = 0;
      return xs.map((x) => {
        if (x > n * (1 + 1e-12)) return null;
        while (k + 1 < list.length && n / (n - list[k + 1].before) <= x * (1 + 1e-12)) k++;
        return list[k].value;
      });
    });
    const stroke = (s) => (u) => {
      const full = R.seriesColor(R.index(s.cell)), limit = u.valToPos(s.n / 2.9957, "x", true);
      const share = Math.min(1, Math.max(0, (limit - u.bbox.left) / (u.bbox.width || 1)));
      if (!Number.isFinite(share)) return full;
      const g = u.ctx.createLinearGradient(u.bbox.left, 0, u.bbox.left + u.bbox.width, 0);
      g.addColorStop(0, full);
      g.addColorStop(share, full);
      g.addColorStop(share, `${full}55`);
      g.addColorStop(1, `${full}55`);
      return g;
    };
    const quantile = (x) => (x === null ? "" : `p${+(100 * (1 - 1 / x)).toPrecision(Math.max(3, 2 + Math.ceil(Math.log10(x))))}`);
    const ticks = { 1: "0 %", 2: "50 %", 10: "90 %", 100: "99 %", 1000: "99.9 %", 1e4: "99.99 %", 1e5: "99.999 %", 1e6: "99.9999 %" };
    const wide = box.clientWidth > 600;
    const marks = Object.keys(ticks).map(Number).filter((v) => wide || [2, 100, 1e4, 1e6].includes(v));
    draw(host, box, {
      height: wide ? 340 : 260,
      cursor: { points: { size: 6 }, y: false, drag: { x: true, y: false } },
      scales: {
        x: { time: false, distr: 3, range: (_u, low, high) => [low, high] },
        y: { distr: 3, range: (_u, low, high) => [low / 1.3, high * 1.3] },
      },
      axes: [
        axis("x", (_u, vs) => vs.map((v) => ticks[v] ?? null), { splits: (u) => marks.filter((v) => v >= u.scales.x.min && v <= u.scales.x.max), filter: (_u, s) => s, size: 28 }),
        axis("y", (_u, vs) => vs.map((v) => R.duration(v)), { size: 68, splits: (u) => decades(u.scales.y.min, u.scales.y.max), filter: (_u, s) => s }),
      ],
      series: [
        { label: "percentile", value: (_u, v) => quantile(v) },
        ...all.map((s) => ({
          label: `${R.label(s.cell)} (n = ${R.count(s.n)})`, stroke: stroke(s), plain: R.seriesColor(R.index(s.cell)), width: 2, dash: R.cellDash(s.cell),
          points: { show: false, fill: R.seriesColor(R.index(s.cell)) }, value: (u, v) => (u.cursor.idx === null ? "" : R.duration(v)),
        })),
      ],
    }, [xs, ...columns]);
  }

  function readings(cell, repeat, wanted, named) {
    const lines = new Map();
    R.each("reading_per_second", { cell, repeat }, (i, c) => {
      if (!wanted(c.subject[i], c.metric[i])) return;
      const key = named(c.subject[i], c.metric[i]);
      if (!lines.has(key)) lines.set(key, new Map());
      lines.get(key).set(c.second_unix_s[i], c.value[i]);
    });
    return [...lines].map(([label, points], i) => ({ label, points, color: R.seriesColor(i), dash: R.dash(i) }));
  }

  /** Messages sent so far minus received so far, by group. */
  function backlog(cell, repeat) {
    const series = rates(cell, repeat), sent = series.find((s) => s.label === "sent");
    if (!sent) return [];
    return series.filter((s) => s.label.startsWith("received")).map((r, i) => {
      const seconds = [...new Set([...sent.points.keys(), ...r.points.keys()])].sort((a, b) => a - b);
      let held = 0;
      const points = new Map(seconds.map((s) => [s, Math.max(0, (held += (sent.points.get(s) ?? 0) - (r.points.get(s) ?? 0)))]));
      return { label: r.label.replace("received", "backlog"), points, color: R.seriesColor(i), dash: R.dash(i) };
    });
  }

  function limits(host, state) {
    const { cell, repeat } = state, time = phases(cell, repeat);
    const agents = new Set(R.distinct("agent_health", "agent", { cell }));
    const process = (s) => s.startsWith("process:"), bare = (s) => s.slice(s.indexOf(":") + 1);
    const cores = (v) => (v === null || v === undefined ? "–" : `${R.significant(v)} cores`), flow = (v) => (v === null || v === undefined ? "–" : `${R.size(v)}/s`);
    const all = [
      ["Agents' CPU", cores, readings(cell, repeat, (s, m) => m === "cpu_cores" && process(s) && agents.has(bare(s)), bare)],
      ["Broker and host CPU", cores, readings(cell, repeat, (s, m) => (m === "cpu_cores" && process(s) && !agents.has(bare(s))) || (s === "host" && /^cpu_(busy|steal|foreign)_cores$/.test(m)), (s, m) => (s === "host" ? `host ${m.split("_")[1]}` : bare(s)))],
      ["Disk", flow, readings(cell, repeat, (s, m) => /^(disk_)?write_bytes_per_s$/.test(m) && !agents.has(bare(s)), (s) => `${bare(s)} writes`)],
      ["Consumer backlog", R.count, backlog(cell, repeat)],
    ];
    const charts = all.filter(([, , series]) => series.length), absent = all.filter(([, , series]) => !series.length);
    const views = charts.map(([title, format, series]) => {
      const words = series.map((s) => `${s.label} at most ${format(most(s.points.values()))}`).join(", ");
      const described = `${title} of ${R.label(cell)}, repeat ${repeat}: ${words}`, steps = format === flow ? BINARY : format === R.count ? WHOLE : null;
      return { title, sub: `${R.label(cell)}, repeat ${repeat}`, described, series, format, time, limits: { steps } };
    });
    show(host, views, absent.length ? `Not recorded in this repeat: ${absent.map(([title]) => title).join(", ")}.` : "");
  }

  return { throughput, together, spectrum, limits, show, phases, steps, axis, clear, decades, draw, frame };
})();

"use strict";
// The embedded tables, numbers for people, and the controls above the charts.
const Report = (() => {
  const page = JSON.parse(document.getElementById("data").textContent);

  function expanded(column) {
    if (column.values) return column.values;
    const values = [];
    for (let i = 0; i < column.runs.length; i += 2)
      for (let k = 0; k < column.runs[i + 1]; k++) values.push(column.runs[i]);
    return values;
  }

  const decoded = new Map();
  /** The table by columns: {rows, columns: {name: values}, described: [{name, unit, meaning}]}; without rows if absent. */
  function table(name) {
    if (!decoded.has(name)) {
      const stored = page.tables[name];
      const columns = {};
      for (const c of stored ? stored.columns : []) columns[c.name] = expanded(c);
      decoded.set(name, { rows: stored ? stored.rows : 0, columns, described: stored ? stored.columns : [] });
    }
    return decoded.get(name);
  }

  /** A table that grows while the page is open, by columns; it takes the place of an embedded one. */
  function put(name, columns, rows) {
    decoded.set(name, { rows, columns, described: [] });
  }

  /** Calls visit(i, columns) for each row whose columns have the wanted values. */
  function each(name, wanted, visit) {
    const t = table(name);
    const keys = Object.keys(wanted).filter((k) => k in t.columns);
    for (let i = 0; i < t.rows; i++)
      if (keys.every((k) => t.columns[k][i] === wanted[k])) visit(i, t.columns);
  }

  function distinct(name, column, wanted = {}) {
    const found = new Set();
    each(name, wanted, (i, c) => found.add(c[column][i]));
    return [...found].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  }

  function significant(value, digits = 3) {
    if (!value) return "0";
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))));
    return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(decimals, 12), minimumFractionDigits: 0 });
  }
  function duration(ns, digits = 3) {
    if (ns === null || ns === undefined) return "–";
    for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
      if (Math.abs(ns) >= size) return `${significant(ns / size, digits)} ${unit}`;
    return `${significant(ns, digits)} ns`;
  }
  const rate = (v) => (v === null || v === undefined ? "–" : `${significant(v)}/s`);
  const count = (v) => (v === null || v === undefined ? "–" : Math.round(v).toLocaleString("en-US"));
  function size(v) {
    if (v === null || v === undefined) return "–";
    for (const [step, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
      if (Math.abs(v) >= step) return `${significant(v / step)} ${unit}`;
    return `${significant(v)} B`;
  }

  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const seriesColor = (i) => color(`--series-${i % 8}`);
  const dash = (i) => [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [12, 4], [1, 2], [6, 2, 1, 2]][i % 8];

  function element(name, attributes = {}, ...children) {
    const e = document.createElement(name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.append(...children);
    return e;
  }

  let groups = 0;
  /** Radio buttons (or checkboxes with `many`) as a segmented row. options: [{value, text, swatch?}]. */
  function choice(host, legend, options, chosen, changed, many = false) {
    const name = `choice-${++groups}`;
    const set = element("fieldset", { class: many ? "chips" : "segments" }, element("legend", {}, legend));
    for (const o of options) {
      const input = element("input", { type: many ? "checkbox" : "radio", name, value: String(o.value) });
      input.checked = many ? chosen.includes(o.value) : o.value === chosen;
      input.addEventListener("change", () => {
        const all = [...set.querySelectorAll("input")];
        const picked = options.filter((_, i) => all[i].checked).map((p) => p.value);
        changed(many ? picked : picked[0]);
      });
      const label = element("label", {}, input);
      if (o.swatch !== undefined) label.append(element("i", { class: `swatch series-${o.swatch % 8}` }));
      label.append(element("span", {}, o.text));
      set.append(label);
    }
    host.append(set);
  }

  const labels = new Map(page.cells.map((c) => [c.cell, c.label || c.cell]));
  // A page may say which color and which dashes a cell has; else both follow its place.
  const colors = new Map(page.cells.map((c, i) => [c.cell, c.color ?? i]));
  const dashes = new Map(page.cells.map((c, i) => [c.cell, c.dash ?? i]));
  return {
    page, table, put, expanded, each, distinct, significant, duration, rate, count, size, color, seriesColor, dash, element, choice,
    label: (cell) => labels.get(cell) ?? cell,
    index: (cell) => colors.get(cell) ?? 0,
    cellDash: (cell) => dash(dashes.get(cell) ?? 0),
    short: Object.fromEntries(page.measures.map((m) => [m.key, m.short])),
    measures: Object.fromEntries(page.measures.map((m) => [m.key, m.words])),
  };
})();

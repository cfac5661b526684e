"use strict";
// Raw numbers: a table's rows appear when it is opened; its CSV is made when asked for.
const Raw = (() => {
  const R = Report;
  const SHOWN = 200;

  const text = (v) => (v === null || v === undefined ? "" : Array.isArray(v) ? v.join(" ") : String(v));

  function fill(host, name) {
    if (host.childElementCount) return;
    const t = R.table(name), names = t.described.map((c) => c.name);
    const head = R.element("tr");
    for (const c of t.described) {
      const cell = R.element("th", { scope: "col", title: c.meaning }, c.name);
      if (c.unit && c.unit !== "1") cell.append(R.element("span", { class: "sub" }, ` ${c.unit}`));
      head.append(cell);
    }
    const body = R.element("tbody");
    for (let i = 0; i < Math.min(t.rows, SHOWN); i++) {
      const row = R.element("tr");
      for (const n of names) {
        const value = text(t.columns[n][i]);
        row.append(R.element("td", {}, value.length > 60 ? `${value.slice(0, 57)}…` : value));
      }
      body.append(row);
    }
    const said = t.rows > SHOWN ? `The first ${SHOWN} of ${R.count(t.rows)} rows; the CSV has all of them.` : `${R.count(t.rows)} rows.`;
    host.append(R.element("table", { class: "raw" }, R.element("caption", {}, said), R.element("thead", {}, head), body));
  }

  function csv(name) {
    const t = R.table(name), names = t.described.map((c) => c.name);
    const field = (v) => (/[",\r\n]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v);
    const lines = [names.join(",")];
    for (let i = 0; i < t.rows; i++) lines.push(names.map((n) => field(text(t.columns[n][i]))).join(","));
    return `${lines.join("\r\n")}\r\n`;
  }

  function start() {
    for (const host of document.querySelectorAll("[data-raw]"))
      host.closest("details").addEventListener("toggle", () => fill(host, host.dataset.raw));
    for (const link of document.querySelectorAll("[data-csv]"))
      link.addEventListener("click", () => { link.href = `data:text/csv;charset=utf-8,${encodeURIComponent(csv(link.dataset.csv))}`; });
  }

  return { start };
})();

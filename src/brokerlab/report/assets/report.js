"use strict";
// Puts controls and charts in their places, and draws again when the theme, the width or the medium changes.
(() => {
  const R = Report;
  const FIRST_CHARTS = 4, FIRST_LINES = 8;
  const redraws = [];

  function place(name) {
    const host = document.querySelector(`[data-chart="${name}"]`);
    return host && { host, controls: document.querySelector(`[data-controls="${name}"]`) };
  }

  /** Cells with rows in a table, in the plan's order. */
  function known(table) {
    const found = new Set(R.distinct(table, "cell"));
    return R.page.cells.map((c) => c.cell).filter((c) => found.has(c));
  }

  function cellsOf(table, state, draw, controls, most) {
    const cells = known(table);
    state.cells = cells.slice(0, most);
    if (cells.length < 2) return;
    const said = R.element("p", { class: "caption", "aria-live": "polite" });
    const say = () => { said.textContent = state.cells.length < cells.length ? `${state.cells.length} of ${cells.length} cells are drawn; choose others here.` : ""; };
    const options = cells.map((c) => ({ value: c, text: R.label(c), swatch: R.index(c) }));
    R.choice(controls, "cells", options, state.cells, (picked) => { state.cells = picked; say(); draw(); }, true);
    say();
    controls.append(said);
  }

  function repeatsOf(table, state, draw, controls, merged) {
    const repeats = R.distinct(table, "repeat").filter((r) => merged || r > 0);
    state.repeat = merged && repeats.includes(0) ? 0 : repeats[0];
    if (repeats.filter((r) => r > 0).length > 1)
      R.choice(controls, "repeat", repeats.map((r) => ({ value: r, text: r ? String(r) : "all" })), state.repeat, (r) => { state.repeat = r; draw(); });
  }

  function measuresOf(table, state, draw, controls) {
    const found = new Set(R.distinct(table, "measure")), measures = Object.keys(R.measures).filter((m) => found.has(m));
    state.measure = measures.includes("end_to_end_latency") ? "end_to_end_latency" : measures[0];
    if (measures.length > 1)
      R.choice(controls, "latency", measures.map((m) => ({ value: m, text: R.short[m] })), state.measure, (m) => { state.measure = m; draw(); });
  }

  function chart(name, table, drawing, most, merged, measured) {
    const at = place(name);
    if (!at) return;
    const state = {}, draw = () => drawing(at.host, state);
    if (measured) measuresOf(table, state, draw, at.controls);
    repeatsOf(table, state, draw, at.controls, merged);
    cellsOf(table, state, draw, at.controls, most);
    redraws.push(draw);
  }

  function limits() {
    const at = place("limits");
    const cells = known("rate_per_second");
    if (!at || !cells.length) return;
    const state = { cell: cells[0] }, draw = () => Lines.limits(at.host, state);
    if (cells.length > 1)
      R.choice(at.controls, "cell", cells.map((c) => ({ value: c, text: R.label(c) })), state.cell, (c) => { state.cell = c; draw(); });
    repeatsOf("rate_per_second", state, draw, at.controls, false);
    redraws.push(draw);
  }

  const redraw = () => redraws.forEach((draw) => draw());

  function theme() {
    const button = document.getElementById("theme"), root = document.documentElement;
    const prefers = matchMedia("(prefers-color-scheme: dark)");
    const now = () => root.dataset.theme || (prefers.matches ? "dark" : "light");
    const say = () => { button.textContent = now() === "dark" ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${now() === "dark" ? "light" : "dark"} colors`); };
    button.addEventListener("click", () => { root.dataset.theme = now() === "dark" ? "light" : "dark"; say(); redraw(); });
    prefers.addEventListener("change", () => { say(); redraw(); });
    let kept;
    addEventListener("beforeprint", () => { kept = root.dataset.theme; root.dataset.theme = "light"; root.classList.add("printing"); redraw(); });
    addEventListener("afterprint", () => { if (kept) root.dataset.theme = kept; else delete root.dataset.theme; root.classList.remove("printing"); redraw(); });
    say();
  }

  function watchWidth() {
    let width = document.documentElement.clientWidth, waiting;
    addEventListener("resize", () => {
      if (document.documentElement.clientWidth === width) return;
      width = document.documentElement.clientWidth;
      clearTimeout(waiting);
      waiting = setTimeout(redraw, 120);
    });
  }

  chart("throughput", "rate_per_second", Lines.throughput, FIRST_CHARTS, false, false);
  chart("together", "rate_per_second", Lines.together, FIRST_LINES, false, false);
  for (const host of document.querySelectorAll("[data-history]"))
    redraws.push(() => History.draw(host, R.page.history[host.dataset.history]));
  chart("spectrum", "latency_histogram", Lines.spectrum, FIRST_LINES, true, true);
  chart("heat", "latency_heat", Heat.heat, FIRST_CHARTS, false, true);
  limits();
  if (typeof Study !== "undefined") redraws.push(Study.draw);
  if (typeof Watched !== "undefined") redraws.push(Watched.draw);
  Raw.start();
  theme();
  watchWidth();
  redraw();
  document.documentElement.dataset.ready = "true";
})();

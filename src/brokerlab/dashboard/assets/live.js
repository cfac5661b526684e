// A run while it goes. Every connection begins with the whole history, so a reload or a server that comes back loses nothing.
import { ask, element, enable, say, status } from "./common.js";
import { points, reset, take } from "./live_tables.js";

const R = Report, page = R.page, run = page.run, at = (id) => document.getElementById(id);
const hosts = Object.fromEntries(["throughput", "heat", "limits", "readings"].map((n) => [n, document.querySelector(`[data-chart="${n}"]`)]));
const state = { cells: [], repeat: 1, cell: "", measure: null };
let source = null, run_state = null, now = null, waiting = 0, took_ms = 0, analyzing = false, again = 0, whole = false, gone = false;
const SILENT_MS = 25000; // the server beats every 10 s: a connection without a word for so long is dead

const shown = () => run_state?.shown ?? null;

function draw() {
  clearTimeout(waiting);
  waiting = 0;
  if (document.hidden || !shown() || !whole) return;
  const began = performance.now();
  const [cell, repeat] = shown().split(/-r(?=\d+$)/);
  Object.assign(state, { cells: [cell], cell, repeat: Number(repeat) });
  if (page.kind === "monitor") readings();
  else charts();
  events();
  tiles();
  took_ms = performance.now() - began;
  Object.assign(document.documentElement.dataset, { ready: "true", points: String(points()), drawMs: took_ms.toFixed(0) });
}

function charts() {
  const found = new Set(R.distinct("latency_heat", "measure")), measures = Object.keys(R.measures).filter((m) => found.has(m));
  chooseMeasure(measures);
  Lines.throughput(hosts.throughput, state);
  if (measures.length) Heat.heat(hosts.heat, state);
  else {
    Heat.clear(hosts.heat);
    hosts.heat.append(element("p", { class: "absent" }, "No closed segments yet: the first come some seconds after the load begins."));
  }
  Lines.limits(hosts.limits, state);
}

const CHARTS = 24;
const inUnits = (metric) => (/bytes_per_s$/.test(metric) ? (v) => (v === null || v === undefined ? "–" : `${R.size(v)}/s`) : /bytes$/.test(metric) ? R.size : (v) => (v === null || v === undefined ? "–" : R.significant(v)));

/** Of a run that only watches: a chart for each metric, a line for each subject; what is searched for first of all. */
function readings() {
  const wanted = at("find-metric").value.trim().toLowerCase(), metrics = new Map();
  R.each("reading_per_second", {}, (i, c) => {
    const metric = c.metric[i], subject = c.subject[i];
    if (wanted && !`${metric} ${subject}`.toLowerCase().includes(wanted)) return;
    if (!metrics.has(metric)) metrics.set(metric, new Map());
    const of = metrics.get(metric);
    if (!of.has(subject)) of.set(subject, new Map());
    of.get(subject).set(c.second_unix_s[i], c.value[i]);
  });
  const first = (m) => ["lag", "messages", "cpu", "heap", "bytes"].findIndex((w) => m.includes(w)) >>> 0, names = [...metrics.keys()].sort((a, b) => first(a) - first(b) || (a < b ? -1 : 1));
  let zero = Infinity;
  for (const of of metrics.values()) for (const points_ of of.values()) for (const s of points_.keys()) if (s < zero) zero = s;
  Lines.show(hosts.readings, names.slice(0, CHARTS).map((metric) => {
    const series = [...metrics.get(metric)].slice(0, 8).map(([label, found], i) => ({ label, points: found, color: R.seriesColor(i), dash: R.dash(i) }));
    return { title: metric.replaceAll("_", " "), sub: "", described: `${metric} of ${series.map((s) => s.label).join(", ")}`, series, format: inUnits(metric), time: { zero, spans: [] } };
  }));
  at("readings-said").textContent = names.length > CHARTS ? `${CHARTS} of ${names.length} metrics are drawn; search for others.` : `${names.length} metrics`;
}

/** Soon, but never so often that drawing takes more than a tenth of a processor from the run that is measured. */
function soon() {
  if (!waiting) waiting = setTimeout(() => requestAnimationFrame(draw), Math.max(60, Math.min(took_ms * 9, 5000)));
}

function chooseMeasure(found) {
  const controls = document.querySelector('[data-controls="heat"]');
  if (controls.dataset.found === found.join()) return;
  controls.dataset.found = found.join();
  controls.replaceChildren();
  if (!found.includes(state.measure)) state.measure = found.includes("end_to_end_latency") ? "end_to_end_latency" : found[0];
  if (found.length > 1) R.choice(controls, "latency", found.map((m) => ({ value: m, text: R.short[m] })), state.measure, (m) => { state.measure = m; soon(); });
}

const latest = (name, wanted) => { // the last whole second of a series of readings
  let second = -Infinity, value = 0;
  R.each("reading_per_second", { metric: name }, (i, c) => {
    if (!wanted(c.subject[i]) || c.second_unix_s[i] < second) return;
    value = c.second_unix_s[i] > second ? c.value[i] : value + c.value[i];
    second = c.second_unix_s[i];
  });
  return second > -Infinity ? value : null;
};

function tile(key, value, note = "") {
  document.querySelector(`[data-tile="${key}"]`).textContent = value;
  document.querySelector(`[data-note="${key}"]`).textContent = note;
}

/** Of a role: what happened in one second, or the mean of the measure phase where the execution is over. */
function rateOf(role, column) {
  const t = R.table("rate_per_second"), seconds = new Map();
  const over = run_state.executions.find((e) => e.execution === shown())?.state !== "running";
  R.each("rate_per_second", { role, ...(over ? { phase: "measure" } : {}) }, (i, c) => seconds.set(c.second_unix_s[i], (seconds.get(c.second_unix_s[i]) ?? 0) + c[column][i]));
  if (!t.rows || !seconds.size) return null;
  const order = [...seconds.keys()].sort((a, b) => a - b);
  if (over) return order.reduce((n, s) => n + seconds.get(s), 0) / order.length;
  return seconds.get(order[order.length - 2] ?? order[0]); // the last second may still lack an agent
}

function tiles() {
  if (!now || page.kind === "monitor") return;
  tile("sent", R.rate(rateOf("producer", "sent")), `${R.count(now.counts.sent)} in all`);
  tile("received", R.rate(rateOf("consumer", "received")), `${R.count(now.counts.received)} in all`);
  const consumers = now.agents.some((a) => a.role === "consumer"), measure = consumers ? "end_to_end_latency" : "publish_latency";
  const p99 = Math.max(0, ...now.agents.map((a) => a.p99_ns[measure] ?? 0));
  tile("p99", p99 ? R.duration(p99) : "–", R.short[measure] ?? "");
  const groups = new Set(R.distinct("rate_per_second", "group", { role: "consumer" })).size || 1;
  tile("lag", consumers ? R.count(Math.max(0, now.counts.sent * groups - now.counts.received)) : "–", now.counts.behind ? `${R.count(now.counts.behind)} behind schedule` : "messages");
  const agents = new Set(now.agents.map((a) => `process:${a.agent}`)), cores = (v) => (v === null ? "–" : `${v.toFixed(2)} cores`);
  const busiest = Math.max(0, ...now.agents.map((a) => a.cpu_cores ?? 0));
  tile("agents", now.agents.length ? cores(now.agents.reduce((n, a) => n + (a.cpu_cores ?? 0), 0)) : "–", now.agents.length ? `busiest ${busiest.toFixed(2)}` : "");
  tile("broker", cores(latest("cpu_cores", (s) => s.startsWith("process:") && !agents.has(s))), `host ${cores(latest("cpu_busy_cores", (s) => s === "host"))}`);
}

const WORDS = { node_started: "started", agent_started: "agent started", phase: "phase", backlog_complete: "backlog complete", drain: "drained", end: "ended", annotation: "remark", interrupted: "interrupted", failed: "failed", node_died: "died", agent_died: "agent died", broker_failed: "failed", fault_begun: "fault", fault_ended: "fault over", took_over: "took over", cluster_kept: "cluster kept" };

function detail(kind, text) {
  let d = {};
  try { d = JSON.parse(text); } catch { return text; }
  if (kind === "phase") return d.phase?.replace("warm_up", "warm-up") ?? "";
  if (kind.startsWith("target_")) return [d.target, d.why].filter(Boolean).join(": ");
  if (kind === "annotation") return d.text ?? "";
  if (kind === "drain") return d.complete ? "everything was read" : "incomplete";
  if (kind === "fault_begun") return `${d.fault} of ${d.node}`;
  if (kind === "took_over") return `${d.node} after ${R.significant(d.after_s)} s`;
  return d.failure ?? d.error ?? d.text ?? (d.names ?? []).join(", ");
}

function events() {
  const list = at("event-list"), t = R.table("event");
  if (list.childElementCount === t.rows) return;
  const order = [...Array(t.rows).keys()].sort((a, b) => t.columns.number[b] - t.columns.number[a]);
  list.replaceChildren(...order.map((i) => {
    const kind = t.columns.kind[i], when = new Date(t.columns.second_unix_s[i] * 1000).toISOString().slice(11, 19), who = t.columns.source[i];
    return element("li", { class: kind }, element("time", {}, when), element("b", {}, WORDS[kind] ?? kind.replaceAll("_", " ")), ` ${detail(kind, t.columns.detail[i]) ?? ""} `, who === "runner" || who === "user" ? "" : element("span", { class: "sub" }, who));
  }));
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

function head() {
  const s = run_state, words = { "in progress": "Live", complete: "Measured", failed: "Failed", incomplete: "Stopped" };
  const grave = (now?.reasons ?? []).filter((r) => r.weight !== "note");
  const kind = s.verdict ? s.verdict.verdict : s.word === "failed" || grave.some((r) => r.weight === "invalid") ? "invalid" : s.word === "in progress" && !grave.length ? "valid" : "cannot tell";
  at("verdict").className = `verdict ${kind.replaceAll(" ", "-")}`;
  const word = words[s.word] ?? s.word;
  at("word").replaceChildren(s.word === "in progress" ? element("span", { class: "live" }, word) : status(capital(s.verdict ? s.verdict.verdict : word), kind));
  const current = s.executions.find((e) => e.execution === s.shown), where = current ? `${current.label}, repeat ${current.repeat}` : "nothing has begun";
  const phase = now?.agents?.[0]?.phase?.replace("warm_up", "warm-up");
  const so_far = grave.length ? `it would not count so far: ${grave.length} reason${grave.length > 1 ? "s" : ""}` : "nothing is amiss so far";
  at("meaning").textContent = s.verdict ? s.verdict.headline
    : page.kind === "monitor" ? (s.in_progress ? "Watching, without a load." : "The watching is over.")
    : s.word === "in progress" ? `${where}${phase ? `, ${phase}` : ", starting"}; ${s.finished} of ${s.planned} executions finished; ${so_far}`
    : s.word === "complete" || s.word === "failed" ? "The load is over; the verdict comes with the analysis. This page opens the report when it is there."
    : `${s.finished} of ${s.planned} executions finished; the same command goes on with the rest.`;
  const share = s.planned ? (100 * s.finished) / s.planned : 0;
  at("progress").setAttribute("aria-valuenow", share.toFixed(0));
  at("progress").firstElementChild.style.width = `${share}%`;
  at("reasons").replaceChildren(...["invalid", "cannot tell", "note"].flatMap((weight) => {
    const found = s.verdict ? [] : (now?.reasons ?? []).filter((r) => r.weight === weight);
    const title = { invalid: "Would make it invalid", "cannot tell": "Would make it uncertain", note: "Notes" }[weight];
    return found.length ? [element("div", { class: `reasons ${weight.replace(" ", "-")}` }, element("h2", {}, title), element("ul", {}, ...found.map((r) => element("li", {}, r.text, element("span", { class: "code" }, r.code)))))] : [];
  }));
  const bad = ["rejected", "unknown", "corrupted", "unexpected"].filter((n) => now?.counts?.[n]);
  if (bad.length) at("reasons").append(element("p", { class: "warning" }, bad.map((n) => `${R.count(now.counts[n])} ${n}`).join(", ")));
  enable(at("stop"), s.in_progress);
  enable(at("annotate").querySelector("button"), Boolean(s.shown));
  at("report").hidden = !s.verdict;
  at("stop").hidden = !s.in_progress;
  at("analyze").hidden = s.in_progress || Boolean(s.verdict) || !s.shown;
  enable(at("analyze"), !analyzing);
  executions();
}

function executions() {
  if (page.kind === "monitor") return;
  const rows = at("execution-rows"), text = JSON.stringify([run_state.executions, run_state.shown]);
  if (rows.dataset.text === text) return;
  rows.dataset.text = text;
  rows.replaceChildren(...run_state.executions.map((e) => element("tr", { class: e.execution === run_state.shown ? "current" : null },
    element("th", { scope: "row" }, e.execution), element("td", {}, `${e.label}, repeat ${e.repeat}`), element("td", {}, e.state), element("td", { class: "sub" }, e.extra ? `in place of another: ${e.extra}` : e.reason ?? ""))));
  const select = at("execution"), begun = run_state.executions.filter((e) => e.state !== "waiting"), wanted = select.value;
  if (select.options.length !== begun.length + 1) {
    select.replaceChildren(element("option", { value: "" }, "the current one"), ...begun.map((e) => element("option", { value: e.execution }, `${e.label}, repeat ${e.repeat}`)));
    select.value = wanted;
  }
}

function leave() {
  clearTimeout(again);
  source?.close();
  source = null;
}

function connectAfter(ms) {
  clearTimeout(again);
  again = setTimeout(connect, ms);
}

function connect() {
  leave();
  connectAfter(SILENT_MS);
  const execution = at("execution").value;
  source = new EventSource(`/api/runs/${encodeURIComponent(run)}/live${execution ? `?execution=${encodeURIComponent(execution)}` : ""}`);
  const mine = source;
  source.addEventListener("open", () => { at("connection").textContent = ""; document.documentElement.dataset.connected = "true"; });
  source.addEventListener("error", () => {
    at("connection").textContent = "The server does not answer; trying again.";
    document.documentElement.dataset.connected = "false";
    if (mine === source && mine.readyState === EventSource.CLOSED) connectAfter(2000); // the browser has given up
  });
  const on = (kind, take_it) => source.addEventListener(kind, (message) => { connectAfter(SILENT_MS); take_it(JSON.parse(message.data)); });
  on("beat", () => {});
  on("state", (data) => {
    const ended = run_state && !run_state.verdict && data.verdict;
    if (data.shown !== shown()) whole = false; // the tables are still those of another execution
    run_state = data;
    head();
    if (!data.shown) document.documentElement.dataset.ready = "true"; // else when it is drawn
    soon();
    if (ended && !at("execution").value && location.pathname.startsWith("/runs/")) location.reload(); // the same address is the report now
  });
  on("history", (data) => { reset(); take(data.tables); whole = true; requestAnimationFrame(draw); });
  on("update", (data) => { take(data.tables); soon(); });
  on("now", (data) => { now = data; if (run_state) { head(); if (shown()) tiles(); } soon(); }); // figures at once, charts soon
  on("gone", (data) => { gone = true; leave(); at("connection").textContent = data.error; });
}

at("execution").addEventListener("change", connect);
at("find-metric")?.addEventListener("input", soon);
at("stop").addEventListener("click", async () => {
  if (!confirm("Stop this run? What was measured is kept, and the same command goes on with the rest.")) return;
  try { await ask(`/api/runs/${encodeURIComponent(run)}/stop`, {}); say("Asked it to stop: it saves what it has."); } catch (error) { say(error.message, true); }
});
at("analyze").addEventListener("click", async () => {
  try { await ask(`/api/runs/${encodeURIComponent(run)}/analyze`, {}); analyzing = true; head(); say("The analysis has begun; its verdict appears here."); } catch (error) { say(error.message, true); }
});
at("annotate").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = at("remark").value.trim();
  if (!text) return;
  try { await ask(`/api/runs/${encodeURIComponent(run)}/annotate`, { execution: shown(), text }); at("remark").value = ""; } catch (error) { say(error.message, true); }
});
// A tab in the background costs nothing, and leaves its connection to others: browsers keep six to one server.
let away = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(away);
  if (document.hidden) away = setTimeout(leave, 15000);
  else if (!source && !gone) connect();
  soon();
});
addEventListener("theme", soon);
addEventListener("resize", soon);
connect();

// Starting a run: a workload to begin from, the same check as on the command line, and what became of what was started.
import { ago, ask, element, refreshToken, say, token } from "./common.js";

const at = (id) => document.getElementById(id), text = at("text"), problems = at("problems"), outcome = at("outcome");
let shipped = new Map();

/** A shipped workload without edits is asked for by its name, so that it is the same run as on the command line. */
function asked() {
  const name = at("workload").value, same = shipped.get(name) === text.value, repeats = at("repeats").value;
  return { workload: same ? name : "", text: same ? null : text.value, brokers: at("brokers").value.trim(), repeats: repeats ? Number(repeats) : null, tag: at("tag").value.trim() };
}

function toLine(number) {
  const lines = text.value.split("\n"), from = lines.slice(0, number - 1).reduce((n, l) => n + l.length + 1, 0);
  text.focus();
  text.setSelectionRange(from, from + (lines[number - 1] ?? "").length);
  text.scrollTop = Math.max(0, (number - 6) * (text.scrollHeight / lines.length));
}

function problem(p) {
  const line = p.line ? element("button", { type: "button", class: "line" }, `line ${p.line}`) : element("span", { class: "sub" }, "options ");
  if (p.line) line.addEventListener("click", () => toLine(p.line));
  const got = p.value === null ? "" : ` (got ${p.value})`, near = p.nearest ? `; did you mean ${p.nearest}?` : "";
  return element("li", {}, line, element("b", {}, p.field), `: ${p.message}${got}${near}`);
}

async function send(path) {
  problems.replaceChildren();
  outcome.replaceChildren();
  try {
    return await ask(path, asked());
  } catch (error) {
    if (error.problems.length) problems.replaceChildren(...error.problems.map(problem));
    outcome.replaceChildren(element("p", { class: "warning" }, error.problems.length ? `${error.problems.length} problem${error.problems.length > 1 ? "s" : ""}; nothing was started.` : error.message));
    return null;
  }
}

async function check() {
  const plan = await send("/api/check");
  if (!plan) return;
  const minutes = plan.seconds / 60, time = minutes < 2 ? `${Math.round(plan.seconds)} s` : `${minutes.toFixed(0)} min`;
  outcome.replaceChildren(element("p", {}, `Fine: ${plan.executions} execution${plan.executions > 1 ? "s" : ""} of ${plan.cells.length} cell${plan.cells.length > 1 ? "s" : ""}, about ${time}.`),
    element("ul", { class: "plain-list sub" }, ...plan.cells.slice(0, 12).map((c) => element("li", {}, `${c.label || c.cell} (${c.durability})`)), ...plan.remarks.map((r) => element("li", {}, r))));
}

async function start() {
  const found = await send("/api/start");
  if (!found) return;
  outcome.replaceChildren(element("p", {}, "Started. Its live page opens when it has begun."));
  commands();
  follow(found.id);
}

/** Goes to the run as soon as it exists; says why where it never does. */
async function follow(id) {
  for (;;) {
    let now;
    try { now = await ask(`/api/commands/${id}`); } catch { await new Promise((f) => setTimeout(f, 1000)); continue; }
    if (now.run) { location.href = `/runs/${encodeURIComponent(now.run)}`; return; }
    if (now.state !== "running") {
      outcome.replaceChildren(element("p", { class: "warning" }, `It ended with ${now.exit_code === null ? "no exit code" : `exit code ${now.exit_code}`}.`), element("pre", { class: "output" }, now.output));
      commands();
      return;
    }
    if (now.output) outcome.replaceChildren(element("p", {}, "Started."), element("pre", { class: "output" }, now.output));
    await new Promise((f) => setTimeout(f, 400));
  }
}

function command(c) {
  const word = c.state === "running" ? element("span", { class: "live" }, "running") : c.state === "ended" ? `exit code ${c.exit_code}` : "gone";
  const stop = c.state === "running" ? element("button", { type: "button", "data-needs-token": true }, "Stop") : null;
  stop?.addEventListener("click", async () => { try { await ask(`/api/commands/${c.id}/stop`, {}); } catch (error) { say(error.message, true); } });
  const more = c.output.trim() ? element("details", {}, element("summary", { class: "sub" }, "output"), element("pre", { class: "output" }, c.output)) : null;
  return element("li", {}, element("div", { class: "top" }, element("span", {}, element("b", {}, c.what), " ", element("span", { class: "sub" }, ago(c.started_unix_s))),
    element("span", {}, word, " ", c.run ? element("a", { href: `/runs/${encodeURIComponent(c.run)}` }, "live") : "", " ", stop ?? "")), more);
}

let last = "";
async function commands() {
  try {
    const found = await ask("/api/commands"), now = JSON.stringify(found);
    if (now !== last) {
      last = now;
      const open = document.querySelectorAll("#command-list details[open]").length;
      if (!open) at("command-list").replaceChildren(...(found.length ? found.map(command) : [element("li", { class: "absent" }, "Nothing yet.")]));
      refreshToken();
    }
  } catch { /* the server does not answer; the next time */ }
}

async function begin() {
  const [workloads, brokers] = await Promise.all([ask("/api/workloads"), ask("/api/brokers").catch(() => [])]);
  shipped = new Map(workloads.map((w) => [w.name, w.text]));
  at("workload").replaceChildren(...workloads.map((w) => element("option", { value: w.name }, w.name)));
  at("broker-names").replaceChildren(...["all", ...brokers.map((b) => b.name)].map((n) => element("option", { value: n })));
  const wanted = new URLSearchParams(location.search).get("workload");
  if (shipped.has(wanted)) at("workload").value = wanted; else if (shipped.has("demo")) at("workload").value = "demo";
  text.value = shipped.get(at("workload").value) ?? "";
  await commands();
  document.documentElement.dataset.ready = "true";
  setInterval(commands, 2000);
}

at("workload").addEventListener("change", () => {
  const edited = ![...shipped.values(), ""].includes(text.value);
  if (!edited || confirm("Replace what you have written?")) text.value = shipped.get(at("workload").value);
  problems.replaceChildren();
  outcome.replaceChildren();
});
text.addEventListener("keydown", (event) => { // Ctrl-Enter checks; Tab stays what it is for those who use the keyboard alone
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && token()) check();
});
at("check").addEventListener("click", check);
at("start").addEventListener("click", start);
begin();

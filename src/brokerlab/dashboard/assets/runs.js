// The page of runs: rows that are kept current, filters that the address holds, and runs chosen to be compared.
import { ago, ask, element, say, status } from "./common.js";

const form = document.getElementById("filters"), body = document.getElementById("run-rows"), said = document.getElementById("said");
const compare = document.getElementById("compare"), chosen = new Set();
let runs = [], last = "";

const filters = () => Object.fromEntries(new FormData(form));
const verdictOf = (run) => run.verdict ?? "not analyzed";

function wanted(run) {
  const f = filters(), find = f.find.trim().toLowerCase();
  return (!f.tag || run.tag === f.tag) && (!f.broker || run.brokers.includes(f.broker)) && (!f.verdict || verdictOf(run) === f.verdict)
    && (!find || `${run.run} ${run.question} ${run.tag ?? ""}`.toLowerCase().includes(find));
}

function options(name, values) {
  const select = form.elements[name], now = select.value || new URLSearchParams(location.search).get(name) || "";
  const all = [...new Set([...values, ...(now ? [now] : [])])].sort();
  if ([...select.options].slice(1).map((o) => o.value).join("\n") === all.join("\n")) return;
  select.replaceChildren(element("option", { value: "" }, "any"), ...all.map((v) => element("option", { value: v }, v)));
  select.value = now;
}

/** Messages a second as a line of 120 by 28 pixels; nothing where there is nothing. */
function spark(values) {
  if (values.length < 2) return element("span", { class: "sub" }, "–");
  const top = Math.max(...values, 1), x = (i) => (i * 118) / (values.length - 1) + 1, y = (v) => 26 - (v / top) * 24;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), line = document.createElementNS(svg.namespaceURI, "polyline");
  const area = document.createElementNS(svg.namespaceURI, "polygon"), points = values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(" ");
  for (const [k, v] of Object.entries({ viewBox: "0 0 120 28", width: 120, height: 28, class: "spark", role: "img", "aria-label": `at most ${Math.round(top).toLocaleString("en-US")} messages a second` })) svg.setAttribute(k, v);
  area.setAttribute("points", `1,27 ${points} 119,27`);
  line.setAttribute("points", points);
  svg.append(area, line);
  return svg;
}

const cell = (label, ...children) => element("td", { "data-label": label }, element("span", { class: "value" }, ...children));
const main = (...c) => element("span", { class: "main" }, ...c), sub = (...c) => element("span", { class: "sub" }, ...c);

function row(run) {
  const box = element("input", { type: "checkbox", "aria-label": `compare ${run.run}`, value: run.run });
  box.checked = chosen.has(run.run);
  box.disabled = !run.verdict;
  box.addEventListener("change", () => { if (box.checked) chosen.add(run.run); else chosen.delete(run.run); choose(); });
  const live = run.state === "in progress", link = element("a", { href: `/runs/${encodeURIComponent(run.run)}` }, run.name);
  const done = run.state === "complete" || run.state === "unreadable" ? null : sub(`${run.finished} of ${run.planned} executions`);
  const verdict = run.verdict ? status(run.verdict) : element("span", { class: "sub" }, "not analyzed");
  return element("tr", { "data-run": run.run },
    element("td", { class: "pick" }, box),
    element("th", { scope: "row" }, element("span", { class: "value" }, main(link, run.tag ? element("span", { class: "level" }, run.tag) : null), sub(run.question || run.run))),
    cell("Brokers", main(run.brokers.slice(0, 3).join(", ") + (run.brokers.length > 3 ? ` and ${run.brokers.length - 3} more` : ""))),
    cell("State", main(live ? element("span", { class: "live" }, "live") : run.state), done),
    cell("Verdict", main(verdict), run.violated ? sub("delivery violated") : null),
    cell("Rate over time", main(spark(run.spark))),
    cell("Started", main(run.started_unix_s ? ago(run.started_unix_s) : "–"), run.started_unix_s ? sub(new Date(run.started_unix_s * 1000).toISOString().slice(0, 16).replace("T", " "), " UTC") : null));
}

function choose() {
  compare.disabled = chosen.size < 2;
  compare.textContent = chosen.size < 2 ? "Compare the chosen runs" : `Compare ${chosen.size} runs`;
}

function draw() {
  const shown = runs.filter(wanted), text = JSON.stringify([shown, [...chosen]]);
  if (text === last) return; // what has the focus keeps it
  last = text;
  const focused = document.activeElement?.closest?.("tr")?.dataset.run, kind = document.activeElement?.tagName;
  body.replaceChildren(...shown.map(row));
  if (focused) body.querySelector(`tr[data-run="${CSS.escape(focused)}"] ${kind === "INPUT" ? "input" : "a"}`)?.focus();
  said.textContent = runs.length ? `${shown.length} of ${runs.length} runs` : document.getElementById("runs").dataset.kind === "load" ? "No runs yet. Start one here, or with: brokerlab demo" : "None yet.";
}

async function refresh() {
  try {
    runs = (await ask("/api/runs")).filter((r) => r.kind === document.getElementById("runs").dataset.kind);
    options("tag", runs.map((r) => r.tag).filter(Boolean));
    options("broker", runs.flatMap((r) => r.brokers));
    draw();
  } catch {
    said.textContent = "The server does not answer; trying again.";
    last = "";
  }
  document.documentElement.dataset.ready = "true";
  setTimeout(refresh, document.hidden ? 10000 : 2000);
}

function remember() {
  const kept = new URLSearchParams(Object.entries(filters()).filter(([, v]) => v));
  history.replaceState(null, "", kept.size ? `?${kept}` : location.pathname);
  draw();
}

for (const [name, value] of new URLSearchParams(location.search)) if (form.elements[name] && value) {
  if (form.elements[name].tagName === "SELECT" && ![...form.elements[name].options].some((o) => o.value === value)) form.elements[name].append(element("option", { value }, value));
  form.elements[name].value = value;
}
form.addEventListener("input", remember);
form.addEventListener("submit", (event) => event.preventDefault());
compare.addEventListener("click", () => {
  const names = runs.map((r) => r.run).filter((n) => chosen.has(n)).reverse();
  if (names.length < 2) { say("Choose two runs.", true); return; }
  location.href = `/compare?${new URLSearchParams([["base", names[0]], ...names.slice(1).map((n) => ["with", n])])}`;
});
refresh();

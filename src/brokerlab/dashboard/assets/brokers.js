// Brokers: install, up, down; and what doctor finds on this machine.
import { ask, element, refreshToken, say } from "./common.js";

const rows = document.getElementById("broker-rows"), output = document.getElementById("output"), findings = document.getElementById("findings");
const busy = new Map(); // broker -> what is being done
let last = "";

const cell = (label, ...children) => element("td", { "data-label": label }, element("span", { class: "value" }, ...children));
const main = (...c) => element("span", { class: "main" }, ...c), sub = (...c) => element("span", { class: "sub" }, ...c);

function action(broker, name, text) {
  const button = element("button", { type: "button", "data-needs-token": true, "data-off": String(busy.has(broker.name)), "aria-label": `${text} ${broker.name}` }, text);
  button.addEventListener("click", () => act(broker.name, name));
  return button;
}

function row(b) {
  const here = b.installed ? (b.runs_here ? "yes" : "does not run here") : "no";
  const doing = busy.get(b.name);
  const can = b.up ? action(b, "down", "Down") : b.installed && b.runs_here ? action(b, "up", "Up") : b.nodes.length ? action(b, "install", "Install") : sub("by endpoint only");
  return element("tr", { "data-broker": b.name },
    element("th", { scope: "row" }, element("span", { class: "value" }, main(b.name), sub(b.product))),
    cell("Version", main(b.version || "–")), cell("Nodes", main(b.nodes.join(", ") || "–")), cell("Durability", main(b.levels.join(" "))),
    cell("Installed", main(here), b.installed && b.runs_here ? null : sub(b.reason || "")),
    cell("Up", b.up ? main(element("span", { class: "live" }, b.up.state ?? "up")) : main("–"), b.up ? sub(b.up.addresses.join(", ")) : null),
    element("td", {}, doing ? element("span", { class: "sub" }, `${doing} …`) : can));
}

async function refresh() {
  try {
    const found = await ask("/api/brokers"), now = JSON.stringify([found, [...busy]]);
    if (now !== last) {
      last = now;
      const focused = document.activeElement?.closest?.("tr")?.dataset.broker;
      rows.replaceChildren(...found.map(row));
      refreshToken();
      if (focused) rows.querySelector(`tr[data-broker="${CSS.escape(focused)}"] button`)?.focus();
    }
  } catch (error) { say(error.message, true); }
  document.documentElement.dataset.ready = "true";
}

async function ended(id, show) {
  for (;;) {
    const now = await ask(`/api/commands/${id}`);
    if (show && now.output) { output.hidden = false; output.textContent = now.output; }
    if (now.state !== "running") return now;
    await new Promise((f) => setTimeout(f, 500));
  }
}

async function act(broker, name) {
  busy.set(broker, name === "install" ? "installing" : name === "up" ? "starting" : "stopping");
  refresh();
  try {
    const { id } = await ask(`/api/brokers/${broker}/${name}`, {}), now = await ended(id, true);
    say(now.exit_code === 0 ? `${now.what}: done` : `${now.what}: exit code ${now.exit_code}`, now.exit_code !== 0);
  } catch (error) { say(error.message, true); }
  busy.delete(broker);
  refresh();
}

const KINDS = { fine: "valid", note: "", warning: "cannot-tell", missing: "invalid" };
async function doctor() {
  const button = document.getElementById("doctor-run");
  button.dataset.off = "true";
  refreshToken();
  findings.replaceChildren(element("li", { class: "sub" }, "looking; this takes some seconds …"));
  try {
    const { id } = await ask("/api/doctor", {});
    await ended(id, false);
    const found = (await ask(`/api/doctor/${id}`)).findings;
    findings.replaceChildren(...found.map((f) => element("li", {}, element("span", { class: `status ${KINDS[f.state]}` }, f.state), element("b", {}, f.name), element("span", {}, f.text), f.fix && f.state !== "fine" ? element("code", {}, f.fix) : null)));
  } catch (error) { findings.replaceChildren(element("li", { class: "warning" }, error.message)); }
  button.dataset.off = "false";
  refreshToken();
}

document.getElementById("doctor-run").addEventListener("click", doctor);
refresh();
setInterval(() => { if (!document.hidden) refresh(); }, 4000);

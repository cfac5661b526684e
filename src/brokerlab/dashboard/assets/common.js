// What all pages share: the session's token, requests, elements, the button for colors, short messages.
const KEY = "brokerlab-token";

/** An element with attributes; `true` writes one bare, null and false leave it out. */
export function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) if (v !== null && v !== undefined && v !== false) e.setAttribute(k, v === true ? "" : v);
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

const SYMBOLS = { valid: "✓", invalid: "✕", "cannot tell": "?", met: "✓", missed: "✕" };
/** A word with its symbol, as in the report: color is never the only signal. */
export function status(word, kind = word) {
  const symbol = element("span", { class: "symbol", "aria-hidden": "true" }, SYMBOLS[kind] ?? "");
  return element("span", { class: `status ${kind.replaceAll(" ", "-")}` }, symbol, ` ${word}`);
}

export const ago = (unix_s) => {
  const s = Math.max(0, Date.now() / 1000 - unix_s);
  for (const [size, unit] of [[86400, "day"], [3600, "hour"], [60, "minute"]])
    if (s >= size) { const n = Math.floor(s / size); return `${n} ${unit}${n > 1 ? "s" : ""} ago`; }
  return "just now";
};

export function say(text, bad = false) {
  let host = document.getElementById("toast");
  if (!host) document.body.append((host = element("p", { id: "toast", role: "status" })));
  host.textContent = text;
  host.className = bad ? "bad" : "";
  clearTimeout(host.waiting);
  host.waiting = setTimeout(() => { host.textContent = ""; }, 8000);
}

export const token = () => sessionStorage.getItem(KEY);

/** The answer as JSON. Throws an Error with the server's words; `problems` holds those of a workload. */
export async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json", "x-brokerlab-token": token() ?? "" },
  };
  const answer = await fetch(path, options);
  let said = null;
  try { said = await answer.json(); } catch { /* not JSON: the status says enough */ }
  if (answer.ok) return said;
  if (answer.status === 401) lock();
  throw Object.assign(new Error([said?.error ?? `the server answered ${answer.status}`, said?.hint].filter(Boolean).join(" · ")), { problems: said?.problems ?? [], status: answer.status });
}

function lock() {
  sessionStorage.removeItem(KEY);
  show();
}

/** Buttons that change something work with the token only. */
function show() {
  const has = Boolean(token()), button = document.getElementById("unlock");
  document.documentElement.dataset.unlocked = String(has);
  if (button) {
    button.textContent = has ? "Unlocked" : "Unlock";
    button.title = has ? "This tab may start and stop things. Press to forget the token." : "Reading only. Give the token that brokerlab serve printed to start and stop things.";
  }
  for (const e of document.querySelectorAll("[data-needs-token]")) {
    e.disabled = !has || e.dataset.off === "true";
    if (!has) e.title = "needs the token: press Unlock"; else e.removeAttribute("title");
  }
  dispatchEvent(new CustomEvent("unlocked"));
}
export const refreshToken = show;

/** A button that needs the token may also be off for a reason of its own. */
export function enable(button, on) {
  button.dataset.off = String(!on);
  button.disabled = !on || !token();
}

async function unlock(given) {
  sessionStorage.setItem(KEY, given.trim());
  try {
    await ask("/api/session", {});
    show();
    return true;
  } catch (error) {
    lock();
    say(error.message, true);
    return false;
  }
}

function dialog() {
  const input = element("input", { type: "password", id: "token", autocomplete: "off", required: true });
  const form = element("form", { method: "dialog" }, element("h2", {}, "Unlock this tab"), element("p", { class: "caption" }, "Give the token: it is the part after #token= of the address that brokerlab serve printed."),
    element("label", { for: "token" }, "Token "), input, element("div", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Unlock"), element("button", { type: "button", "data-close": true }, "Cancel")));
  const box = element("dialog", { "aria-label": "Unlock this tab" }, form);
  form.addEventListener("submit", async (event) => { event.preventDefault(); if (await unlock(input.value.replace(/^.*#token=/, ""))) box.close(); });
  box.querySelector("[data-close]").addEventListener("click", () => box.close());
  box.addEventListener("close", () => box.remove());
  document.body.append(box);
  box.showModal();
}

function theme() {
  const button = document.getElementById("theme"), root = document.documentElement, prefers = matchMedia("(prefers-color-scheme: dark)");
  if (!button || [...document.scripts].some((s) => s.src.endsWith("/report.js"))) return; // the report has its own
  const now = () => root.dataset.theme || (prefers.matches ? "dark" : "light");
  const say = () => { button.textContent = now() === "dark" ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${now() === "dark" ? "light" : "dark"} colors`); };
  const changed = () => { say(); dispatchEvent(new CustomEvent("theme")); };
  button.addEventListener("click", () => { root.dataset.theme = now() === "dark" ? "light" : "dark"; changed(); });
  prefers.addEventListener("change", changed);
  say();
}

function start() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname + location.search);
    sessionStorage.setItem(KEY, given);
  }
  document.getElementById("unlock")?.addEventListener("click", () => (token() ? lock() : dialog()));
  theme();
  show();
}
start();

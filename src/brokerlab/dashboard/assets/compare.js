// Choosing what is compared. The answer's address holds the choice, so it can be kept and sent.
import { ask, element } from "./common.js";

const at = (id) => document.getElementById(id), given = new URLSearchParams(location.search);

async function begin() {
  const runs = (await ask("/api/runs")).filter((r) => r.verdict), tags = [...new Set(runs.map((r) => r.tag).filter(Boolean))];
  const options = () => [
    ...(tags.length ? [element("optgroup", { label: "tags" }, ...tags.map((t) => element("option", { value: t }, t)))] : []),
    element("optgroup", { label: "runs" }, ...runs.map((r) => element("option", { value: r.run }, `${r.name} · ${r.brokers.slice(0, 3).join(", ")} · ${r.run.slice(0, 15)}${r.tag ? ` · ${r.tag}` : ""}`))),
  ];
  at("base").replaceChildren(...options());
  at("candidates").replaceChildren(...options());
  at("base").value = given.get("base") ?? runs[1]?.run ?? "";
  const wanted = given.getAll("with").length ? given.getAll("with") : runs.slice(0, 1).map((r) => r.run);
  for (const o of at("candidates").options) o.selected = wanted.includes(o.value);
  at("unlike").checked = given.get("unlike") === "true";
  if (runs.length < 2) at("said").textContent = "Two runs that have been analyzed are needed.";
  document.documentElement.dataset.ready = "true";
}

at("go").addEventListener("click", () => {
  const base = at("base").value, others = [...at("candidates").selectedOptions].map((o) => o.value).filter((v) => v !== base);
  if (!base || !others.length) { at("said").textContent = "Choose a base and another run."; return; }
  location.href = `/compare?${new URLSearchParams([["base", base], ...others.map((o) => ["with", o]), ...(at("unlike").checked ? [["unlike", "true"]] : [])])}`;
});
begin();

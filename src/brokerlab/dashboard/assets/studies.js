// Studies: what each claims and how its claims fare; and judging those whose runs have changed.
import { ask, element, say } from "./common.js";

const list = document.getElementById("study-list"), judge = document.getElementById("judge");
const KINDS = { reproduced: "valid", contradicted: "invalid", "cannot tell": "cannot tell", "not runnable here": "absent-here" };

const waiting = []; // verdicts are asked for one after the other: a large study takes some seconds

function card(study) {
  const scales = Object.entries(study.scales).map(([scale, steps]) => {
    const link = element("a", { href: `/studies/${study.name}?scale=${scale}` }, `${scale}`), said = element("span", { class: "where" }, steps ? `${steps} run${steps > 1 ? "s" : ""}, …` : "not run yet");
    if (steps) waiting.push(() => ask(`/api/studies/${study.name}?scale=${scale}`).then(
      (found) => said.replaceChildren(`${steps} run${steps > 1 ? "s" : ""} · `, ...Object.entries(found.counts).flatMap(([word, n]) => [element("span", { class: `status ${KINDS[word] ?? ""}` }, `${n} ${word}`), " "])),
      (error) => { said.textContent = error.message; }));
    return element("li", {}, element("b", {}, link), " ", said);
  });
  return element("article", {}, element("h3", {}, study.name), element("p", {}, study.title), element("p", { class: "sub" }, study.source), element("ul", { class: "lines" }, ...scales),
    element("details", { class: "more" }, element("summary", {}, `${study.claims.length} claims`), element("ul", { class: "plain-list" }, ...study.claims.map((c) => element("li", {}, element("b", {}, c.claim), ` ${c.says}`)))));
}

async function judged() {
  judge.disabled = true;
  const output = document.getElementById("output");
  try {
    const started = await ask(`/api/studies/${judge.dataset.study}/judge?scale=${judge.dataset.scale}`, {});
    output.hidden = false;
    for (;;) {
      const now = await ask(`/api/commands/${started.id}`);
      output.textContent = now.output || "judging the claims with Spark …";
      if (now.state !== "running") { if (now.exit_code === 0) location.reload(); return; }
      await new Promise((f) => setTimeout(f, 700));
    }
  } catch (error) { say(error.message, true); }
}

if (list) {
  try { list.replaceChildren(...(await ask("/api/studies")).map(card)); } catch (error) { say(error.message, true); }
  document.documentElement.dataset.ready = "true";
  for (const next of waiting) await next();
}
if (judge) { judge.addEventListener("click", judged); document.documentElement.dataset.ready = "true"; }

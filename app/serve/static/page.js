// The page: the question, the choices, and the address bar, which holds both.

import { Column } from "./answer.js";
import { get } from "./api.js";
import { counted, make } from "./dom.js";

const at = (id) => document.getElementById(id);
const form = at("ask");
const results = at("results");
let columns = [];
let shown = false;
let known = { bases: [], programs: [], default: "" };

function announce(text) {
  at("status").textContent = text;
}

/** What the address bar says. */
function asked() {
  const given = new URLSearchParams(location.search);
  return { q: given.get("q") ?? "", base: given.get("base") ?? "", program: given.get("program") ?? "", other: given.get("with") ?? "" };
}

function fill(select, names, chosen) {
  const first = select.id === "other" ? [make("option", { value: "" }, "nothing")] : [];
  select.replaceChildren(...first, ...names.map((name) => make("option", { value: name }, name)));
  select.value = names.includes(chosen) || (chosen === "" && first.length) ? chosen : names[0] ?? "";
}

/** Show the state of the address bar: the welcome, or the answer to its question. */
function show() {
  const { q, base, program, other } = asked();
  columns.forEach((column) => column.stop());
  columns = [];
  // What somebody has typed while the page was loading stays.
  if (q || shown) at("question").value = q;
  shown = true;
  fill(at("base"), known.bases.map((one) => one.name), base || known.bases[0]?.name);
  fill(at("program"), known.programs.map((one) => one.name), program || known.default);
  fill(at("other"), known.programs.map((one) => one.name), other);
  document.title = q ? `${q} · Triplecheck` : "Triplecheck";
  at("welcome").hidden = Boolean(q);
  if (!q) {
    results.replaceChildren();
    welcome();
    return;
  }
  const chosen = at("base").value;
  const programs = [at("program").value, ...(other ? [other] : [])];
  announce("Working on it.");
  columns = programs.map((name) => new Column({ question: q, base: chosen, program: name }, other ? name : "", announce));
  results.className = other ? "two" : "";
  results.replaceChildren(...columns.map((column) => column.element));
  at("go").textContent = "Stop";
  Promise.all(columns.map((column) => column.run())).then(() => { at("go").textContent = "Ask"; });
}

function welcome() {
  const base = known.bases.find((one) => one.name === at("base").value);
  if (!base) return;
  const size = base.triples === null ? "" : `: ${counted(base.entities, "entity").replace("entitys", "entities")}, ${counted(base.relations, "relation")}, ${counted(base.triples, "triple")}`;
  at("about").textContent = `The graph “${base.name}”${size}. Every answer is proved by its triples, or says how sure it is.`;
  at("examples").replaceChildren(...base.examples.map((question) =>
    make("li", {}, make("button", { type: "button", class: "chip", onclick: () => go(question) }, question))));
}

/** Put a question and the choices into the address bar. */
function go(question) {
  const address = new URLSearchParams({ q: question, base: at("base").value, program: at("program").value });
  if (at("other").value) address.set("with", at("other").value);
  const next = `?${address}`;
  if (next === location.search) history.replaceState(null, "", next);
  else history.pushState(null, "", next);
  show();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await loaded;
  if (at("go").textContent === "Stop" && at("question").value.trim() === asked().q) {
    columns.forEach((column) => column.stop());
    announce("Stopped.");
    return;
  }
  const question = at("question").value.trim();
  if (question) go(question);
});
for (const id of ["base", "program", "other"]) {
  at(id).addEventListener("change", () => (asked().q && at("question").value.trim() === asked().q ? go(asked().q) : welcome()));
}
addEventListener("popstate", show);

async function load() {
  const [bases, programs] = await Promise.all([get("bases"), get("programs")]);
  const first = programs.programs.filter((one) => one.cites_graph);
  const last = programs.programs.filter((one) => !one.cites_graph);
  known = { bases: bases.bases, programs: [...first, ...last], default: programs.default };
  show();
}

const loaded = load().catch((error) => {
  results.replaceChildren(make("div", { class: "failed", role: "alert" }, make("strong", {}, "The page cannot load"), make("p", {}, error.message)));
});
at("question").focus();

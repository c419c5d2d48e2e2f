// One column of results: the steps as they happen, the answer, its proof, its picture, and the node in view.

import { ask, get } from "./api.js";
import { counted, folded, make, sentence } from "./dom.js";
import { drawn } from "./picture.js";

const REASONS = {
  no_topic: "No thing of the graph was recognised in the question.",
  no_facts: "The graph says nothing around the topics of the question.",
  not_in_graph: "The best answer was not sure enough to be given.",
  low_confidence: "The best answer was not sure enough to be given.",
  not_grounded: "No triple supports an answer.",
  not_in_facts: "The facts that were found do not answer the question.",
  no_answer: "The facts that were found have no answer.",
  unreadable_reply: "The language model's reply could not be read, twice.",
};
const VERDICTS = {
  proved: "Its triples say what the question asks.",
  supported: "Its triples are in the graph, but may not answer the question.",
  unsupported: "It comes from a language model alone.",
};
const SHOWN = 12;

/** A column that asks one program. `announce` gets what a screen reader should say. */
export class Column {
  constructor(question, title, announce) {
    this.question = question;
    this.heading = title ? "h3" : "h2"; // of a part
    this.announce = announce;
    this.abort = new AbortController();
    this.list = make("ol", { class: "steps" });
    this.summary = make("summary", {}, make("span", { class: "spinner", "aria-hidden": "true" }), "Starting …");
    this.roles = make("ul", { class: "roles", "aria-label": "Cost of each role" });
    this.steps = make("details", { class: "progress" }, this.summary, this.list, this.roles);
    this.body = make("div", { class: "body" });
    this.element = make("article", { class: "column", "aria-busy": "true" },
      title ? make("h2", {}, title) : "", this.body, this.steps);
    this.count = 0;
  }

  async run() {
    try {
      const answer = await ask(this.question, (step) => this.add(step), this.abort.signal);
      this.show(answer);
    } catch (error) {
      if (error.name !== "AbortError") this.fail(error);
    } finally {
      this.element.setAttribute("aria-busy", "false");
    }
  }

  stop() {
    this.abort.abort();
  }

  add(step) {
    this.count += 1;
    this.list.append(make("li", {}, make("span", { class: "kind" }, step.kind), ` ${step.text}`));
    this.summary.lastChild.textContent = `${sentence(step.kind)}: ${step.text}`;
  }

  fail(error) {
    this.summary.replaceChildren(counted(this.count, "step"));
    this.steps.hidden = this.count === 0;
    this.body.replaceChildren(make("div", { class: "failed", role: "alert" },
      make("strong", {}, "That did not work"), make("p", {}, sentence(error.message))));
    this.announce(`Error: ${error.message}`);
  }

  show(answer) {
    const shown = answer.abstained ? answer.nearest : answer.proof;
    const title = answer.abstained ? "Nearest facts" : answer.verdict === "proved" ? "Proof" : "Triples";
    this.node = make("aside", { class: "node", hidden: true, "aria-label": "Node", tabIndex: -1 });
    const open = (id, label) => this.look(answer.base, id, label);
    this.body.replaceChildren(
      answer.abstained ? abstention(answer) : given(answer, open),
      ...(shown.length ? [make(this.heading, { class: "part" }, title), triples(shown, open)] : []),
      ...[drawn(answer.picture, open)].filter(Boolean),
      this.node,
    );
    this.list.replaceChildren(...answer.steps.map(traced));
    this.roles.replaceChildren(...Object.entries(answer.usage.by_role).sort().map(([role, usage]) =>
      make("li", {}, `${role}: ${spent(usage).join(", ")}, ${usage.seconds.toFixed(2)} s in models`)));
    this.summary.replaceChildren(`Trace: ${counted(answer.steps.length, "step")}, ${cost(answer)}`);
    this.announce(answer.abstained ? "No answer: it is not in the graph, as far as the program can tell."
      : `Answer: ${answer.answer}. ${sentence(answer.verdict)}.`);
  }

  async look(base, id, label) {
    const panel = this.node;
    if (!panel.contains(document.activeElement)) this.opener = document.activeElement;
    const close = () => { panel.hidden = true; this.opener?.focus(); };
    panel.onkeydown = (event) => { if (event.key === "Escape") close(); };
    panel.hidden = false;
    panel.replaceChildren(make("p", {}, `Loading ${label} …`));
    try {
      const about = await get("neighbours", { id, base, limit: 8 });
      panel.replaceChildren(...described(about, this.heading, (other, name) => this.look(base, other, name), close));
      panel.setAttribute("aria-label", `Node ${about.label}`);
      panel.focus({ preventScroll: true });
      panel.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    } catch (error) {
      panel.replaceChildren(make("p", { class: "failed", role: "alert" }, sentence(error.message)));
    }
  }
}

function given(answer, open) {
  const links = answer.answers.map((node) => make("button", { type: "button", class: "link", onclick: () => open(node.id, node.label) }, node.label));
  const alone = links.length && answer.answers.map((node) => node.label).join(", ") === answer.answer;
  const text = alone ? links.flatMap((link, at) => (at ? [", ", link] : [link])) : [answer.answer];
  const sure = answer.confidence === null ? "" : make("span", { class: "sure" },
    make("meter", { min: 0, max: 1, value: answer.confidence, "aria-label": "Confidence" }), ` ${Math.round(answer.confidence * 100)} % sure`);
  const scope = answer.query && ["no", "0"].includes(answer.answer) ? [make("small", {}, " in this graph")] : [];
  return make("div", { class: `answer ${answer.verdict}` },
    make("p", { class: "text" }, text, ...scope),
    make("p", { class: "verdict" }, make("span", { class: `badge ${answer.verdict}` }, answer.verdict), sure,
      make("span", { class: "meaning" }, VERDICTS[answer.verdict] ?? "")),
    answer.doubts.length ? make("ul", { class: "doubts" }, answer.doubts.map((doubt) => make("li", {}, sentence(doubt)))) : "",
    computed(answer));
}

function computed(answer) {
  if (!answer.query) return "";
  return make("details", { class: "query" }, make("summary", {}, "Query"), make("code", {}, answer.query),
    make("ul", {}, answer.looked_through.map((line) => make("li", {}, line))));
}

function abstention(answer) {
  return make("div", { class: "answer unknown" },
    make("p", { class: "text" }, "Not in the graph, as far as I can tell"),
    make("p", { class: "verdict" }, make("span", { class: "badge unknown" }, "no answer"),
      make("span", { class: "meaning" }, REASONS[answer.reason] ?? sentence(answer.reason.replaceAll("_", " "))),
      answer.missing ? make("span", { class: "meaning" }, ` The graph says little of “${answer.missing}”.`) : ""),
    computed(answer));
}

function triples(rows, open) {
  const line = (row) => make("li", {},
    make("button", { type: "button", class: "link", onclick: () => open(row.head, row.head_label) }, row.head_label),
    make("span", { class: "relation" }, ` —${row.relation_label}→ `),
    make("button", { type: "button", class: "link", onclick: () => open(row.tail, row.tail_label) }, row.tail_label),
    row.properties.map((one) => make("small", {}, ` (${Object.entries(one).map(([name, value]) => `${name}: ${value}`).join("; ")})`)));
  const list = make("ul", { class: "triples" }, rows.slice(0, SHOWN).map(line));
  if (rows.length <= SHOWN) return list;
  return make("div", {}, list, folded(`${counted(rows.length - SHOWN, "more triple")}`, false, make("ul", { class: "triples" }, rows.slice(SHOWN).map(line))));
}

function traced(step) {
  const detail = JSON.stringify(step.detail, null, 1);
  return make("li", {}, make("details", {},
    make("summary", {}, make("span", { class: "kind" }, step.kind), ` ${step.text}`, make("time", {}, ` ${(step.seconds * 1000).toFixed(0)} ms`)),
    make("pre", { tabIndex: 0, "aria-label": `Details of ${step.kind}` }, detail)));
}

function cost(answer) {
  const models = Object.keys(answer.usage.by_model).join(", ");
  const [calls, ...more] = spent(answer.usage);
  return [`${answer.seconds.toFixed(2)} s`, calls + (models ? ` to ${models}` : ""), ...more].join(", ");
}

/** Calls, tokens and price of language models. */
function spent(usage) {
  const parts = [counted(usage.calls, "call")];
  if (usage.cached_calls) parts.push(`${usage.cached_calls} from the cache`);
  const tokens = usage.prompt_tokens + usage.completion_tokens;
  if (tokens) parts.push(counted(tokens, "token"));
  if (usage.dollars) parts.push(`$${usage.dollars.toFixed(4)}`);
  return parts;
}

function described(about, heading, open, close) {
  const names = (group) => group.nodes.map((node) =>
    make("li", {}, make("button", { type: "button", class: "link", onclick: () => open(node.id, node.label) }, node.label)));
  const groups = about.groups.map((group) => [
    make("dt", {}, group.direction === "out" ? `${group.relation_label} →` : `← ${group.relation_label}`),
    make("dd", {}, make("ul", { class: "inline" }, names(group),
      group.total > group.nodes.length ? make("li", { class: "note" }, `and ${(group.total - group.nodes.length).toLocaleString("en")} more`) : "")),
  ]);
  return [
    make("div", { class: "head" }, make(heading, {}, about.label), make("button", { type: "button", class: "quiet", onclick: close }, "Close")),
    about.types.length ? make("p", { class: "types" }, about.types.join(" · ")) : "",
    about.description ? make("p", {}, about.description) : "",
    make("p", { class: "id" }, make("code", {}, about.id)),
    make("dl", {}, groups.flat()),
    ...about.documents.map((one) => make("blockquote", {}, one.title ? make("strong", {}, one.title) : "", make("p", {}, one.text))),
  ].filter(Boolean);
}

// The picture of an answer: what the program looked at, kept and proved, in three weights.

import cytoscape from "./vendor/cytoscape/cytoscape.min.mjs";
import { counted, folded, make } from "./dom.js";

const WEIGHTS = [
  ["proved", "Proved", "cited as proof"],
  ["kept", "Kept", "fetched, not cited"],
  ["looked_at", "Looked at", "offered, not followed: one example of each relation"],
];
const dark = matchMedia("(prefers-color-scheme: dark)");

/** The picture with its legend and a list for those who cannot see it. `onNode` gets the id and label of a node. */
export function drawn(picture, onNode) {
  if (!picture || !picture.nodes.length) return null;
  const canvas = make("div", { class: "canvas", role: "img", "aria-label": inWords(picture) });
  const graph = { current: null };
  const legend = make("div", { class: "legend", role: "group", "aria-label": "Parts of the picture" },
    WEIGHTS.map(([weight, name, about]) => {
      const count = picture.edges.filter((edge) => edge.weight === weight).length;
      const box = make("input", { type: "checkbox", checked: count > 0, disabled: count === 0,
        onchange: () => show(graph.current, weight, box.checked) });
      return make("label", { class: `key ${weight}`, title: about }, box, make("span", { class: "line" }), `${name} (${count})`);
    }),
    make("span", { class: "zoom" },
      make("button", { type: "button", class: "quiet", "aria-label": "Zoom in", onclick: () => zoom(graph.current, 1.25) }, "+"),
      make("button", { type: "button", class: "quiet", "aria-label": "Zoom out", onclick: () => zoom(graph.current, 0.8) }, "−"),
      make("button", { type: "button", class: "quiet", onclick: () => graph.current?.fit(graph.current.elements(":visible"), 24) }, "Fit")));
  const nodes = [...picture.nodes].sort((a, b) => rank(a) - rank(b));
  const list = folded("Nodes as a list", false, make("ul", { class: "chips" }, nodes.map((node) =>
    make("li", {}, make("button", { type: "button", class: `chip ${node.weight}`, onclick: () => onNode(node.node, node.label) },
      node.label, node.part ? make("small", {}, ` ${node.part}`) : "")))));
  const more = picture.left_out ? make("p", { class: "note" }, `${counted(picture.left_out, "triple")} more were kept and are not drawn.`) : "";
  const figure = make("figure", { class: "picture" }, legend, canvas, more, list);
  // Cytoscape measures its place, so it is drawn when it has one.
  const seen = new ResizeObserver(() => {
    if (!canvas.isConnected || !canvas.clientWidth) return;
    if (!graph.current) {
      graph.current = draw(canvas, picture, onNode);
      // A narrow picture begins with what matters most.
      if (canvas.clientWidth < NARROW) {
        legend.querySelector(".looked_at input").click();
        graph.current.fit(graph.current.elements(":visible"), 16);
      }
    }
    else { graph.current.resize(); graph.current.fit(graph.current.elements(":visible"), 24); }
  });
  seen.observe(canvas);
  const repaint = () => graph.current?.style(style(canvas));
  dark.addEventListener("change", repaint);
  return figure;
}

function rank(node) {
  return WEIGHTS.findIndex(([weight]) => weight === node.weight) * 2 + (node.part ? 0 : 1);
}

function inWords(picture) {
  const names = new Map(picture.nodes.map((node) => [node.id, node.label]));
  const proved = picture.edges.filter((edge) => edge.weight === "proved")
    .map((edge) => `${names.get(edge.source)} ${edge.label} ${names.get(edge.target)}`);
  const rest = `${counted(picture.nodes.length, "node")} and ${counted(picture.edges.length, "triple")} in the picture.`;
  return proved.length ? `${rest} Proved: ${proved.join("; ")}.` : rest;
}

function show(graph, weight, visible) {
  graph?.edges(`.${weight}`).style("display", visible ? "element" : "none");
  graph?.nodes().forEach((node) => {
    const edges = node.connectedEdges();
    const alone = edges.length > 0 && edges.every((edge) => edge.style("display") === "none");
    node.style("display", alone && !node.hasClass("topic") && !node.hasClass("answer") ? "none" : "element");
  });
}

function draw(canvas, picture, onNode) {
  const places = placed(picture, canvas);
  const passes = (edge) => {
    const [from, to] = [places.get(edge.source), places.get(edge.target)];
    return (from.y === to.y && Math.abs(from.x - to.x) > 500) || (from.x === to.x && Math.abs(from.y - to.y) > 200);
  };
  const graph = cytoscape({
    container: canvas,
    elements: [
      ...picture.nodes.map((node) => ({
        data: { id: node.id, label: short(node.label, 40), node: node.node, name: node.label, ...size(short(node.label, 40), node) },
        position: places.get(node.id),
        classes: `${node.weight} ${node.part} ${node.is_value ? "value" : "entity"}`,
      })),
      ...picture.edges.map((edge, at) => ({
        data: { id: `e${at}`, source: edge.source, target: edge.target,
          label: edge.more ? `${edge.label} (1 of ${(edge.more + 1).toLocaleString("en")})` : edge.label },
        classes: `${edge.weight} ${passes(edge) ? "passing" : ""}`,
      })),
    ],
    style: style(canvas),
    layout: { name: "preset", padding: 24, fit: true },
    minZoom: 0.2, maxZoom: 1.6, boxSelectionEnabled: false, autounselectify: true,
    // A wheel scrolls the page, also above the picture; fingers zoom.
    userZoomingEnabled: matchMedia("(pointer: coarse)").matches,
  });
  graph.on("tap", "node", (event) => onNode(event.target.data("node"), event.target.data("name")));
  graph.on("mouseover", "node", () => canvas.classList.add("over"));
  graph.on("mouseout", "node", () => canvas.classList.remove("over"));
  canvas.graph = graph; // for tests
  return graph;
}

const NARROW = 600; // pixels
const FAN = { wide: 142, narrow: 66, y: 66, first: 80 };

/**
 * Places: the proof (or what was kept, if nothing is proved) as columns from the topics on. What belongs to a node that
 * is alone in its column goes above and below it, what belongs to others to their right.
 */
function placed(picture, canvas) {
  const near = new Map(picture.nodes.map((node) => [node.id, []]));
  for (const edge of picture.edges) {
    near.get(edge.source).push([edge.target, edge.weight]);
    near.get(edge.target).push([edge.source, edge.weight]);
  }
  const leads = picture.edges.some((edge) => edge.weight === "proved") ? "proved" : "kept";
  const columns = inColumns(picture, near, leads);
  const own = new Map();
  const others = picture.nodes.map((node) => node.id).filter((id) => !columns.some((column) => column.includes(id)));
  for (const id of others) {
    const friend = near.get(id).map(([other]) => other).find((other) => columns.some((column) => column.includes(other)));
    if (friend) own.set(friend, [...(own.get(friend) ?? []), id]);
  }
  const places = new Map();
  let x = 0;
  for (const column of columns) {
    if (column.length === 1) fan(column[0], own.get(column[0]) ?? [], x, places);
    else stack(column, own, x, places);
    const beside = column.length > 1 && column.some((id) => own.has(id));
    x += beside ? 540 : 400;
  }
  // The rest hangs on what has been placed.
  let rest = others.filter((id) => !places.has(id));
  for (let turn = 0; rest.length && turn < picture.nodes.length; turn += 1) {
    rest = rest.filter((id, at) => {
      const friend = near.get(id).map(([other]) => places.get(other)).find(Boolean);
      if (!friend && turn < picture.nodes.length - 1) return true;
      places.set(id, free(friend ?? { x: 0, y: 0 }, at, places));
      return false;
    });
  }
  // A chain goes down instead of right if there is little room.
  if (canvas.clientWidth < NARROW && columns.every((column) => column.length === 1)) {
    return new Map([...places].map(([id, { x: right, y: down }]) => [id, { x: down * 1.5, y: right * 0.3 }]));
  }
  return stretched(places, canvas.clientHeight / canvas.clientWidth);
}

/** Places with as much room between the rows as the picture has. */
function stretched(places, ratio) {
  const all = [...places.values()];
  const extent = (axis) => Math.max(...all.map((one) => one[axis])) - Math.min(...all.map((one) => one[axis])) + 100;
  const factor = Math.min(Math.max((extent("x") * ratio) / extent("y"), 1), 2);
  return new Map([...places].map(([id, { x, y }]) => [id, { x, y: y * factor }]));
}

/** The nodes of the proof by their distance from where it begins: the topics, or an answer that no topic leads to. */
function inColumns(picture, near, leads) {
  const seen = new Set();
  const columns = [];
  const strong = picture.nodes.filter((node) => node.part || node.weight === "proved");
  const topics = strong.filter((node) => node.part === "topic");
  let ahead = (topics.length ? topics : strong.slice(0, 1).length ? strong.slice(0, 1) : picture.nodes.slice(0, 1)).map((node) => node.id);
  while (ahead.length) {
    for (let at = 0; ahead.length; at += 1) {
      columns[at] = [...(columns[at] ?? []), ...ahead];
      ahead.forEach((id) => seen.add(id));
      const next = ahead.flatMap((id) => near.get(id).filter(([other, weight]) => weight === leads && !seen.has(other)).map(([other]) => other));
      ahead = [...new Set(next)];
    }
    const unseen = strong.filter((node) => !seen.has(node.id));
    ahead = unseen.sort((a, b) => (b.part ? 1 : 0) - (a.part ? 1 : 0)).slice(0, 1).map((node) => node.id);
  }
  return columns;
}

/** A node in the middle, its own above and below, in rows of two. */
function fan(id, ids, x, places) {
  places.set(id, { x, y: 0 });
  const above = Math.ceil(ids.length / 2);
  ids.forEach((other, at) => {
    const side = at < above ? -1 : 1;
    const place = at < above ? at : at - above;
    const row = Math.floor(place / 2);
    const away = row % 2 ? FAN.narrow : FAN.wide;
    places.set(other, { x: x + (place % 2 ? away : -away), y: side * (FAN.first + row * FAN.y) });
  });
}

/** Nodes among each other, the own of each to its right. */
function stack(column, own, x, places) {
  const heights = column.map((id) => Math.max(84, 50 * (own.get(id)?.length ?? 0) + 24));
  let y = -heights.reduce((sum, height) => sum + height, 0) / 2;
  column.forEach((id, at) => {
    const centre = y + heights[at] / 2;
    places.set(id, { x, y: centre });
    const ids = own.get(id) ?? [];
    ids.forEach((other, row) => places.set(other, { x: x + 250, y: centre + (row - (ids.length - 1) / 2) * 50 }));
    y += heights[at];
  });
}

/** The first place near another one that nothing takes. */
function free(friend, at, places) {
  for (let ring = 1; ring < 8; ring += 1) {
    for (let turn = 0; turn < 8; turn += 1) {
      const angle = ((turn + at) / 8) * 2 * Math.PI;
      const place = { x: friend.x + 150 * ring * Math.cos(angle), y: friend.y + 70 * ring * Math.sin(angle) };
      if ([...places.values()].every((other) => Math.abs(other.x - place.x) > 120 || Math.abs(other.y - place.y) > 42)) return place;
    }
  }
  return { x: friend.x + 60, y: friend.y + 60 };
}

function zoom(graph, factor) {
  graph?.zoom({ level: graph.zoom() * factor, renderedPosition: { x: graph.width() / 2, y: graph.height() / 2 } });
}

const pen = document.createElement("canvas").getContext("2d");

/** Width and height of a node, in pixels: those of its label, in lines of at most 132 pixels. */
function size(label, node) {
  pen.font = `${node.part || node.weight === "proved" ? 600 : 400} 12px system-ui, sans-serif`;
  const lines = [0];
  for (const word of label.split(" ")) {
    const width = pen.measureText(`${word} `).width;
    if (lines.at(-1) + width > 136 && lines.at(-1) > 0) lines.push(width);
    else lines[lines.length - 1] += width;
  }
  return { width: Math.max(...lines) + 16, height: lines.length * 15 + 14 };
}

function short(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function style(canvas) {
  const colours = getComputedStyle(canvas);
  const colour = (name) => colours.getPropertyValue(`--${name}`).trim();
  return [
    { selector: "node", style: {
      label: "data(label)", shape: "round-rectangle", width: "data(width)", height: "data(height)",
      "text-valign": "center", "text-halign": "center", "text-wrap": "wrap", "text-max-width": "132px",
      "font-family": "system-ui, sans-serif", "font-size": 12, color: colour("ink"),
      "background-color": colour("paper"), "border-width": 1, "border-color": colour("line") } },
    { selector: "node.value", style: { shape: "rectangle", "font-size": 11, "font-style": "italic" } },
    { selector: "node.looked_at", style: { color: colour("soft"), "border-style": "dashed" } },
    { selector: "node.kept", style: { "border-width": 1.5, "border-color": colour("kept") } },
    { selector: "node.proved", style: { "border-width": 2.5, "border-color": colour("proved"), "font-weight": 600 } },
    { selector: "node.topic", style: { "background-color": colour("tint"), "font-weight": 600 } },
    { selector: "node.answer", style: { "background-color": colour("proved"), "border-color": colour("proved"), color: colour("on"), "font-weight": 700 } },
    { selector: "edge", style: {
      label: "data(label)", "font-family": "system-ui, sans-serif", "font-size": 10, color: colour("soft"),
      "text-background-color": colour("canvas"), "text-background-opacity": 0.9, "text-background-padding": "2px",
      "text-wrap": "wrap", "text-max-width": "100px",
      "curve-style": "bezier", "target-arrow-shape": "triangle", "arrow-scale": 0.8, width: 1,
      "line-color": colour("line"), "target-arrow-color": colour("line") } },
    { selector: "edge.passing", style: { "curve-style": "unbundled-bezier", "control-point-distances": -90, "control-point-weights": 0.5 } },
    { selector: "edge.looked_at", style: { "line-style": "dashed", "min-zoomed-font-size": 7 } },
    { selector: "edge.kept", style: { width: 2.5, "line-color": colour("kept"), "target-arrow-color": colour("kept") } },
    { selector: "edge.proved", style: { width: 5, "line-color": colour("proved"), "target-arrow-color": colour("proved"), color: colour("ink"), "font-weight": 600, "font-size": 11, "z-index": 9 } },
  ];
}

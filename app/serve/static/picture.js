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
      make("button", { type: "button", class: "quiet", onclick: () => graph.current && fit(graph.current) }, "Fit")));
  const nodes = [...picture.nodes].sort((a, b) => rank(a) - rank(b));
  const read = (node, shown) => graph.current?.getElementById(node.id).connectedEdges().toggleClass("read", shown);
  const list = folded("Nodes as a list", false, make("ul", { class: "chips" }, nodes.map((node) =>
    make("li", {}, make("button", { type: "button", class: `chip ${node.weight}`, onclick: () => onNode(node.node, node.label),
      onfocus: () => read(node, true), onblur: () => read(node, false) },
      node.label, node.part ? make("small", {}, ` ${node.part}`) : "")))));
  const hint = make("p", { class: "note", hidden: true }, "Some labels have no room: point at a line or a node to read them.");
  const more = picture.left_out ? make("p", { class: "note" }, `${counted(picture.left_out, "triple")} more were kept and are not drawn.`) : "";
  const figure = make("figure", { class: "picture" }, legend, canvas, hint, more, list);
  // Cytoscape measures its place, so it is drawn when it has one.
  const seen = new ResizeObserver(() => {
    if (!canvas.isConnected || !canvas.clientWidth) return;
    if (!graph.current) {
      graph.current = draw(canvas, picture, onNode);
      graph.current.on("labelled", () => { hint.hidden = graph.current.edges(".crowded:visible").empty(); });
      label(graph.current);
      // A narrow picture begins with what matters most.
      if (canvas.clientWidth < NARROW) legend.querySelector(".looked_at input").click();
    } else graph.current.resize();
    fit(graph.current);
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
  if (!graph) return;
  graph.edges(`.${weight}`).style("display", visible ? "element" : "none");
  graph.nodes().forEach((node) => {
    const edges = node.connectedEdges();
    const alone = edges.length > 0 && edges.every((edge) => edge.style("display") === "none");
    node.style("display", alone && !node.hasClass("topic") && !node.hasClass("answer") ? "none" : "element");
  });
  label(graph);
}

/** Everything in view; a narrow picture is as large as text, with what matters most in the middle. */
function fit(graph) {
  const narrow = graph.width() < NARROW;
  graph.fit(graph.elements(":visible"), narrow ? 12 : 24);
  const level = Math.min(Math.max(graph.zoom(), READABLE), LARGEST);
  if (!narrow || level === graph.zoom()) return;
  graph.zoom(level);
  graph.center(level === LARGEST ? graph.elements(":visible") : graph.nodes(".topic, .answer, .proved"));
}

const ALONG = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74]; // of an edge, from its source

/** Moves each label along its edge to where it covers no node and no label; one without such a place is `crowded`. */
function label(graph) {
  graph.edges().removeClass("crowded").data({ dx: 0, dy: 0 });
  const taken = graph.nodes(":visible").map((node) => node.boundingBox({ includeLabels: false, includeOverlays: false }));
  for (const [weight] of WEIGHTS) {
    graph.edges(`.${weight}:visible`).forEach((edge) => {
      const box = edge.boundingBox({ includeNodes: false, includeEdges: false, includeOverlays: false });
      const [x, y] = [(box.x1 + box.x2) / 2, (box.y1 + box.y2) / 2];
      const moved = ALONG.map((share) => along(edge, share))
        .map((at) => ({ dx: at.x - x, dy: at.y - y }))
        .map(({ dx, dy }) => ({ dx, dy, x1: box.x1 + dx, x2: box.x2 + dx, y1: box.y1 + dy, y2: box.y2 + dy }))
        .find((one) => !taken.some((other) => one.x1 < other.x2 && other.x1 < one.x2 && one.y1 < other.y2 && other.y1 < one.y2));
      if (!moved) { edge.addClass("crowded"); return; }
      edge.data({ dx: moved.dx, dy: moved.dy });
      taken.push(moved);
    });
  }
  graph.emit("labelled");
}

/** The point at a share of an edge: a line, or a quadratic Bézier curve. */
function along(edge, share) {
  const [from, to] = [edge.sourceEndpoint(), edge.targetEndpoint()];
  const [bend] = edge.controlPoints() ?? [];
  const at = (a, b, middle) => (middle === undefined ? a + (b - a) * share
    : (1 - share) ** 2 * a + 2 * share * (1 - share) * middle + share ** 2 * b);
  return { x: at(from.x, to.x, bend?.x), y: at(from.y, to.y, bend?.y) };
}

function draw(canvas, picture, onNode) {
  const boxes = new Map(picture.nodes.map((node) => [node.id, size(short(node.label, 40), node)]));
  const places = placed(picture, canvas, boxes);
  const graph = cytoscape({
    container: canvas,
    elements: [
      ...picture.nodes.map((node) => ({
        data: { id: node.id, label: short(node.label, 40), node: node.node, name: node.label, ...boxes.get(node.id) },
        position: places.get(node.id),
        classes: `${node.weight} ${node.part} ${node.is_value ? "value" : "entity"}`,
      })),
      ...picture.edges.map((edge, at) => ({
        data: { id: `e${at}`, source: edge.source, target: edge.target, bend: bent(edge, places, boxes), dx: 0, dy: 0,
          label: edge.more ? `${edge.label} (1 of ${(edge.more + 1).toLocaleString("en")})` : edge.label },
        classes: `${edge.weight} ${bent(edge, places, boxes) ? "passing" : ""}`,
      })),
    ],
    style: style(canvas),
    layout: { name: "preset" },
    minZoom: 0.2, maxZoom: 1.6, boxSelectionEnabled: false, autounselectify: true,
    // A wheel scrolls the page, also above the picture; fingers zoom.
    userZoomingEnabled: matchMedia("(pointer: coarse)").matches,
  });
  graph.on("tap", "node", (event) => onNode(event.target.data("node"), event.target.data("name")));
  graph.on("mouseover", "node", () => canvas.classList.add("over"));
  graph.on("mouseout", "node", () => canvas.classList.remove("over"));
  const edges = (event) => (event.target.isNode() ? event.target.connectedEdges() : event.target);
  graph.on("mouseover tapstart", "node, edge", (event) => edges(event).addClass("read"));
  graph.on("mouseout", "node, edge", (event) => edges(event).removeClass("read"));
  graph.on("tapstart", (event) => { if (event.target === graph) graph.edges().removeClass("read"); });
  canvas.graph = graph; // for tests
  return graph;
}

const NARROW = 600; // pixels
const READABLE = 0.85; // the least zoom of a narrow picture
const LARGEST = 1.15;
const TALLEST = 480; // pixels of a narrow picture
const ROW = 60;
const FAN = { wide: 142, narrow: 66, y: 66, first: 80 };

/** How far an edge bends because a node lies between its ends, in pixels; 0 if none does. */
function bent(edge, places, boxes) {
  const [from, to] = [places.get(edge.source), places.get(edge.target)];
  const between = (axis, other) => from[axis] === to[axis] && [...places.values()].some((one) =>
    one[axis] === from[axis] && (one[other] - from[other]) * (one[other] - to[other]) < 0);
  if (between("y", "x")) return from.x < to.x ? -90 : 90;
  if (!between("x", "y")) return 0;
  const widest = Math.max(...[...boxes].filter(([id]) => places.get(id).x === from.x).map(([, box]) => box.width));
  return (widest + 70) * (from.y < to.y ? 1 : -1);
}

/**
 * Places: the proof (or what was kept, if nothing is proved) as columns from the topics on. What belongs to a node that
 * is alone in its column goes above and below it, what belongs to others to their right.
 */
function placed(picture, canvas, boxes) {
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
  const narrow = canvas.clientWidth < NARROW;
  const places = narrow ? compact(picture, columns, own, boxes, canvas) : new Map();
  let x = 0;
  columns.forEach((column, at) => {
    if (narrow) return;
    if (column.length === 1) fan(column[0], own.get(column[0]) ?? [], x, places);
    else stack(column, own, x, places);
    const crowd = (ids) => ids?.some((id) => own.has(id));
    x += !crowd(column) ? 400 : column.length > 1 ? 540 : crowd(columns[at + 1]) ? 470 : 400;
  });
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
  return narrow ? places : stretched(places, canvas.clientHeight / canvas.clientWidth);
}

/** Places without what was only looked at: columns to the right if there is room, or rows down. */
function compact(picture, columns, own, boxes, canvas) {
  const kept = new Set(picture.nodes.filter((node) => node.weight === "kept").map((node) => node.id));
  const all = columns.map((column, at) => [...column,
    ...(columns[at - 1] ?? []).flatMap((id) => own.get(id) ?? []).filter((id) => kept.has(id))]);
  const last = columns.at(-1).flatMap((id) => own.get(id) ?? []).filter((id) => kept.has(id));
  if (last.length) all.push(last);
  const [right, down] = [lined(all, boxes, "width", "height", 96), lined(all, boxes, "height", "width", 74)];
  const level = (one) => Math.min((canvas.clientWidth - 24) / one.long, (TALLEST - 24) / one.broad);
  const [across, below] = [right, { ...down, long: down.broad, broad: down.long }];
  const best = level(across) >= Math.min(level(below), READABLE) ? across : below;
  canvas.style.height = `${Math.min(Math.max(best.broad * Math.min(level(best), LARGEST) + 40, 220), TALLEST)}px`;
  return new Map(best.places.map(([id, far, aside]) => [id, best === across ? { x: far, y: aside } : { x: aside, y: far }]));
}

/** Lines of nodes one behind another, and how long and broad they are together; `gap` is between two lines. */
function lined(lines, boxes, along, beside, gap) {
  const places = [];
  const apart = beside === "height" ? 56 : 20;
  let far = 0;
  let broad = 0;
  for (const line of lines) {
    const depth = Math.max(...line.map((id) => boxes.get(id)[along]));
    const total = line.reduce((sum, id) => sum + boxes.get(id)[beside] + apart, -apart);
    // In rows the first node of each is in one line: the proof.
    let aside = beside === "height" ? -total / 2 : -boxes.get(line[0])[beside] / 2;
    for (const id of line) {
      places.push([id, far + depth / 2, aside + boxes.get(id)[beside] / 2]);
      aside += boxes.get(id)[beside] + apart;
    }
    far += depth + gap;
    broad = Math.max(broad, total);
  }
  return { places, long: far - gap, broad };
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
  const heights = column.map((id) => Math.max(84, ROW * (own.get(id)?.length ?? 0) + 24));
  let y = -heights.reduce((sum, height) => sum + height, 0) / 2;
  column.forEach((id, at) => {
    const centre = y + heights[at] / 2;
    places.set(id, { x, y: centre });
    const ids = own.get(id) ?? [];
    ids.forEach((other, row) => places.set(other, { x: x + 250, y: centre + (row - (ids.length - 1) / 2) * ROW }));
    y += heights[at];
  });
}

/** The first place near another one that nothing takes. */
function free(friend, at, places) {
  for (let ring = 1; ring < 8; ring += 1) {
    for (let turn = 0; turn < 8; turn += 1) {
      const angle = ((turn + at) / 8) * 2 * Math.PI;
      const place = { x: friend.x + 150 * ring * Math.cos(angle), y: friend.y + 70 * ring * Math.sin(angle) };
      if ([...places.values()].every((other) => Math.abs(other.x - place.x) > 150 || Math.abs(other.y - place.y) > 42)) return place;
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
      label: "data(label)", "font-family": "system-ui, sans-serif", "font-size": 11, color: colour("soft"),
      "text-background-color": colour("canvas"), "text-background-opacity": 0.9, "text-background-padding": "2px",
      "text-wrap": "wrap", "text-max-width": canvas.clientWidth < NARROW ? "88px" : "104px", "text-margin-x": "data(dx)", "text-margin-y": "data(dy)",
      "curve-style": "bezier", "target-arrow-shape": "triangle", "arrow-scale": 0.8, width: 1,
      "line-color": colour("line"), "target-arrow-color": colour("line") } },
    { selector: "edge.passing", style: { "curve-style": "unbundled-bezier", "control-point-distances": "data(bend)", "control-point-weights": 0.5 } },
    { selector: "edge.looked_at", style: { "line-style": "dashed" } },
    { selector: "edge.kept", style: { width: 2.5, "line-color": colour("kept"), "target-arrow-color": colour("kept") } },
    { selector: "edge.proved", style: { width: 5, "line-color": colour("proved"), "target-arrow-color": colour("proved"), color: colour("ink"), "font-weight": 600, "font-size": 12, "z-index": 9 } },
    { selector: "edge.crowded", style: { label: "" } },
    { selector: "edge.read", style: { label: "data(label)", color: colour("ink"), "text-background-opacity": 1, "z-index": 10 } },
  ];
}

// Makes elements without markup in strings: whatever a graph or a model wrote stays text.

/** An element. `about` has its properties; `class`, `data` and names with a hyphen are attributes. */
export function make(name, about = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(about)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && !key.includes("-")) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

/** A block that can be folded. */
export function folded(title, open, ...children) {
  return make("details", { open }, make("summary", {}, title), ...children);
}

/** The first letter in upper case. */
export function sentence(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** "1 triple", "2 triples". */
export function counted(number, name) {
  return `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
}

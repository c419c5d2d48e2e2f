// Requests to the server that sent this page.

const KEY = "triplecheck-key";

export class Failed extends Error {
  constructor(type, message) {
    super(message);
    this.type = type;
  }
}

async function send(path, options = {}) {
  const headers = { ...options.headers };
  const key = sessionStorage.getItem(KEY);
  if (key) headers.authorization = `Bearer ${key}`;
  let reply;
  try {
    reply = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failed("unreachable", "The server cannot be reached. Is it still running?");
  }
  if (reply.status === 401) {
    // The key may have come while this request was under way.
    if (key === sessionStorage.getItem(KEY)) await askForKey();
    return send(path, options);
  }
  if (!reply.ok) {
    const body = await reply.json().catch(() => null);
    throw new Failed(body?.error?.type ?? "http", body?.error?.message ?? `The server replied with ${reply.status}.`);
  }
  return reply;
}

let door = null;

/** Ask for the key; requests that need one wait for the same dialog. */
function askForKey() {
  door ??= new Promise((resolve) => {
    const dialog = document.getElementById("door");
    const field = document.getElementById("key");
    field.value = "";
    dialog.addEventListener("close", () => {
      if (field.value) sessionStorage.setItem(KEY, field.value.trim());
      door = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return door;
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return (await send(`v1/${path}?${query}`)).json();
}

/** Ask a question. `onStep` gets each step as it happens; returns the answer. */
export async function ask(question, onStep, signal) {
  const reply = await send("v1/ask", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...question, stream: true, picture: true }),
    signal,
  });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Failed("cut", "The connection was lost before the answer. Ask again.");
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const found = /^event: (\w+)\ndata: (.*)$/s.exec(part);
      if (!found) continue;
      const data = JSON.parse(found[2]);
      if (found[1] === "step") onStep(data);
      if (found[1] === "answer") return data;
      if (found[1] === "error") throw new Failed(data.error.type, data.error.message);
    }
  }
}

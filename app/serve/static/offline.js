// Stands in for api.js in a file: the answer is in the file, and there is no server.

const answer = JSON.parse(document.getElementById("answer").textContent);

export async function ask() {
  return answer;
}

/** What the picture shows of a node, as the server describes the neighbours of one. */
export async function get(_, { id }) {
  const nodes = new Map(answer.picture.nodes.map((node) => [node.id, node]));
  const about = answer.picture.nodes.find((node) => node.node === id);
  const groups = new Map();
  for (const edge of answer.picture.edges) {
    for (const [direction, here, there] of [["out", edge.source, edge.target], ["in", edge.target, edge.source]]) {
      if (here !== about?.id) continue;
      const key = `${direction} ${edge.relation}`;
      const group = groups.get(key) ?? { direction, relation_label: edge.label, nodes: [], total: 0 };
      const other = nodes.get(there);
      group.nodes.push({ id: other.node, label: other.label });
      group.total += 1;
      groups.set(key, group);
    }
  }
  return { id, label: about?.label ?? id, types: [], description: "", groups: [...groups.values()], documents: [] };
}

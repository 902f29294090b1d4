// Lays out one piece of a graph, away from the page's own thread. `dagre` stands above in this text.
// What hangs together is laid out together; such parts are then set side by side, in rows.

const WIDEST = 1900;
const gapOf = (edges) => (edges.length ? 44 : 14);

function layOutPart(job, members, edges) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", ranker: "tight-tree", nodesep: 18, edgesep: 10, ranksep: 34 });
  for (const v of members) graph.setNode(String(v), { width: job.widths[v], height: job.heights[v] });
  for (const e of edges) graph.setEdge(String(job.edges[e][0]), String(job.edges[e][1]), {});
  dagre.layout(graph);
  return graph;
}

// The parts of the graph, in the order of their first nodes.
function parts(job) {
  const parent = job.widths.map((_, v) => v);
  const top = (v) => {
    while (parent[v] !== v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (const [from, to] of job.edges) parent[top(from)] = top(to);
  const found = new Map();
  const of = (v) => {
    const at = top(v);
    if (!found.has(at)) found.set(at, { members: [], edges: [] });
    return found.get(at);
  };
  job.widths.forEach((_, v) => of(v).members.push(v));
  job.edges.forEach(([from], e) => of(from).edges.push(e));
  return [...found.values()];
}

function layOut(job) {
  const answer = { id: job.id, x: [], y: [], points: [], width: 0, height: 0 };
  let [left, top, tallest] = [0, 0, 0];
  for (const { members, edges } of parts(job)) {
    const graph = layOutPart(job, members, edges);
    const { width, height } = graph.graph();
    if (left > 0 && left + width > WIDEST) {
      [left, top, tallest] = [0, top + tallest + gapOf(edges), 0];
    }
    for (const v of members) {
      const node = graph.node(String(v));
      answer.x[v] = left + node.x - node.width / 2;
      answer.y[v] = top + node.y - node.height / 2;
    }
    for (const e of edges) {
      const edge = graph.edge(String(job.edges[e][0]), String(job.edges[e][1]));
      answer.points[e] = edge.points.flatMap((point) => [left + point.x, top + point.y]);
    }
    answer.width = Math.max(answer.width, left + width);
    left += width + gapOf(edges);
    tallest = Math.max(tallest, height);
    answer.height = Math.max(answer.height, top + tallest);
  }
  return answer;
}

onmessage = ({ data: job }) => {
  try {
    postMessage(layOut(job));
  } catch (error) {
    postMessage({ id: job.id, error: String(error) });
  }
};

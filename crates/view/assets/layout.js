// Where nodes stand. A graph is cut, in the order of the program, into segments of a hundred nodes or
// two, which stand one below the other; so the work grows with the number of nodes only, the segment
// in view can come first, and everything is drawn in plain rows until its turn has come.

// Nodes of a segment.
const [LEAST, MOST] = [60, 130];
// Edges to nodes so much later in another segment are drawn only for what is selected or under the
// pointer, and so are those of nodes with so many edges.
const FAR = 90;
const MANY = 28;
const GAP = { x: 18, y: 34 };

const pool = (() => {
  const source = document.getElementById("worker").textContent;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const count = Math.max(2, Math.min(4, (navigator.hardwareConcurrency || 2) - 1));
  const waiting = [];
  const running = new Map();
  // Answers by question: steps of a series share most of their segments.
  const answers = new Map();
  const MOST_ANSWERS = 2000;
  let next = 0;
  const begin = () => {
    const worker = new Worker(url);
    worker.onmessage = ({ data: answer }) => {
      const job = running.get(answer.id);
      running.delete(answer.id);
      worker.idle = true;
      if (!answer.error) answers.set(job.key, answer);
      if (answers.size > MOST_ANSWERS) answers.delete(answers.keys().next().value);
      feed();
      if (!job.isDropped()) job.done(answer);
    };
    worker.idle = true;
    return worker;
  };
  let workers = [];
  try {
    workers = Array.from({ length: count }, begin);
  } catch (error) {
    // Where a browser allows no workers, graphs stay in plain rows.
    console.warn("no workers, no layout:", error);
  }
  function feed() {
    for (const worker of workers) {
      if (!worker.idle) continue;
      let best = -1;
      for (let i = waiting.length - 1; i >= 0; i--) {
        if (waiting[i].isDropped()) {
          waiting.splice(i, 1);
          if (best > i) best -= 1;
        } else if (best < 0 || waiting[i].distance() < waiting[best].distance()) best = i;
      }
      if (best < 0) return;
      const job = waiting.splice(best, 1)[0];
      const id = next++;
      running.set(id, job);
      worker.idle = false;
      worker.postMessage({ id, ...job.message });
    }
  }
  return {
    // `distance` tells how urgent a job is now: less is more.
    run(job) {
      job.key = JSON.stringify(job.message);
      const known = workers.length ? answers.get(job.key) : { error: "no workers" };
      if (known) {
        job.done(known);
        return;
      }
      waiting.push(job);
      feed();
    },
    get pending() {
      return waiting.length + running.size;
    },
  };
})();

// Opcodes that stand best beside what uses them, as do inputs and scalars.
const LIGHT = /^(parameter|constant|iota|broadcast|reshape|bitcast|convert|get-tuple-element|copy|slice|transpose|partition-id|replica-id|after-all)$/;

// The order in which nodes are read: that of the program, but what is light comes where it is used.
// `nodes` have `inputs` (indices, smaller ones first in order), `isLight`, `w` and `h`.
function reading(nodes) {
  const order = [];
  const isDone = new Uint8Array(nodes.length);
  const isMovable = new Uint8Array(nodes.length);
  const used = new Uint8Array(nodes.length);
  nodes.forEach((node, v) => {
    isMovable[v] = node.inputs.every((u) => isMovable[u]) && (node.isLight || !node.inputs.length) ? 1 : 0;
    for (const u of node.inputs) used[u] = 1;
  });
  const emit = (start) => {
    const stack = [start];
    while (stack.length) {
      const v = stack.at(-1);
      const first = isDone[v] ? undefined : nodes[v].inputs.find((u) => !isDone[u]);
      if (first === undefined) {
        stack.pop();
        if (!isDone[v]) order.push(v);
        isDone[v] = 1;
      } else stack.push(first);
    }
  };
  nodes.forEach((_, v) => {
    if (!isMovable[v] || !used[v]) emit(v);
  });
  return order;
}

// Cuts the order into segments where the fewest edges cross, and gives each its plain rows.
function segments(nodes) {
  const order = reading(nodes);
  order.forEach((v, at) => {
    nodes[v].at = at;
  });
  const last = order.map((_, at) => at);
  for (const node of nodes) for (const u of node.inputs) last[nodes[u].at] = Math.max(last[nodes[u].at], node.at);
  // How many values are used after each place.
  const crossing = new Int32Array(order.length + 1);
  last.forEach((end, at) => {
    crossing[at] += 1;
    crossing[end] -= 1;
  });
  for (let at = 1; at < order.length; at++) crossing[at] += crossing[at - 1];
  const found = [];
  let from = 0;
  while (from < order.length) {
    let to = order.length;
    if (to - from > MOST) {
      to = from + LEAST;
      for (let at = to; at < from + MOST; at++) if (crossing[at - 1] <= crossing[to - 1]) to = at;
    }
    const segment = { members: order.slice(from, to), y: 0, width: 0, height: 0 };
    for (const v of segment.members) nodes[v].segment = found.length;
    plainRows(nodes, segment, found.length);
    found.push(segment);
    from = to;
  }
  return found;
}

// Rows by distance from the segment's beginning.
function plainRows(nodes, segment, index) {
  const WIDEST = 12;
  const rows = [];
  for (const v of segment.members) {
    nodes[v].row = 0;
    for (const u of nodes[v].inputs) {
      if (nodes[u].segment === index) nodes[v].row = Math.max(nodes[v].row, nodes[u].row + 1);
    }
    (rows[nodes[v].row] ??= []).push(v);
  }
  let y = 0;
  let width = 0;
  for (const row of rows) {
    for (let from = 0; from < row.length; from += WIDEST) {
      const part = row.slice(from, from + WIDEST);
      const total = part.reduce((sum, v) => sum + nodes[v].w + GAP.x, -GAP.x);
      let x = -total / 2;
      for (const v of part) {
        nodes[v].x = x;
        nodes[v].y = y;
        x += nodes[v].w + GAP.x;
      }
      width = Math.max(width, total);
      y += Math.max(...part.map((v) => nodes[v].h)) + GAP.y;
    }
  }
  segment.width = width;
  segment.height = y - GAP.y;
}

// Sets segments below each other; nodes keep places relative to their segment.
function stack(graph) {
  let y = 0;
  for (const segment of graph.segments) {
    segment.y = y;
    y += segment.height + GAP.y;
  }
  graph.width = Math.max(0, ...graph.segments.map((segment) => segment.width));
  graph.height = Math.max(0, y - GAP.y);
}

// Inputs that only one node uses stand beside it, so that what flows through the program stays in
// straight lines.
function besides(graph, inside) {
  const { nodes } = graph;
  // Edges that are drawn.
  const near = { inputs: new Int32Array(nodes.length), users: new Int32Array(nodes.length) };
  for (const edge of graph.edges) {
    if (edge.far) continue;
    near.inputs[edge.to] += 1;
    near.users[edge.from] += 1;
  }
  const HIGHEST = 4;
  const gap = 14;
  const isBeside = new Uint8Array(nodes.length);
  const left = new Map();
  const right = new Map();
  for (const edge of inside.flat()) {
    const [from, to] = [nodes[edge.from], nodes[edge.to]];
    if (near.inputs[edge.from] || near.users[edge.from] !== 1 || from.children || to.children || from.isRoot) continue;
    if (!left.has(edge.to)) left.set(edge.to, []);
    if (!right.has(edge.to)) right.set(edge.to, []);
    const [shorter, longer] = [right, left].map((side) => side.get(edge.to)).sort((a, b) => a.length - b.length);
    const column = longer.length > shorter.length ? shorter : left.get(edge.to);
    if (column.length >= HIGHEST) continue;
    column.push(edge);
    isBeside[edge.from] = 1;
  }
  const columnOf = (edges) => ({
    w: Math.max(0, ...edges.map((edge) => nodes[edge.from].w + gap)),
    h: edges.reduce((sum, edge) => sum + nodes[edge.from].h + 6, -6),
  });
  return {
    isBeside,
    // The room of a node with what stands beside it; the node is in its middle.
    box(v) {
      const columns = [left, right].map((side) => columnOf(side.get(v) ?? []));
      const w = Math.max(columns[0].w, columns[1].w);
      return { w: nodes[v].w + 2 * w, h: Math.max(nodes[v].h, columns[0].h, columns[1].h), columns };
    },
    place(v, box, x, y) {
      const node = nodes[v];
      node.x = x + (box.w - node.w) / 2;
      node.y = y + (box.h - node.h) / 2;
      [left, right].forEach((side, s) => {
        let top = y + (box.h - box.columns[s].h) / 2;
        for (const edge of side.get(v) ?? []) {
          const input = nodes[edge.from];
          input.x = s === 0 ? node.x - gap - input.w : node.x + node.w + gap;
          input.y = top;
          top += input.h + 6;
          edge.side = s === 0 ? -1 : 1;
        }
      });
    },
    // Edges end at nodes, not at the room around them.
    attach(edge) {
      const [from, to] = [nodes[edge.from], nodes[edge.to]];
      const hasSides = (v) => left.get(v)?.length > 0;
      if (hasSides(edge.from)) edge.points.splice(0, 2, from.x + from.w / 2, from.y + from.h);
      if (hasSides(edge.to)) edge.points.splice(-2, 2, to.x + to.w / 2, to.y);
    },
  };
}

// Makes the graph of nodes, in plain rows at first, and asks workers for better places.
// `watch.isDropped()` tells that nobody waits any more, `watch.distance(segment)` what is urgent,
// `watch.changed(change)` applies a change of places. Resolves when all is laid out.
function layOut(nodes, watch) {
  const graph = { nodes, edges: [], edgesOf: [], segments: segments(nodes), width: 0, height: 0 };
  stack(graph);
  graph.edgesOf = graph.segments.map(() => []);
  const inside = graph.segments.map(() => []);
  const users = new Int32Array(nodes.length);
  for (const node of nodes) for (const from of new Set(node.inputs)) users[from] += 1;
  nodes.forEach((node, to) => {
    const inputs = new Set(node.inputs);
    for (const from of inputs) {
      const isSame = nodes[from].segment === node.segment;
      const far = users[from] > MANY || inputs.size > MANY || (!isSame && node.at - nodes[from].at > FAR);
      const edge = { from, to, far, points: null };
      graph.edges.push(edge);
      if (far) {
        node.hasFar = true;
        continue;
      }
      graph.edgesOf[node.segment].push(edge);
      if (isSame) inside[node.segment].push(edge);
      // An edge between segments stands in both lists.
      else graph.edgesOf[nodes[from].segment].push(edge);
    }
  });
  const sides = besides(graph, inside);
  const all = graph.segments.map((segment, index) => {
    if (segment.members.length === 1) return Promise.resolve();
    const members = segment.members.filter((v) => !sides.isBeside[v]);
    const local = new Map(members.map((v, i) => [v, i]));
    const edges = inside[index].filter((edge) => !sides.isBeside[edge.from]);
    const boxes = members.map((v) => sides.box(v));
    return new Promise((resolve) => {
      pool.run({
        message: {
          widths: boxes.map((box) => box.w),
          heights: boxes.map((box) => box.h),
          edges: edges.map((edge) => [local.get(edge.from), local.get(edge.to)]),
        },
        isDropped: watch.isDropped,
        distance: () => watch.distance(segment),
        done(answer) {
          if (!answer.error) {
            watch.changed(() => {
              const half = answer.width / 2;
              members.forEach((v, i) => sides.place(v, boxes[i], answer.x[i] - half, answer.y[i]));
              edges.forEach((edge, i) => {
                edge.points = answer.points[i].map((value, at) => (at % 2 ? value : value - half));
                sides.attach(edge);
              });
              Object.assign(segment, { width: answer.width, height: answer.height });
              stack(graph);
            });
          }
          resolve();
        },
      });
    });
  });
  return { graph, finished: Promise.all(all) };
}

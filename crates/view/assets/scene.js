// What is drawn: the graph of a computation and, inside of its nodes, those of what was expanded.

const CHARACTER = 6.62;
const LINE = 15;
const PADDING = 8;
const HEADER = 26;
const WIDEST = 250;
// Larger ones open on their own rather than inside of a node.
const MOST_INSIDE = 2500;

// The shapes in a tuple's shape.
function elementsOf(shape) {
  const found = [];
  let depth = 0;
  let from = 1;
  const text = shape.replace(/\/\*index=\d+\*\//g, "");
  for (let i = 0; i < text.length; i++) {
    if ("([{".includes(text[i])) depth += 1;
    else if (")]}".includes(text[i])) depth -= 1;
    const isEnd = depth === 0 && i === text.length - 1;
    if (isEnd || (depth === 1 && text[i] === ",")) {
      const element = text.slice(from, i).trim();
      if (element) found.push(element);
      from = i + 1;
    }
  }
  return found;
}

const short = (shape) => {
  if (shape.startsWith("(")) {
    const count = elementsOf(shape).length;
    return shape === "()" ? "()" : `(${count} ${count === 1 ? "element" : "elements"})`;
  }
  return shape.replace(/\{[^}]*\}$/, "");
};

// Scalars that stand better in the node that uses them: constants and broadcasts of such.
function inlineValue(home, place) {
  const record = home.records[place];
  if (place === home.raw.root) return null;
  if (opcodeOf(record) === "constant") {
    return /^\w+\[\](\{\})?$/.test(shapeOf(record)) ? valueOf(record) : null;
  }
  if (opcodeOf(record) === "broadcast") {
    const operand = home.places.get(operandsOf(record)[0]);
    return operand === undefined || operand >= place ? null : inlineValue(home, operand);
  }
  return null;
}

// One more fact about some opcodes, for the second line.
function detailOf(record) {
  const attributes = attributesOf(record);
  const get = (pattern) => attributes.match(pattern)?.[1];
  switch (opcodeOf(record)) {
    case "fusion":
      return get(/kind=k(\w+)/)?.toLowerCase();
    case "custom-call":
      return get(/custom_call_target="([^"]*)"/);
    case "compare":
      return get(/direction=(\w+)/);
    case "get-tuple-element":
      return get(/index=(\d+)/);
    case "parameter":
      return valueOf(record);
    default:
      return undefined;
  }
}

const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function linesOf(home, place) {
  const record = home.records[place];
  const [name, opcode] = [nameOf(record), opcodeOf(record)];
  const detail = detailOf(record);
  const what = [];
  if (!name.startsWith(opcode) || detail) what.push(detail ? `${opcode} ${detail}` : opcode);
  what.push(short(shapeOf(record)));
  const lines = [name, what.join(" · ")];
  if (opcode === "constant") lines.push(valueOf(record));
  const inlined = [];
  operandsOf(record).forEach((operand, index) => {
    const at = home.places.get(operand);
    const value = at === undefined ? null : inlineValue(home, at);
    if (value !== null) inlined.push(`operand ${index} = ${value}`);
  });
  if (inlined.length > 3) inlined.splice(2, inlined.length, `… ${inlined.length - 2} more constants`);
  const most = Math.floor((WIDEST - 2 * PADDING) / CHARACTER);
  return [...lines, ...inlined].map((line) => clip(line, most));
}

// Nodes of a computation, without those that stand inside of others.
function nodesOf(home, path) {
  const indexOf = new Map();
  const nodes = [];
  home.records.forEach((record, place) => {
    if (inlineValue(home, place) !== null && home.users[place].length) return;
    const calls = callsOf(record).length > 0;
    const lines = linesOf(home, place);
    const longest = Math.max(...lines.map((line) => line.length)) * CHARACTER;
    const node = {
      key: `${path}/${nameOf(record)}`,
      name: nameOf(record),
      opcode: opcodeOf(record),
      record,
      place,
      home,
      lines,
      calls,
      isLight: LIGHT.test(opcodeOf(record)) || /^\w+\[\]/.test(shapeOf(record)),
      isRoot: place === home.raw.root,
      w: Math.max(56, longest + 2 * PADDING + (calls ? 20 : 0)),
      h: lines.length * LINE + 2 * PADDING - 3,
      x: 0,
      y: 0,
      inputs: [],
      children: null,
    };
    const before = table.after[record].map((name) => strings[name]);
    for (const name of [...operandsOf(record), ...before]) {
      const input = indexOf.get(name);
      if (input !== undefined) node.inputs.push(input);
    }
    indexOf.set(node.name, nodes.length);
    nodes.push(node);
  });
  return { nodes, indexOf };
}

const callNames = { while: ["condition", "body"], conditional: [] };

// The graph of a computation with what is expanded in it. Resolves when it can be drawn; its
// `finished` resolves when nothing moves any more.
async function makeUnit(at, home, path, expanded, watch) {
  const { nodes, indexOf } = nodesOf(home, path);
  for (const node of nodes) {
    if (!expanded.has(node.key) || !node.calls) continue;
    const inner = { ...watch, changed: (change) => change(), distance: () => -1 };
    const called = callsOf(node.record).map((name) => find(at, name)).filter(Boolean);
    const units = await Promise.all(
      called.map((callee) => makeUnit(at, callee, `${node.key}>${callee.name}`, expanded, inner)),
    );
    await Promise.all(units.map((unit) => unit.finished));
    if (!units.length) continue;
    enclose(node, units);
  }
  const { graph, finished } = layOut(nodes, watch);
  return { home, path, graph, finished, indexOf, caption: home.name };
}

// Makes a node as large as the graphs in it, side by side.
function enclose(node, units) {
  let x = PADDING * 2;
  let tallest = 0;
  node.children = units.map((unit, index) => {
    const roles = callNames[node.opcode] ?? [];
    unit.caption = roles[index] ? `${roles[index]}: ${unit.home.name}` : unit.home.name;
    const width = Math.max(unit.graph.width, unit.caption.length * CHARACTER);
    const child = { unit, x: x + width / 2, y: HEADER + LINE + 2 * PADDING };
    x += width + PADDING * 3;
    tallest = Math.max(tallest, unit.graph.height);
    return child;
  });
  node.w = Math.max(x - PADDING, node.w + 40);
  node.h = tallest + HEADER + LINE + 4 * PADDING;
}

// Calls `visit(node, x, y, unit)` for nodes, outer ones first, with the place of their corner.
function eachNode(unit, ox, oy, visit) {
  for (const segment of unit.graph.segments) {
    for (const v of segment.members) {
      const node = unit.graph.nodes[v];
      const [x, y] = [ox + node.x, oy + segment.y + node.y];
      visit(node, x, y, unit);
      for (const child of node.children ?? []) eachNode(child.unit, x + child.x, y + child.y, visit);
    }
  }
}

// The place of the node with this key, or of the innermost one around it that is shown.
function placeOf(root, key) {
  let best = null;
  eachNode(root, 0, 0, (node, x, y, unit) => {
    if (key === node.key || key.startsWith(`${node.key}>`)) best = { node, x, y, unit };
  });
  return best;
}

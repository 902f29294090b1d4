// Draws the scene. Only what is in view is drawn, and with less detail from afar.

const theme = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  for (const name of ["surface", "canvas", "ink", "muted", "line", "edge", "accent", "operand", "user",
    "added", "removed", "changed", "hit"]) theme[name] = get(name);
  theme.family = {};
  for (const family of [...families.map(([name]) => name), "elementwise"]) {
    theme.family[family] = get(`family-${family}`);
  }
  theme.heat = [0, 1, 2, 3, 4].map((i) => parse(get(`heat-${i}`)));
  theme.tints = new Map();
}

const parse = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
const rgb = (c) => `rgb(${c.map(Math.round).join(" ")})`;
const mix = (a, b, t) => a.map((value, i) => value + (b[i] - value) * t);
// A family's colour thinned with the surface's.
function tint(colour, share) {
  const key = `${colour}${share}`;
  if (!theme.tints.has(key)) theme.tints.set(key, rgb(mix(parse(theme.surface), parse(colour), share)));
  return theme.tints.get(key);
}
// 0 is cold, 1 is hot.
function heat(t) {
  const at = Math.min(Math.max(t, 0), 1) * (theme.heat.length - 1);
  const i = Math.min(Math.floor(at), theme.heat.length - 2);
  return mix(theme.heat[i], theme.heat[i + 1], at - i);
}
const isDark = ([r, g, b]) => 0.3 * r + 0.59 * g + 0.11 * b < 140;

const canvas = document.getElementById("canvas");
const pen = canvas.getContext("2d");
// Until a person has moved it, the view goes with the layout.
const view = { x: 0, y: 0, k: 1, isMoved: false };
// Everything the drawing depends on but the scene: see `state.js`.
const look = { root: null, at: null, colour: "opcode", most: 1, selected: null, hover: null, hits: new Set(), change: null };

let isAsked = false;
function redraw() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    draw();
  });
}

function resize() {
  const ratio = devicePixelRatio || 1;
  const box = canvas.parentElement.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  canvas.style.width = `${box.width}px`;
  canvas.style.height = `${box.height}px`;
  redraw();
}

// What is in view, in the scene's units.
function inView() {
  const ratio = devicePixelRatio || 1;
  const [w, h] = [canvas.width / ratio, canvas.height / ratio];
  return { left: -view.x / view.k, top: -view.y / view.k, right: (w - view.x) / view.k, bottom: (h - view.y) / view.k };
}

function draw() {
  const ratio = devicePixelRatio || 1;
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.fillStyle = theme.canvas;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  if (!look.root) return;
  pen.setTransform(ratio * view.k, 0, 0, ratio * view.k, ratio * view.x, ratio * view.y);
  pen.textBaseline = "top";
  const box = inView();
  drawUnit(look.root, 0, 0, box);
  drawLinks(look.root, 0, 0, box);
  drawOverview(box);
}

function isOut(x, y, w, h, box) {
  return x > box.right || x + w < box.left || y > box.bottom || y + h < box.top;
}

function drawUnit(unit, ox, oy, box) {
  const { graph } = unit;
  const shown = graph.segments.map((segment) =>
    !isOut(ox - segment.width / 2 - 300, oy + segment.y, segment.width + 600, segment.height, box));
  if (view.k > 0.07) {
    pen.strokeStyle = theme.edge;
    pen.lineWidth = Math.max(1, 0.6 / view.k);
    pen.beginPath();
    graph.segments.forEach((segment, s) => {
      if (!shown[s]) return;
      for (const edge of graph.edgesOf[s]) traceEdge(graph, edge, ox, oy);
    });
    pen.stroke();
  }
  graph.segments.forEach((segment, s) => {
    if (!shown[s]) return;
    for (const v of segment.members) {
      const node = graph.nodes[v];
      const [x, y] = [ox + node.x, oy + segment.y + node.y];
      if (isOut(x, y, node.w, node.h, box)) continue;
      drawNode(node, x, y);
      for (const child of node.children ?? []) {
        if (view.k > 0.2) {
          pen.fillStyle = theme.muted;
          pen.font = "11px ui-monospace, monospace";
          const caption = child.unit.caption;
          pen.fillText(caption, x + child.x - (caption.length * CHARACTER) / 2, y + HEADER + 4);
        }
        drawUnit(child.unit, x + child.x, y + child.y, box);
      }
    }
  });
}

// Adds an edge to the path: along the points that the layout gave, or as one curve.
function traceEdge(graph, edge, ox, oy) {
  const [from, to] = [graph.nodes[edge.from], graph.nodes[edge.to]];
  const base = oy + graph.segments[to.segment].y;
  if (edge.points && edge.points.length >= 4) {
    const p = edge.points;
    pen.moveTo(ox + p[0], base + p[1]);
    for (let i = 2; i + 3 < p.length; i += 2) {
      pen.quadraticCurveTo(ox + p[i], base + p[i + 1], ox + (p[i] + p[i + 2]) / 2, base + (p[i + 1] + p[i + 3]) / 2);
    }
    pen.lineTo(ox + p.at(-2), base + p.at(-1));
    return;
  }
  if (edge.side) {
    const x = edge.side < 0 ? to.x : to.x + to.w;
    const y = base + Math.min(Math.max(from.y + from.h / 2, to.y + 6), to.y + to.h - 6);
    const start = edge.side < 0 ? from.x + from.w : from.x;
    pen.moveTo(ox + start, base + from.y + from.h / 2);
    pen.lineTo(ox + x, y);
    return;
  }
  const x1 = ox + from.x + from.w / 2;
  const y1 = oy + graph.segments[from.segment].y + from.y + from.h;
  const x2 = ox + to.x + to.w / 2;
  const y2 = base + to.y;
  const bend = Math.min(60, Math.abs(y2 - y1) / 2 + 8);
  pen.moveTo(x1, y1);
  pen.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
}

// The colours of a node: fill, border and text.
function paint(node) {
  const colour = theme.family[familyOf(node.opcode)];
  if (look.colour === "opcode") {
    return { fill: tint(colour, 0.22), border: tint(colour, 0.75), ink: theme.ink, far: colour };
  }
  const value = totalOf(look.colour, look.at, node.home, node.place);
  if (!(value > 0)) return { fill: theme.surface, border: theme.line, ink: theme.muted, far: theme.line };
  // Four powers of ten from cold to hot.
  const fill = heat(1 + Math.log10(value / look.most) / 4);
  return { fill: rgb(fill), border: theme.line, ink: isDark(fill) ? "#ffffff" : "#1b1f24", far: rgb(fill) };
}

function changeOf(node) {
  const change = look.change?.get(node.home.name);
  if (!change) return null;
  return ["added", "removed", "changed"].find((kind) => change[kind].has(node.name)) ?? null;
}

function drawNode(node, x, y) {
  const colours = paint(node);
  const change = changeOf(node);
  const isSelected = look.selected === node.key;
  const isHit = look.hits.has(node.name);
  if (view.k < 0.22 && !node.children) {
    pen.fillStyle = change ? theme[change] : isHit ? theme.hit : colours.far;
    pen.fillRect(x, y, node.w, node.h);
    if (isSelected) ring(x, y, node, theme.accent, 3 / view.k);
    return;
  }
  pen.beginPath();
  pen.roundRect(x, y, node.w, node.h, 5);
  pen.fillStyle = node.children ? tint(theme.family[familyOf(node.opcode)], 0.07) : change ? tint(theme[change], 0.3) : colours.fill;
  pen.fill();
  pen.strokeStyle = change ? theme[change] : colours.border;
  pen.lineWidth = change ? 2.2 : node.isRoot ? 2 : 1;
  if (node.children) pen.setLineDash([6, 4]);
  pen.stroke();
  pen.setLineDash([]);
  if (isHit) ring(x, y, node, theme.hit, 3);
  if (look.hover === node.key && !isSelected) ring(x, y, node, theme.muted, 1.5);
  if (isSelected) ring(x, y, node, theme.accent, Math.max(3, 2 / view.k));
  if (view.k < 0.22) return;
  node.lines.forEach((line, index) => {
    if (node.children && index > 0) return;
    const isChanged = change && look.colour !== "opcode";
    pen.font = index === 0 ? "600 11px ui-monospace, monospace" : "11px ui-monospace, monospace";
    pen.fillStyle = isChanged ? theme.ink : index === 0 ? colours.ink : look.colour === "opcode" ? theme.muted : colours.ink;
    pen.fillText(line, x + PADDING, y + PADDING - 1 + index * LINE);
  });
  if (node.children) {
    pen.fillStyle = theme.muted;
    pen.fillText(node.lines[1] ?? "", x + PADDING + (node.lines[0].length + 2) * CHARACTER, y + PADDING - 1);
  }
  if (node.calls) drawToggle(node, x, y);
  if (node.isRoot) {
    pen.font = "600 9px ui-monospace, monospace";
    pen.fillStyle = theme.muted;
    pen.fillText("ROOT", x + node.w - 26, y + node.h + 2);
  }
  // Operands from afar have no line of their own: three dots say so.
  if (node.hasFar) {
    pen.fillStyle = theme.edge;
    for (const dx of [-5, 0, 5]) pen.fillRect(x + node.w / 2 + dx - 1, y - 6, 2, 2);
  }
}

function ring(x, y, node, colour, width) {
  pen.beginPath();
  pen.roundRect(x - width / 2, y - width / 2, node.w + width, node.h + width, 6);
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
}

const toggleBox = (node, x, y) => ({ x: x + node.w - 20, y: y + 6, size: 14 });
function drawToggle(node, x, y) {
  const box = toggleBox(node, x, y);
  pen.fillStyle = theme.surface;
  pen.strokeStyle = theme.muted;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.roundRect(box.x, box.y, box.size, box.size, 3);
  pen.fill();
  pen.stroke();
  pen.fillStyle = theme.ink;
  pen.fillRect(box.x + 3.5, box.y + 6.25, 7, 1.5);
  if (!node.children) pen.fillRect(box.x + 6.25, box.y + 3.5, 1.5, 7);
}

// Edges of the selected and the pointed-at node, over everything, the far ones too.
function drawLinks(unit, ox, oy, box) {
  const { graph } = unit;
  for (const key of [look.hover, look.selected]) {
    if (!key) continue;
    for (const edge of graph.edges) {
      const isUser = graph.nodes[edge.from].key === key;
      if (!isUser && graph.nodes[edge.to].key !== key) continue;
      pen.strokeStyle = isUser ? theme.user : theme.operand;
      pen.lineWidth = Math.max(2, 1.2 / view.k);
      pen.setLineDash(edge.far ? [8, 5] : []);
      pen.beginPath();
      traceEdge(graph, edge, ox, oy);
      pen.stroke();
      pen.setLineDash([]);
    }
  }
  for (const segment of graph.segments) {
    if (isOut(ox - segment.width / 2, oy + segment.y, segment.width, segment.height, box)) continue;
    for (const v of segment.members) {
      const node = graph.nodes[v];
      for (const child of node.children ?? []) {
        drawLinks(child.unit, ox + node.x + child.x, oy + segment.y + node.y + child.y, box);
      }
    }
  }
}

// The whole graph as a strip beside it: what is selected, found, changed or dear, and what is in view.
const overview = document.getElementById("overview");
const overviewPen = overview.getContext("2d");
let overviewImage = null;
function staleOverview() {
  overviewImage = null;
  redraw();
}

function overviewScale() {
  const height = overview.parentElement.getBoundingClientRect().height;
  return { height, scale: height / Math.max(1, look.root.graph.height) };
}

function drawOverview(box) {
  const { height, scale } = overviewScale();
  const width = 26;
  if (!overviewImage || overview.height !== Math.round(height)) {
    overview.width = width;
    overview.height = Math.round(height);
    overviewPen.fillStyle = theme.canvas;
    overviewPen.fillRect(0, 0, width, height);
    const marks = [];
    eachNode(look.root, 0, 0, (node, x, y) => {
      const [top, size] = [y * scale, Math.max(1, node.h * scale)];
      const change = changeOf(node);
      if (look.hits.has(node.name)) marks.push([theme.hit, 14, top, size]);
      if (change) marks.push([theme[change], 14, top, size]);
      if (node.children) return;
      overviewPen.fillStyle = paint(node).far;
      overviewPen.globalAlpha = look.colour === "opcode" ? 0.6 : 1;
      overviewPen.fillRect(2, top, 10, size);
      overviewPen.globalAlpha = 1;
    });
    for (const [colour, x, top, size] of marks) {
      overviewPen.fillStyle = colour;
      overviewPen.fillRect(x, top, 10, Math.max(2, size));
    }
    overviewImage = overviewPen.getImageData(0, 0, width, Math.max(1, Math.round(height)));
  }
  overviewPen.putImageData(overviewImage, 0, 0);
  overviewPen.strokeStyle = theme.ink;
  overviewPen.lineWidth = 1;
  const top = Math.max(0.5, box.top * scale);
  const bottom = Math.min(height - 1, box.bottom * scale);
  overviewPen.strokeRect(0.5, top, width - 1, Math.max(4, bottom - top));
}

// The innermost node under a point of the window, and whether its toggle is.
function hit(clientX, clientY) {
  if (!look.root) return null;
  const box = canvas.getBoundingClientRect();
  const [px, py] = [(clientX - box.left - view.x) / view.k, (clientY - box.top - view.y) / view.k];
  let best = null;
  const search = (unit, ox, oy) => {
    for (const segment of unit.graph.segments) {
      if (py < oy + segment.y - 2 || py > oy + segment.y + segment.height + 2) continue;
      for (const v of segment.members) {
        const node = unit.graph.nodes[v];
        const [x, y] = [ox + node.x, oy + segment.y + node.y];
        if (px < x || px > x + node.w || py < y || py > y + node.h) continue;
        const toggle = toggleBox(node, x, y);
        const isToggle = node.calls && px >= toggle.x - 3 && py <= toggle.y + toggle.size + 3 && py >= toggle.y - 3;
        best = { node, unit, isToggle };
        for (const child of node.children ?? []) search(child.unit, x + child.x, y + child.y);
      }
    }
  };
  search(look.root, 0, 0);
  return best;
}

// The graph of the computation at hand: built, fitted, moved.
// What stands in the middle of the window, to stand there again after a change.
function anchor() {
  if (!look.root) return null;
  const box = inView();
  const [cx, cy] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  let best = null;
  let least = Infinity;
  const selected = look.selected && placeOf(look.root, look.selected);
  if (selected && !isOut(selected.x, selected.y, selected.node.w, selected.node.h, box)) best = selected;
  else {
    eachNode(look.root, 0, 0, (node, x, y) => {
      const distance = Math.abs(x + node.w / 2 - cx) + Math.abs(y + node.h / 2 - cy);
      if (distance < least) [least, best] = [distance, { node, x, y }];
    });
  }
  return best && { key: best.node.key, sx: best.x * view.k + view.x, sy: best.y * view.k + view.y };
}

function holdAnchor(held) {
  const place = held && placeOf(look.root, held.key);
  if (!place || place.node.key !== held.key) return false;
  view.x = held.sx - place.x * view.k;
  view.y = held.sy - place.y * view.k;
  return true;
}

// Builds and shows the graph again, holding on to what is in the middle if `keep`.
async function rebuild({ keep }) {
  const mine = ++generation;
  const at = drawn();
  const home = root();
  const held = keep ? anchor() : null;
  by("status").textContent = "laying out…";
  const watch = {
    isDropped: () => mine !== generation,
    distance: (segment) => {
      const box = inView();
      const middle = (box.top + box.bottom) / 2;
      return Math.abs(segment.y + segment.height / 2 - middle);
    },
    changed(change) {
      const isShown = look.root?.generation === mine;
      const held = isShown && view.isMoved ? anchor() : null;
      change();
      if (held) holdAnchor(held);
      else if (isShown && !view.isMoved) fit();
      staleOverview();
    },
  };
  const unit = await makeUnit(at, home, home.name, state.expanded, watch);
  if (mine !== generation) return;
  unit.generation = mine;
  look.root = unit;
  look.at = at;
  look.change = changesToShow();
  measureMost();
  if (!view.isMoved || !holdAnchor(held)) {
    if (state.selected) reveal(state.selected.key, { near: false });
    else fit();
  }
  staleOverview();
  unit.finished.then(() => {
    if (mine !== generation) return;
    by("status").textContent = "";
    staleOverview();
  });
}

// Before a step one sees what it will remove and change; after it what it has added and changed.
function changesToShow() {
  const { changes, names } = now();
  if (!changes.length) return null;
  const none = new Set();
  const shown = new Map();
  for (const change of changes) {
    if (!state.isBefore) {
      if (change.kind !== "removed") shown.set(change.computation, { ...change, removed: none });
    } else if (change.kind !== "added") {
      const name = change.kind === "removed" ? change.computation : names.computations.was(change.computation);
      const changed = new Set([...change.changed].map(names.instructions.was));
      shown.set(name, { ...change, added: none, changed });
    }
  }
  return shown;
}

function measureMost() {
  look.most = 0;
  if (look.colour === "opcode" || !look.root) return;
  eachNode(look.root, 0, 0, (node) => {
    look.most = Math.max(look.most, totalOf(look.colour, look.at, node.home, node.place));
  });
}

function paneSize() {
  const box = canvas.parentElement.getBoundingClientRect();
  return { w: box.width - 28, h: box.height };
}

// All of it if that can be read, else where the first value is computed: models have pages of parameters.
function fit() {
  if (!look.root) return;
  const { w, h } = paneSize();
  const { width, height } = look.root.graph;
  const whole = Math.min((w - 40) / Math.max(1, width), (h - 110) / Math.max(1, height), 1.2);
  view.k = Math.max(whole, Math.min(0.8, Math.max(0.5, (w - 40) / Math.max(1, width))));
  view.x = w / 2;
  const first = look.root.graph.nodes.find((node) => familyOf(node.opcode) !== "input");
  const top = first ? placeOf(look.root, first.key).y : 0;
  view.y = height * view.k < h - 100 ? (h - 40 - height * view.k) / 2 : Math.min(30, h / 3 - top * view.k);
  view.isMoved = false;
  redraw();
}

// All of it, or as much around the middle as can still be told apart.
function fitAll() {
  if (!look.root) return;
  const { w, h } = paneSize();
  const LEAST = 0.1;
  const { width, height } = look.root.graph;
  const whole = Math.min((w - 20) / Math.max(1, width), (h - 40) / Math.max(1, height), 1.2);
  const middle = (h / 2 - view.y) / view.k;
  view.k = Math.max(whole, LEAST);
  view.x = w / 2;
  view.isMoved = true;
  view.y = whole < LEAST ? Math.min(20, h / 2 - Math.min(middle, height) * view.k) : (h - height * view.k) / 2;
  redraw();
}

// Brings a node to the middle.
function reveal(key, { near }) {
  const place = look.root && placeOf(look.root, key);
  if (!place) return;
  const { w, h } = paneSize();
  view.isMoved = true;
  if (near || view.k < 0.3) view.k = Math.max(view.k, 0.85);
  view.x = w / 2 - (place.x + Math.min(place.node.w, w / view.k) / 2) * view.k;
  view.y = h / 2 - (place.y + Math.min(place.node.h, h / view.k) / 2) * view.k;
  redraw();
}

function move(dx, dy) {
  view.x += dx;
  view.y += dy;
  view.isMoved = true;
  redraw();
}

function zoom(factor, sx, sy) {
  const { w, h } = paneSize();
  const [px, py] = [sx ?? w / 2, sy ?? h / 2];
  const k = Math.min(3, Math.max(0.004, view.k * factor));
  view.x = px - ((px - view.x) * k) / view.k;
  view.y = py - ((py - view.y) * k) / view.k;
  view.k = k;
  view.isMoved = true;
  redraw();
}

// The state of the page and what changes it.

const state = {
  program: 0,
  step: 0,
  isBefore: false,
  computation: "",
  tab: "graph",
  expanded: new Set(),
  selected: null, // { name, key }
  query: "",
  hits: [],
  hit: -1,
};
let generation = 0;
let detailed = null; // what the right panel shows: [home, place]

const now = () => step(state.program, state.step);
// The step whose graph is drawn.
const drawn = () => step(state.program, state.isBefore ? state.step - 1 : state.step);
const root = () => find(drawn(), state.computation) ?? computation(drawn().entry);

// ---- The graph

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
  const changes = now().changes;
  if (!changes.size) return null;
  const none = new Set();
  const shown = new Map();
  for (const [name, change] of changes) {
    shown.set(name, state.isBefore ? { ...change, added: none } : { ...change, removed: none });
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

// All of it if that can be read, else its beginning.
function fit() {
  if (!look.root) return;
  const { w, h } = paneSize();
  const { width, height } = look.root.graph;
  const whole = Math.min((w - 40) / Math.max(1, width), (h - 110) / Math.max(1, height), 1.2);
  view.k = Math.max(whole, Math.min(0.8, Math.max(0.5, (w - 40) / Math.max(1, width))));
  view.x = w / 2;
  view.y = height * view.k < h - 100 ? (h - 40 - height * view.k) / 2 : 30;
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

// ---- Selection

function select(name, { key, move } = { move: true }) {
  const at = drawn();
  const home = homes(at).get(name) ?? (state.isBefore ? undefined : goBefore(name));
  if (!home) return;
  let found = key;
  if (!found && look.root) {
    eachNode(look.root, 0, 0, (node) => {
      if (node.name === name && node.home.name === home.name) found ??= node.key;
    });
  }
  if (!found) {
    // Scalars stand in the nodes that use them.
    const isInlined = home.name === look.root?.home.name && home.places.has(name);
    if (!isInlined) {
      state.selected = { name, key: `${home.name}/${name}` };
      look.selected = state.selected.key;
      open(home.name, { keepSelection: true });
      detail(home, home.places.get(name));
      return;
    }
    const user = home.users[home.places.get(name)][0];
    found = user === undefined ? `${home.name}/${name}` : `${home.name}/${nameOf(home.records[user])}`;
  }
  state.selected = { name, key: found };
  look.selected = found;
  if (move !== false) reveal(found, { near: true });
  detail(home, home.places.get(name));
  refreshTab();
  redraw();
  remember();
}

function goBefore(name) {
  if (state.step === 0 || !homes(step(state.program, state.step - 1)).has(name)) return undefined;
  setBefore(true);
  return homes(drawn()).get(name);
}

function selectBefore(name) {
  if (state.step === 0) return;
  setBefore(true);
  setTab("graph");
  select(name);
}

function unselect() {
  state.selected = null;
  look.selected = null;
  detailed = null;
  showComputation(drawn(), root(), actions);
  redraw();
  remember();
}

function detail(home, place) {
  detailed = [home, place];
  showDetails(drawn(), home, place, actions);
}

function open(name, { keepSelection } = {}) {
  const home = find(drawn(), name);
  if (!home) return;
  state.computation = name;
  if (!keepSelection) {
    state.selected = null;
    look.selected = null;
    detailed = null;
    showComputation(drawn(), home, actions);
  }
  look.root = null;
  rebuild({ keep: false });
  refresh();
}

function toggle(node) {
  const key = node.key;
  if (state.expanded.has(key)) {
    for (const inner of [...state.expanded]) if (inner === key || inner.startsWith(`${key}>`)) state.expanded.delete(inner);
  } else {
    const called = callsOf(node.record).map((name) => find(drawn(), name)).filter(Boolean);
    if (called.some((home) => home.records.length > MOST_INSIDE)) {
      open(called.reduce((a, b) => (a.records.length > b.records.length ? a : b)).name);
      return;
    }
    state.expanded.add(key);
  }
  rebuild({ keep: true });
}

function expandAll() {
  let room = 3000;
  eachNode(look.root, 0, 0, (node) => {
    if (!node.calls || node.children) return;
    const sizes = callsOf(node.record).map((name) => find(drawn(), name)?.records.length ?? 0);
    const size = sizes.reduce((a, b) => a + b, 0);
    // The functions of reductions say nothing that is worth a box.
    if (size <= 2 || size > MOST_INSIDE || room < size || /^(reduce|sort|scatter|map|all-reduce|reduce-)/.test(node.opcode)) return;
    room -= size;
    state.expanded.add(node.key);
  });
  rebuild({ keep: true });
}

const actions = {
  open: (name) => { setTab("graph"); open(name); },
  select: (name) => { setTab(state.tab === "changes" || state.tab === "buffers" ? "graph" : state.tab); select(name); },
  selectBefore,
  detail,
  search: (text) => { by("search").value = text; search(text); by("search").focus(); },
  toggle: () => {
    const place = look.root && look.selected && placeOf(look.root, look.selected);
    if (place) toggle(place.node);
  },
  text: (home, place) => { showHome(home); setTab("text"); textLines.show(place + 1); },
  buffers: (home, place) => { showHome(home); setTab("buffers"); showBuffers(home, actions, place); },
  filesOf: (at, name) => filesOf(name),
  step: (index) => setStep(index),
  // What each step did to an instruction; that which came in with the program begins with nothing.
  history: (name) => data.programs[state.program].steps.flatMap((raw, index) => {
    const kinds = new Set();
    for (const change of step(state.program, index).changes.values()) {
      for (const kind of ["removed", "added", "changed"]) if (change[kind].has(name)) kinds.add(kind);
    }
    // From one computation to another.
    const kind = kinds.size > 1 ? "moved" : [...kinds][0];
    return kind ? [{ index, title: raw.title, kind }] : [];
  }),
  before: (computationName, name) => {
    const change = now().changes.get(computationName);
    if (state.isBefore || !change?.changed.has(name)) return null;
    const home = find(step(state.program, state.step - 1), computationName);
    return home && lineOf(home, home.places.get(name));
  },
};

// Makes a computation the one that all tabs show.
function showHome(home) {
  if (root().name !== home.name) open(home.name, { keepSelection: true });
}

// ---- Search

const searchTexts = new Map();
function searchText(record) {
  let text = searchTexts.get(record);
  if (text === undefined) {
    text = [nameOf, opcodeOf, shapeOf, opNameOf, sourceOf].map((of) => of(record)).join("\n").toLowerCase();
    searchTexts.set(record, text);
  }
  return text;
}

const fields = { name: nameOf, op: opcodeOf, shape: shapeOf, meta: opNameOf, src: sourceOf, attr: attributesOf };

function search(query) {
  state.query = query;
  const words = query.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const at = word.indexOf(":");
    const field = fields[word.slice(0, at)];
    return field ? { field, text: word.slice(at + 1) } : { text: word };
  });
  state.hits = [];
  state.hit = -1;
  if (words.length) {
    const at = drawn();
    const ids = [...at.raw.computations].sort((a, b) => (b === root().id) - (a === root().id) || (b === at.entry) - (a === at.entry));
    for (const id of ids) {
      const home = computation(id);
      home.records.forEach((record, place) => {
        const fits = words.every(({ field, text }) => {
          if (field === opcodeOf) return opcodeOf(record) === text || (text.endsWith("*") && opcodeOf(record).startsWith(text.slice(0, -1)));
          return (field ? field(record).toLowerCase() : searchText(record)).includes(text);
        });
        if (fits) state.hits.push({ home, place, name: nameOf(record) });
      });
    }
  }
  look.hits = new Set(state.hits.map((found) => found.name));
  by("found").textContent = words.length ? `${state.hits.length} found` : "";
  listResults();
  refreshTab();
  staleOverview();
}

function listResults() {
  const MOST = 200;
  const list = by("results");
  list.hidden = !state.hits.length || document.activeElement !== by("search");
  if (list.hidden) return;
  const items = state.hits.slice(0, MOST).map((found, index) => {
    const record = found.home.records[found.place];
    const more = [short(shapeOf(record)), opNameOf(record), sourceOf(record)].filter(Boolean).join("  ");
    return element("li", { class: index === state.hit ? "current" : "", onmousedown: (event) => { event.preventDefault(); goTo(index); } },
      element("b", {}, found.name), "  ", opcodeOf(record), element("span", { class: "dim" }, `  ${more}  in ${found.home.name}`));
  });
  if (state.hits.length > MOST) items.push(element("li", { class: "dim" }, `and ${state.hits.length - MOST} more`));
  fill(list, ...items);
}

function goTo(index) {
  if (!state.hits.length) return;
  state.hit = (index + state.hits.length) % state.hits.length;
  const found = state.hits[state.hit];
  if (state.tab !== "text") setTab("graph");
  select(found.name);
  by("found").textContent = `${state.hit + 1} of ${state.hits.length}`;
  listResults();
}

// ---- Files that belong to the program

const fileLabels = { kernels: "kernel IR", llvm: "LLVM IR", assembly: "assembly", other: "file" };
const programFiles = () => {
  const name = data.programs[state.program].name;
  return data.texts.filter((text) => text.program === name);
};
const fileLines = (file) => (file.lines ??= file.text.split("\n"));

// What files of a program call themselves, after what they have in common.
function fileTitle(file) {
  const program = data.programs[state.program].name;
  const own = file.title.startsWith(`${program}.`) ? file.title.slice(program.length + 1) : file.title;
  return own.replace(/\.(txt|ll)$/, "");
}

// Buttons for the places where files name an instruction.
function filesOf(name) {
  const word = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  // Dumps of rxla have `[name]` above each kernel; others may have the name as a word or as a symbol,
  // where other characters than letters and digits become underscores.
  const symbol = name.replace(/[^\w]/g, "_");
  const pattern = new RegExp(`(?<![\\w.-])${word}(?![\\w-]|\\.\\w)|(?<![A-Za-z0-9_])${symbol}(?![A-Za-z0-9_])`);
  const found = [];
  for (const file of programFiles()) {
    let line = file.text.includes(`[${name}]`) ? fileLines(file).findIndex((text) => text.includes(`[${name}]`)) : -1;
    if (line < 0 && (file.text.includes(name) || file.text.includes(symbol))) {
      line = fileLines(file).findIndex((text) => pattern.test(text));
    }
    if (line < 0) continue;
    const kind = fileLabels[file.kind];
    const more = programFiles().filter((other) => other.kind === file.kind).length > 1 || file.kind === "other";
    found.push({
      label: !more ? kind : file.kind === "other" ? fileTitle(file) : `${kind}: ${fileTitle(file)}`,
      title: `${file.title}, line ${line + 1}`,
      open: () => openFile(file, line),
    });
  }
  return found.slice(0, 8);
}

let currentFile = null;
let currentLine = -1;
function openFile(file, line) {
  currentFile = file;
  currentLine = line;
  setTab("files");
  if (line >= 0) fileView.show(line);
}

function showFiles() {
  const files = programFiles();
  if (!files.includes(currentFile)) [currentFile, currentLine] = [files[0], -1];
  fill(by("file"), ...files.map((file, index) => element("option", { value: String(index) }, `${fileTitle(file)} (${fileLabels[file.kind]})`)));
  by("file").value = String(files.indexOf(currentFile));
  const wanted = by("file-search").value.toLowerCase();
  fileView.set(currentFile ? fileLines(currentFile) : [], (line, i) => ({
    parts: [element("span", { class: "number" }, `${String(i + 1).padStart(6)}  `), line],
    class: i === currentLine ? "current" : wanted && line.toLowerCase().includes(wanted) ? "found" : "",
    click: () => { currentLine = i; showFiles(); },
  }));
}

function findInFile(direction) {
  const wanted = by("file-search").value.toLowerCase();
  if (!wanted || !currentFile) return;
  const lines = fileLines(currentFile);
  for (let n = 1; n <= lines.length; n++) {
    const i = (currentLine + direction * n + lines.length * 2) % lines.length;
    if (lines[i].toLowerCase().includes(wanted)) {
      currentLine = i;
      showFiles();
      fileView.show(i);
      by("file-found").textContent = `line ${i + 1}`;
      return;
    }
  }
  by("file-found").textContent = "not found";
}

// ---- Steps, tabs and lists

function setStep(index) {
  const steps = data.programs[state.program].steps;
  if (index < 0 || index >= steps.length) return;
  state.step = index;
  state.isBefore = false;
  afterStep();
}

function setBefore(isBefore) {
  if (state.isBefore === isBefore || (isBefore && state.step === 0)) return;
  state.isBefore = isBefore;
  afterStep();
}

function afterStep() {
  if (!find(drawn(), state.computation)) state.computation = computation(drawn().entry).name;
  const home = state.selected && homes(drawn()).get(state.selected.name);
  if (!home) {
    state.selected = null;
    look.selected = null;
  }
  rebuild({ keep: true });
  if (state.query) search(state.query);
  if (home) detail(home, home.places.get(state.selected.name));
  else {
    detailed = null;
    showComputation(drawn(), root(), actions);
  }
  refresh();
}

function setProgram(index) {
  state.program = index;
  state.step = 0;
  state.isBefore = false;
  state.selected = null;
  look.selected = null;
  state.computation = computation(now().entry).name;
  state.expanded.clear();
  look.root = null;
  by("search").value = "";
  search("");
  afterStep();
}

const tabs = { graph: "Graph", text: "Text", changes: "Changes", buffers: "Buffers", files: "Files" };

function setTab(tab) {
  state.tab = tab;
  for (const name of Object.keys(tabs)) by(`pane-${name}`).hidden = name !== tab;
  refresh();
  if (tab === "graph") resize();
}

// The tab in view is made anew; the others when they come into view.
function refreshTab() {
  const home = root();
  if (state.tab === "text") {
    const places = [-1, ...home.records.keys(), -2];
    textLines.set(places, (place) => {
      if (place === -1) return { parts: [element("b", {}, `${home.id === drawn().entry ? "ENTRY " : ""}${home.name} {`)] };
      if (place === -2) return { parts: ["}"] };
      const name = nameOf(home.records[place]);
      const change = look.change?.get(home.name);
      const kind = change && ["added", "removed", "changed"].find((kind) => change[kind].has(name));
      const isSelected = state.selected?.name === name;
      return { parts: lineParts(home, place), class: isSelected ? "current" : look.hits.has(name) ? "found" : kind ?? "", click: () => select(name, { move: false }) };
    });
    if (state.selected && home.places.has(state.selected.name)) textLines.show(home.places.get(state.selected.name) + 1);
  }
  if (state.tab === "changes") {
    const previous = state.step > 0 ? step(state.program, state.step - 1) : null;
    const lines = previous ? changeLines(now(), previous) : [];
    const empty = previous ? "This step changed nothing." : "The first step: there is nothing to compare with.";
    changesView.set(lines.length ? lines : [null], (line) => (line ? changeLine(line, actions) : { parts: [empty], class: "dim" }));
  }
  if (state.tab === "buffers") showBuffers(home, actions);
  if (state.tab === "files") showFiles();
}

function refresh() {
  const program = data.programs[state.program];
  by("title").textContent = data.title;
  by("program-label").hidden = data.programs.length < 2;
  by("stepper").hidden = program.steps.length < 2;
  by("steps-box").hidden = program.steps.length < 2;
  by("step").value = String(state.step);
  by("program").value = String(state.program);
  by("previous").disabled = state.step === 0;
  by("next").disabled = state.step === program.steps.length - 1;
  by("before").disabled = state.step === 0;
  by("before").setAttribute("aria-pressed", String(state.isBefore));
  fill(by("tabs"), ...Object.entries(tabs).map(([name, title]) => {
    if (name === "changes" && program.steps.length < 2) return null;
    if (name === "files" && !programFiles().length) return null;
    return element("button", { role: "tab", id: `tab-${name}`, "aria-selected": String(name === state.tab), onclick: () => setTab(name) }, title);
  }));
  const home = root();
  const from = callers(drawn()).get(home.name) ?? [];
  fill(by("crumbs"), ...trail(home), from.length ? element("span", {}, `  called by ${from.length > 1 ? `${from.length}, first ` : ""}`) : null,
    from.length ? link(from[0], () => select(from[0])) : null,
    element("span", {}, `  ${home.records.length} instructions`));
  listSteps(program);
  listComputations();
  listCostliest();
  showLegend();
  refreshTab();
  remember();
}

function trail(home) {
  const entry = computation(drawn().entry);
  const parts = [];
  if (home.name !== entry.name) parts.push(link(entry.name, () => actions.open(entry.name)), element("span", {}, " › "));
  parts.push(element("b", {}, home.name));
  return parts;
}

function listSteps(program) {
  fill(by("steps"), ...program.steps.map((raw, index) => {
    const sum = countChanges(step(state.program, index));
    const any = sum.added + sum.removed + sum.changed > 0;
    const counts = element("span", { class: "count" });
    for (const [kind, sign] of [["added", "+"], ["removed", "−"], ["changed", "~"]]) {
      if (sum[kind]) counts.append(element("span", { class: kind }, ` ${sign}${sum[kind]}`));
    }
    const kind = `${index === state.step ? "current" : ""} ${any || index === 0 ? "" : "quiet"}`;
    return element("li", { class: kind, title: raw.title, onclick: () => setStep(index) }, counts, `${index} ${raw.title.replace(/ \(.*\)$/, "")}`);
  }));
  by("steps").querySelector(".current")?.scrollIntoView({ block: "nearest" });
}

function listComputations() {
  const at = drawn();
  const ids = [...at.raw.computations].reverse().sort((a, b) => (b === at.entry) - (a === at.entry));
  const MOST = 400;
  const items = ids.slice(0, MOST).map((id) => {
    const home = computation(id);
    const count = element("span", { class: "count" }, String(home.records.length));
    return element("li", { class: home.name === root().name ? "current" : "", title: home.name, onclick: () => actions.open(home.name) }, count, home.name);
  });
  if (ids.length > MOST) items.push(element("li", { class: "quiet" }, `and ${ids.length - MOST} more: search finds what is in them`));
  fill(by("computations"), ...items);
}

// What the list of the costliest counts: what the colours show, else time if it was measured.
const costKind = () => (look.colour !== "opcode" ? look.colour : times.size ? "time" : "flops");

// The dearest instructions of the module. What only runs others is not listed, but what it runs is.
function listCostliest() {
  const at = drawn();
  const kind = costs[costKind()];
  const isOuter = /^(while|call|conditional|async-start)$/;
  const all = [];
  // What stands in fusions and reductions is part of those.
  const inside = new Set();
  for (const id of at.raw.computations) {
    for (const record of computation(id).records) {
      if (!isOuter.test(opcodeOf(record))) callsOf(record).forEach((name) => inside.add(name));
    }
  }
  for (const id of at.raw.computations) {
    const home = computation(id);
    if (inside.has(home.name)) continue;
    home.records.forEach((record, place) => {
      const value = totalOf(costKind(), at, home, place);
      if (value > 0 && !isOuter.test(opcodeOf(record))) all.push({ home, place, value });
    });
  }
  all.sort((a, b) => b.value - a.value);
  const total = all.reduce((sum, found) => sum + found.value, 0);
  by("cost-kind").textContent = `by ${kind.title}`;
  fill(by("costliest"), ...all.slice(0, 40).map(({ home, place, value }) => {
    const name = nameOf(home.records[place]);
    const share = (100 * value) / total;
    return element("li", { title: `${name}: ${kind.show(value)}, ${share.toFixed(1)} %${runsOf(at, home) > 1 ? `, in ${runsOf(at, home)} runs` : ""}`, onclick: () => { if (state.tab !== "text") setTab("graph"); select(name); } },
      element("span", { class: "count" }, kind.show(value)), name, element("span", { class: "bar", style: `width:${(100 * value) / all[0].value}%` }));
  }));
}

function showLegend() {
  const chips = [];
  const chip = (colour, text) => chips.push(element("span", {}, element("i", { style: `background:${colour}` }), text));
  if (look.colour === "opcode") {
    const present = new Set(root().records.map((record) => familyOf(opcodeOf(record))));
    for (const [family, colour] of Object.entries(theme.family)) if (present.has(family)) chip(colour, family);
  } else {
    const kind = costs[look.colour];
    for (const t of [0, 0.25, 0.5, 0.75, 1]) chip(rgb(heat(t)), look.most > 0 ? kind.show(look.most * 10 ** ((t - 1) * 4)) : "none");
  }
  if (now().changes.size) {
    for (const kind of state.isBefore ? ["removed", "changed"] : ["added", "changed"]) chip(theme[kind], kind);
  }
  fill(by("legend"), ...chips);
}

// The address keeps where one is, so that a place can be sent to others.
function remember() {
  const place = new URLSearchParams({ program: state.program, step: state.step, computation: state.computation });
  if (state.selected) place.set("name", state.selected.name);
  if (look.colour !== "opcode") place.set("colour", look.colour);
  if (state.isBefore) place.set("before", "1");
  try {
    history.replaceState(null, "", `#${place}`);
  } catch {
    // Some browsers let no local file do that.
  }
}

function recall() {
  const place = new URLSearchParams(location.hash.slice(1));
  // The largest one is what people look for.
  const sizes = data.programs.map((program) =>
    program.steps.at(-1).computations.reduce((sum, id) => sum + data.computations[id].instructions.length, 0));
  const program = Number(place.get("program") ?? sizes.indexOf(Math.max(...sizes)));
  if (data.programs[program]) state.program = program;
  const last = data.programs[state.program].steps.length - 1;
  const index = Number(place.get("step") ?? last);
  state.step = index >= 0 && index <= last ? index : last;
  state.isBefore = place.get("before") === "1" && state.step > 0;
  const colour = place.get("colour");
  if (costs[colour]) look.colour = colour;
  state.computation = place.get("computation") ?? "";
  if (!find(drawn(), state.computation)) state.computation = computation(drawn().entry).name;
  return place.get("name");
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  readTheme();
  showLegend();
  if (state.tab === "buffers") drawBuffers();
  staleOverview();
}

// ---- Beginning

const textLines = new Lines(by("pane-text"));
const changesView = new Lines(by("pane-changes"));
const fileView = new Lines(by("file-text"));

function wireCanvas() {
  let drag = null;
  canvas.addEventListener("mousedown", (event) => {
    drag = { x: event.clientX, y: event.clientY, moved: false };
  });
  addEventListener("mousemove", (event) => {
    if (drag) {
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.abs(dx) + Math.abs(dy) < 4) return;
      Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
      canvas.classList.add("drag");
      move(dx, dy);
    } else if (event.target === canvas) {
      const found = hit(event.clientX, event.clientY);
      const key = found?.node.key ?? null;
      if (key === look.hover) return;
      look.hover = key;
      canvas.style.cursor = found ? "pointer" : "";
      canvas.title = found && view.k < 0.5 ? `${found.node.name}\n${shapeOf(found.node.record)}` : "";
      redraw();
    }
  });
  addEventListener("mouseup", (event) => {
    const was = drag;
    drag = null;
    canvas.classList.remove("drag");
    if (!was || was.moved || event.target !== canvas) return;
    const found = hit(event.clientX, event.clientY);
    if (!found) unselect();
    else if (found.isToggle) toggle(found.node);
    else select(found.node.name, { key: found.node.key, move: false });
  });
  canvas.addEventListener("dblclick", (event) => {
    const found = hit(event.clientX, event.clientY);
    if (found?.node.calls && !found.isToggle) toggle(found.node);
  });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = canvas.getBoundingClientRect();
    if (event.shiftKey) {
      move(-event.deltaY - event.deltaX, 0);
    } else zoom(Math.exp(-event.deltaY * 0.0016), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  const jump = (event) => {
    const box = overview.getBoundingClientRect();
    const { scale } = overviewScale();
    move(0, paneSize().h / 2 - ((event.clientY - box.top) / scale) * view.k - view.y);
  };
  overview.addEventListener("mousedown", (event) => {
    jump(event);
    const stop = () => {
      removeEventListener("mousemove", jump);
      removeEventListener("mouseup", stop);
    };
    addEventListener("mousemove", jump);
    addEventListener("mouseup", stop);
  });
}

function wireKeys() {
  const keys = {
    "/": () => { by("search").focus(); by("search").select(); },
    n: () => setStep(state.step + 1),
    p: () => setStep(state.step - 1),
    b: () => setBefore(!state.isBefore),
    f: fitAll,
    e: expandAll,
    c: () => { state.expanded.clear(); rebuild({ keep: true }); },
    "+": () => zoom(1.3),
    "=": () => zoom(1.3),
    "-": () => zoom(1 / 1.3),
    Escape: unselect,
    ArrowUp: () => move(0, 80),
    ArrowDown: () => move(0, -80),
    ArrowLeft: () => move(80, 0),
    ArrowRight: () => move(-80, 0),
  };
  addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT)$/.test(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!key || (event.key.startsWith("Arrow") && state.tab !== "graph")) return;
    event.preventDefault();
    key();
  });
  const input = by("search");
  input.addEventListener("input", () => search(input.value));
  input.addEventListener("focus", listResults);
  input.addEventListener("blur", () => { by("results").hidden = true; });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") goTo(state.hit + (event.shiftKey ? -1 : 1));
    if (event.key === "Escape") { input.value = ""; search(""); input.blur(); }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      goTo(state.hit + (event.key === "ArrowDown" ? 1 : -1));
    }
  });
}

function wireControls() {
  const options = (id, list, change) => {
    fill(by(id), ...list.map((title, index) => element("option", { value: String(index) }, title)));
    by(id).addEventListener("change", () => { change(Number(by(id).value)); by(id).blur(); });
  };
  options("program", data.programs.map((program) => program.name), (index) => { setProgram(index); fillSteps(); });
  by("program").value = String(state.program);
  const fillSteps = () => fill(by("step"), ...data.programs[state.program].steps.map((raw, index) => element("option", { value: String(index) }, `${index} ${raw.title}`)));
  fillSteps();
  by("step").addEventListener("change", () => { setStep(Number(by("step").value)); by("step").blur(); });
  const kinds = ["opcode", ...Object.keys(costs).filter((kind) => kind !== "time" || times.size)];
  options("colour", kinds.map((kind) => (kind === "opcode" ? "opcode" : costs[kind].title)), (index) => {
    look.colour = kinds[index];
    measureMost();
    staleOverview();
    refresh();
  });
  by("colour").value = String(kinds.indexOf(look.colour));
  by("previous").onclick = () => setStep(state.step - 1);
  by("next").onclick = () => setStep(state.step + 1);
  by("before").onclick = () => setBefore(!state.isBefore);
  by("zoom-in").onclick = () => zoom(1.3);
  by("zoom-out").onclick = () => zoom(1 / 1.3);
  by("fit").onclick = fitAll;
  by("expand-all").onclick = expandAll;
  by("collapse-all").onclick = () => { state.expanded.clear(); rebuild({ keep: true }); };
  by("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  by("file").addEventListener("change", () => { currentFile = programFiles()[Number(by("file").value)]; currentLine = -1; showFiles(); fileView.show(0); });
  by("file-search").addEventListener("input", showFiles);
  by("file-search").addEventListener("keydown", (event) => { if (event.key === "Enter") findInFile(event.shiftKey ? -1 : 1); });
}

const wanted = recall();
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
readTheme();
wireControls();
wireCanvas();
wireKeys();
new ResizeObserver(() => { if (state.tab === "graph") resize();  }).observe(by("pane-graph").parentElement);
resize();
showComputation(drawn(), root(), actions);
setTab("graph");
rebuild({ keep: false }).then(() => { if (wanted) select(wanted); });

// For tests and for the curious: what the page shows.
window.rxlaView = {
  data, state, look, view, select, search, setStep, setBefore, setTab, open, toggle, goTo, setTheme, fit, fitAll, expandAll, buffersState,
  isBusy: () => by("status").textContent !== "",
  pending: () => pool.pending,
  shown: () => {
    const names = [];
    if (look.root) eachNode(look.root, 0, 0, (node) => names.push(node.name));
    return names;
  },
  // Where a node is in the window.
  where: (name) => {
    const box = canvas.getBoundingClientRect();
    let found = null;
    eachNode(look.root, 0, 0, (node, x, y) => {
      if (node.name === name) found ??= { x: box.left + x * view.k + view.x, y: box.top + y * view.k + view.y, w: node.w * view.k, h: node.h * view.k };
    });
    return found;
  },
};

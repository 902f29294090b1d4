// What is selected, opened, expanded, and what the panels can ask for.
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
  showComputation(drawn(), root(), actions);
  redraw();
  remember();
}

function detail(home, place) {
  showDetails(drawn(), home, place, actions);
}

function open(name, { keepSelection } = {}) {
  const home = find(drawn(), name);
  if (!home) return;
  state.computation = name;
  if (!keepSelection) {
    state.selected = null;
    look.selected = null;
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
    if (index === 0) return [];
    const at = step(state.program, index);
    const [old, now] = [index - 1, index].map((to) => follow("instructions", state.program, drawn().index, to, name));
    const kinds = new Set();
    for (const change of at.changes) {
      if (change.removed.has(old)) kinds.add("removed");
      for (const kind of ["added", "changed"]) if (change[kind].has(now)) kinds.add(kind);
    }
    // From one computation to another.
    const kind = kinds.size > 1 ? "moved" : [...kinds][0];
    const was = old === now || kind === "added" || kind === "removed" ? "" : `was ${old}`;
    return kind || was ? [{ index, title: raw.title, kind: kind ?? "", note: [kind, was].filter(Boolean).join(", ") }] : [];
  }),
  before: (computationName, name) => {
    const at = now();
    const change = at.changes.find((change) => change.computation === computationName);
    if (state.isBefore || !change?.changed.has(name)) return null;
    const home = find(step(state.program, state.step - 1), at.names.computations.was(computationName));
    return home && lineOf(home, home.places.get(at.names.instructions.was(name)));
  },
};

// Makes a computation the one that all tabs show.
function showHome(home) {
  if (root().name !== home.name) open(home.name, { keepSelection: true });
}

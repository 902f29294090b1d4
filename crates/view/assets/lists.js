// Steps, tabs, the lists at the left, the legend, and the address.
function setStep(index) {
  const steps = data.programs[state.program].steps;
  if (index < 0 || index >= steps.length) return;
  const from = drawn().index;
  state.step = index;
  state.isBefore = false;
  afterStep(from);
}

function setBefore(isBefore) {
  if (state.isBefore === isBefore || (isBefore && state.step === 0)) return;
  const from = drawn().index;
  state.isBefore = isBefore;
  afterStep(from);
}

// Shows what is there now, of the same things as at the step `from`.
function afterStep(from = drawn().index) {
  const named = (kind, name) => follow(kind, state.program, from, drawn().index, name);
  state.computation = named("computations", state.computation);
  if (state.selected && named("instructions", state.selected.name) !== state.selected.name) {
    const name = named("instructions", state.selected.name);
    const home = homes(drawn()).get(name);
    state.selected = { name, key: `${home?.name}/${name}` };
    look.selected = state.selected.key;
  }
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
const costKind = () => (look.colour !== "opcode" ? look.colour : times().size ? "time" : "flops");

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
  if (now().changes.length) {
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
  // The dearest one is what people look for.
  const dear = data.programs.map((program) => {
    const measured = data.times.filter(([module]) => module === program.module);
    if (data.times.some(([module]) => module !== "")) return measured.reduce((sum, [, , time]) => sum + time, 0);
    const { computations, runs } = program.steps.at(-1);
    return computations.reduce((sum, id, index) => {
      const all = (list) => list.reduce((a, b) => a + b, 0) * (runs[index] || 1);
      const { flops, transcendentals, bytes } = data.computations[id];
      return sum + all(flops) + all(transcendentals) + all(bytes);
    }, 0);
  });
  const program = Number(place.get("program") ?? dear.indexOf(Math.max(...dear)));
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

// Everything beside the graph: lists, details, text, changes, files. All text from the module goes
// through `element`, which makes text nodes.

const by = (id) => document.getElementById(id);

function element(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key === "style") made.style.cssText = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const fill = (target, ...children) => target.replaceChildren(...children.filter((c) => c !== null));

// A list of lines of which only those in view are in the document.
class Lines {
  constructor(parent) {
    this.box = element("div", { class: "lines", tabindex: "0" });
    this.inner = element("div");
    this.box.append(this.inner);
    parent.append(this.box);
    this.box.addEventListener("scroll", () => this.render());
    new ResizeObserver(() => this.render()).observe(this.box);
    this.set([], () => ({}));
  }

  // `line(i)` gives `{ parts, class, click }` of a line.
  set(items, line) {
    this.items = items;
    this.line = line;
    this.inner.style.height = `${items.length * 18 + 20}px`;
    this.render();
  }

  render() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / 18) - 20);
    const last = Math.min(this.items.length, first + Math.ceil(this.box.clientHeight / 18) + 40);
    const shown = [];
    for (let i = first; i < last; i++) {
      const { parts, click, ...rest } = this.line(this.items[i], i);
      const p = element("p", { class: rest.class ?? "", style: `top:${i * 18}px` }, ...parts);
      if (click) p.addEventListener("click", click);
      shown.push(p);
    }
    this.inner.replaceChildren(...shown);
  }

  show(index) {
    this.box.scrollTop = Math.max(0, index * 18 - this.box.clientHeight / 3);
    this.render();
  }
}

const link = (text, click, title) =>
  element("button", { class: "link", onclick: click, title: title ?? text }, text);

function row(list, title, content) {
  if (content === "" || content === null || content === undefined) return;
  list.append(element("dt", {}, title), element("dd", {}, content));
}

// A shape as it is, or a long tuple with its elements one by one when asked for.
function shapeParts(shape) {
  const elements = shape.startsWith("(") ? elementsOf(shape) : [];
  if (elements.length < 5) return shape;
  const lines = elements.map((text, index) => `${String(index).padStart(3)}  ${text}`);
  return element("details", {}, element("summary", {}, short(shape)), element("pre", {}, lines.join("\n")));
}

// The panel at the right: everything about an instruction.
function showDetails(at, home, place, actions) {
  const record = home.records[place];
  const name = nameOf(record);
  const list = element("dl");
  row(list, "opcode", opcodeOf(record));
  row(list, "shape", shapeParts(shapeOf(record)));
  row(list, "value", opcodeOf(record) === "parameter" ? "" : valueOf(record));
  row(list, "number", opcodeOf(record) === "parameter" ? valueOf(record) : "");
  row(list, "computation", link(home.name, () => actions.open(home.name)));
  row(list, "op_name", opNameOf(record));
  if (sourceOf(record)) row(list, "source", link(sourceOf(record), () => actions.search(`src:${sourceOf(record)}`), "all of this line"));
  const runs = runsOf(at, home);
  if (runs > 1) row(list, "runs", `${runs} times`);
  for (const kind of Object.values(costs)) {
    const value = kind.of(home, place);
    if (value > 0) row(list, kind.title, kind.show(value) + (runs > 1 && kind !== costs.time ? " each" : ""));
  }
  const time = costs.time.of(home, place);
  if (time > 0) {
    const per = (value, base, unit) => (value > 0 ? `${human((value * runs * 1e6) / time, base)}${unit}` : "");
    const rates = [per(home.raw.flops[place], 1000, "FLOP/s"), per(home.raw.bytes[place], 1000, "B/s")];
    row(list, "rate", rates.filter(Boolean).join(", "));
  }
  const buffer = home.raw.buffers.find(([defined]) => defined === place);
  if (buffer) row(list, "in memory", `${bytes(buffer[3])}, at ${buffer[1]} to ${buffer[2]} of ${home.records.length}`);
  const parts = [element("h2", {}, name), element("div", { class: "dim" }, place === home.raw.root ? "ROOT of its computation" : `number ${place} of ${home.records.length}`)];
  const buttons = element("div", { class: "actions" });
  if (callsOf(record).length) buttons.append(element("button", { onclick: actions.toggle, id: "toggle" }, "expand / collapse"));
  buttons.append(element("button", { onclick: () => actions.text(home, place) }, "in text"));
  if (home.raw.buffers.length) buttons.append(element("button", { onclick: () => actions.buffers(home, place) }, "in buffers"));
  for (const file of actions.filesOf(at, name)) {
    buttons.append(element("button", { class: "to-file", onclick: file.open, title: file.title }, file.label));
  }
  parts.push(buttons, list);
  if (attributesOf(record)) parts.push(element("h3", {}, "attributes"), element("pre", {}, attributesOf(record).split(/, (?=[\w-]+=)/).join("\n")));
  if (metadataOf(record)) parts.push(element("h3", {}, "stack and metadata"), element("pre", {}, metadataOf(record)));
  const names = (title, list_, say) => {
    if (!list_.length) return;
    const MOST = 60;
    const items = list_.slice(0, MOST).map((other) => {
      const where = home.places.get(other);
      const shape = where === undefined ? "" : shapeOf(home.records[where]);
      return element("li", {}, link(other, () => say(other)), element("span", { class: "dim mono" }, short(shape)));
    });
    if (list_.length > MOST) items.push(element("li", { class: "dim" }, `and ${list_.length - MOST} more`));
    parts.push(element("h3", {}, `${title} (${list_.length})`), element("ul", {}, ...items));
  };
  names("operands", operandsOf(record), actions.select);
  names("waits for", table.after[record].map((n) => strings[n]), actions.select);
  names("users", home.users[place].map((user) => nameOf(home.records[user])), actions.select);
  names("calls", callsOf(record), actions.open);
  const history = actions.history(name);
  if (history.length) {
    const items = history.map(({ index, title, kind, note }) =>
      element("li", {}, link(`${index} ${title}`, () => actions.step(index)), element("span", { class: kind }, note)));
    parts.push(element("h3", {}, "history"), element("ul", { id: "history" }, ...items));
  }
  const old = actions.before?.(home.name, name);
  if (old) parts.push(element("h3", {}, "before this step"), element("pre", { class: "removed" }, old));
  fill(by("details"), ...parts);
}

function showComputation(at, home, actions) {
  const list = element("dl");
  row(list, "instructions", String(home.records.length));
  for (const [kind, cost] of Object.entries(costs)) {
    const sum = home.records.reduce((all, _, place) => all + cost.of(home, place), 0);
    if (sum > 0) row(list, cost.title, cost.show(sum));
  }
  if (runsOf(at, home) > 1) row(list, "runs", `${runsOf(at, home)} times`);
  if (home.raw.peak) row(list, "peak memory", bytes(home.raw.peak));
  row(list, "order", at.raw.scheduled ? "scheduled" : "operands before users; not scheduled");
  const parts = [element("h2", {}, home.name), element("div", { class: "dim" }, home.id === at.entry ? "entry computation" : "computation"), list];
  const from = callers(at).get(home.name) ?? [];
  if (from.length) parts.push(element("h3", {}, `called by (${from.length})`), element("ul", {}, ...from.slice(0, 40).map((name) => element("li", {}, link(name, () => actions.select(name))))));
  parts.push(element("h3", {}, "keys"), element("pre", { class: "dim" }, "click: details   double click: expand\nwheel: zoom   drag: move\n/ search   Enter next hit\nN P steps   B before   F fit\nE expand   C collapse   Esc nothing selected"));
  fill(by("details"), ...parts);
}

// A line of HLO with its name apart.
function lineParts(home, place) {
  const record = home.records[place];
  const text = lineOf(home, place);
  const at = text.indexOf(nameOf(record));
  const cut = at + nameOf(record).length;
  return [
    element("span", { class: "number" }, `${String(place).padStart(6)}  `),
    text.slice(0, at),
    element("b", {}, text.slice(at, cut)),
    text.slice(cut),
  ];
}

// Two lines that differ: what is common at both ends is plain.
function difference(before, after) {
  const words = (text) => text.split(/(?<=[ ,(){}])/);
  const [a, b] = [words(before), words(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const parts = (list) => [
    list.slice(0, start).join(""),
    element("mark", {}, list.slice(start, list.length - end).join("")),
    end ? list.slice(-end).join("") : "",
  ];
  return [parts(a), parts(b)];
}

// The lines of the tab of changes.
function changeLines(at, previous) {
  const lines = [];
  for (const change of at.changes) {
    const name = change.computation;
    const before = change.kind === "changed" ? at.names.computations.was(name) : name;
    const [old, now] = [change.kind === "added" ? undefined : find(previous, before), find(at, name)];
    const title = before === name ? name : `${name} (was ${before})`;
    const counts = ["added", "removed", "changed"].filter((kind) => change[kind].size).map((kind) => `${change[kind].size} ${kind}`);
    lines.push({ kind: "head", computation: name, text: `${title}: ${change.kind === "changed" ? "" : `computation ${change.kind}; `}${counts.join(", ")}` });
    for (const removed of change.removed) lines.push({ kind: "removed", computation: name, name: removed, home: old });
    for (const changed of change.changed) lines.push({ kind: "changed", computation: name, name: changed, before: at.names.instructions.was(changed), home: now, old });
    for (const added of change.added) lines.push({ kind: "added", computation: name, name: added, home: now });
    lines.push({ kind: "space" });
  }
  // A changed instruction takes two lines.
  return lines.flatMap((line) => (line.kind === "changed" ? [{ ...line, side: "old" }, { ...line, side: "new" }] : [line]));
}

function changeLine(line, actions) {
  if (line.kind === "space") return { parts: [" "] };
  if (line.kind === "head") return { parts: [element("b", {}, line.text)], click: () => actions.open(line.computation) };
  const text = (home, name) => lineOf(home, home.places.get(name));
  if (line.kind !== "changed") {
    const sign = line.kind === "added" ? "+ " : "− ";
    const click = () => (line.kind === "added" ? actions.select(line.name) : actions.selectBefore(line.name));
    return { parts: [`  ${sign}${text(line.home, line.name)}`], class: line.kind, click };
  }
  const [old, now] = difference(text(line.old, line.before), text(line.home, line.name));
  const isOld = line.side === "old";
  return {
    parts: [isOld ? "  ~ " : "    ", ...(isOld ? old : now)],
    class: isOld ? "dim" : "changed",
    click: () => (isOld ? actions.selectBefore(line.before) : actions.select(line.name)),
  };
}

// The data of the page: what crates/view/src/model.rs describes, with the look-ups that drawing needs.

const data = JSON.parse(document.getElementById("model").textContent);
const strings = data.strings;
const table = data.instructions;

// Measured times of the program in view, by instruction.
const timesCache = new Map();
function times() {
  if (!timesCache.has(state.program)) {
    const own = data.times.filter(([module]) => module === "" || module === data.programs[state.program].module);
    timesCache.set(state.program, new Map(own.map(([, name, time]) => [name, time])));
  }
  return timesCache.get(state.program);
}

const nameOf = (record) => strings[table.name[record]];
const opcodeOf = (record) => strings[table.opcode[record]];
const shapeOf = (record) => strings[table.shape[record]];
const attributesOf = (record) => strings[table.attributes[record]];
const valueOf = (record) => strings[table.value[record]];
const opNameOf = (record) => strings[table.op_name[record]];
const sourceOf = (record) => strings[table.source[record]];
const metadataOf = (record) => strings[table.metadata[record]];
const operandsOf = (record) => table.operands[record].map((name) => strings[name]);
const callsOf = (record) => table.calls[record].map((name) => strings[name]);

// A stored computation with its places by name and its users, made when first asked for.
const computationCache = new Map();
function computation(id) {
  let found = computationCache.get(id);
  if (!found) {
    const raw = data.computations[id];
    const places = new Map(raw.instructions.map((record, place) => [nameOf(record), place]));
    const users = raw.instructions.map(() => []);
    raw.instructions.forEach((record, place) => {
      for (const name of new Set(operandsOf(record))) {
        const operand = places.get(name);
        if (operand !== undefined) users[operand].push(place);
      }
    });
    found = { id, name: strings[raw.name], raw, records: raw.instructions, places, users };
    computationCache.set(id, found);
  }
  return found;
}

// A step with its computations by name and its changes. A computation and its instructions have the names of
// this step, but for what was removed; `was` and `is` lead from them to the names of the step before, and back.
const stepCache = new Map();
function step(program, index) {
  const key = `${program}/${index}`;
  let found = stepCache.get(key);
  if (!found) {
    const raw = data.programs[program].steps[index];
    const byName = new Map(raw.computations.map((id) => [strings[data.computations[id].name], id]));
    const renamed = (pairs) => {
      const [was, is] = [new Map(), new Map()];
      for (const [old, now] of pairs) {
        was.set(strings[now], strings[old]);
        is.set(strings[old], strings[now]);
      }
      return { was: (name) => was.get(name) ?? name, is: (name) => is.get(name) ?? name };
    };
    const changes = raw.changes.map((change) => {
      const names = (list) => new Set(list.map((name) => strings[name]));
      return {
        computation: strings[change.computation],
        kind: change.kind,
        added: names(change.added),
        removed: names(change.removed),
        changed: names(change.changed),
      };
    });
    const entry = raw.entry === undefined ? raw.computations.at(-1) : raw.entry;
    const names = { instructions: renamed(raw.renamed), computations: renamed(raw.renamed_computations) };
    found = { program, index, raw, byName, changes, names, entry };
    stepCache.set(key, found);
  }
  return found;
}

// What something is called at another step; `kind` is "instructions" or "computations".
function follow(kind, program, from, to, name) {
  for (let index = from + 1; index <= to; index++) name = step(program, index).names[kind].is(name);
  for (let index = from; index > to; index--) name = step(program, index).names[kind].was(name);
  return name;
}

// How often a computation runs when the program does.
function runsOf(at, home) {
  at.runs ??= new Map(at.raw.computations.map((id, index) => [id, at.raw.runs[index]]));
  return at.runs.get(home.id) || 1;
}

// The cost of all runs of an instruction; what was measured is that already.
const totalOf = (kind, at, home, place) =>
  costs[kind].of(home, place) * (kind === "time" ? 1 : runsOf(at, home));

const find = (at, name) => (at.byName.has(name) ? computation(at.byName.get(name)) : undefined);

// Which computation each instruction name stands in; names are unique in a module.
function homes(at) {
  if (!at.homes) {
    at.homes = new Map();
    for (const id of at.raw.computations) {
      const home = computation(id);
      for (const name of home.places.keys()) at.homes.set(name, home);
    }
  }
  return at.homes;
}

// Instructions that call each computation.
function callers(at) {
  if (!at.callers) {
    at.callers = new Map();
    for (const id of at.raw.computations) {
      for (const record of computation(id).records) {
        for (const called of callsOf(record)) {
          if (!at.callers.has(called)) at.callers.set(called, []);
          at.callers.get(called).push(nameOf(record));
        }
      }
    }
  }
  return at.callers;
}

function countChanges(at) {
  const sum = { added: 0, removed: 0, changed: 0 };
  for (const change of at.changes) {
    for (const kind of Object.keys(sum)) sum[kind] += change[kind].size;
  }
  return sum;
}

// The line that HLO text has for an instruction.
function lineOf(home, place) {
  const record = home.records[place];
  const inside = valueOf(record) || operandsOf(record).join(", ");
  let line = `${nameOf(record)} = ${shapeOf(record)} ${opcodeOf(record)}(${inside})`;
  if (attributesOf(record)) line += `, ${attributesOf(record)}`;
  const after = table.after[record].map((name) => strings[name]);
  if (after.length) line += `, control-predecessors={${after.join(", ")}}`;
  const notes = [];
  if (opNameOf(record)) notes.push(`op_name="${opNameOf(record)}"`);
  if (sourceOf(record)) notes.push(`source="${sourceOf(record)}"`);
  if (notes.length) line += `, metadata={${notes.join(" ")}}`;
  return place === home.raw.root ? `ROOT ${line}` : line;
}

// Kinds of cost: what an instruction counts, and in which unit.
const costs = {
  flops: { title: "FLOPs", of: (home, place) => home.raw.flops[place], show: (v) => `${human(v, 1000)}FLOP` },
  transcendentals: {
    title: "functions (exp, …)",
    of: (home, place) => home.raw.transcendentals[place],
    show: (v) => human(v, 1000).trim(),
  },
  bytes: { title: "bytes moved", of: (home, place) => home.raw.bytes[place], show: (v) => bytes(v) },
  time: {
    title: "measured time",
    of: (home, place) => times().get(nameOf(home.records[place])) ?? 0,
    show: (v) => (v >= 1000 ? `${(v / 1000).toPrecision(4)} ms` : `${Number(v.toPrecision(4))} µs`),
  },
};

function human(value, base) {
  const units = ["", "k", "M", "G", "T", "P", "E"];
  let unit = 0;
  while (value >= base && unit + 1 < units.length) {
    value /= base;
    unit += 1;
  }
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

// Families of opcodes share a colour.
const families = [
  ["contraction", /^(dot|scaled-dot|ragged-dot|convolution|cholesky|triangular-solve|fft)$/],
  ["reduction", /^(reduce|reduce-window|select-and-scatter|sort|topk|scan|batch-norm.*)$/],
  ["fusion", /^fusion$/],
  ["control", /^(while|call|conditional|async-.*|custom-call|opt-barrier|domain)$/],
  ["communication", /^(all-|collective|reduce-scatter|ragged-all|send|recv|infeed|outfeed|partition-id|replica-id)/],
  ["input", /^(parameter|constant|iota|rng.*)$/],
  ["tuple", /^(tuple|get-tuple-element|after-all|add-dependency)$/],
  [
    "movement",
    /^(broadcast|reshape|transpose|bitcast|slice|pad|concatenate|reverse|copy.*|gather|scatter|dynamic-.*|get-dimension-size|set-dimension-size)$/,
  ],
];
const familyCache = new Map();
function familyOf(opcode) {
  let found = familyCache.get(opcode);
  if (!found) {
    found = families.find(([, pattern]) => pattern.test(opcode))?.[0] ?? "elementwise";
    familyCache.set(opcode, found);
  }
  return found;
}

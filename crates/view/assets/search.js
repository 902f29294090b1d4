// Search in all computations of a step.
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

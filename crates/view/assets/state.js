// What the page shows: everything else follows from this.
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

const now = () => step(state.program, state.step);
// The step whose graph is drawn.
const drawn = () => step(state.program, state.isBefore ? state.step - 1 : state.step);
const root = () => find(drawn(), state.computation) ?? computation(drawn().entry);

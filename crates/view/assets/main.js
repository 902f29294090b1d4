// Wires controls, mouse and keys, and begins.
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
  const kinds = ["opcode", ...Object.keys(costs).filter((kind) => kind !== "time" || data.times.length)];
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

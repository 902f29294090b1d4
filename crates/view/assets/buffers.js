// The timeline of buffers: along the schedule, what is in memory, stacked as a simple allocator would.

const chart = by("buffers");
const chartPen = chart.getContext("2d");
const buffersState = { home: null, blocks: [], height: 1, curve: [], time: 0, hover: null };

// Gives each buffer the lowest room that is free during its life, larger and longer ones first.
function placeBlocks(home) {
  const MOST = 1500;
  const all = home.raw.buffers.map(([defined, first, last, size]) => ({ defined, first, last, size }));
  for (const [place, size] of home.raw.called) all.push({ defined: place, first: place, last: place, size, isCalled: true });
  all.sort((a, b) => b.size * (b.last - b.first + 1) - a.size * (a.last - a.first + 1));
  const shown = all.slice(0, MOST);
  const placed = [];
  for (const block of shown) {
    const others = placed.filter((other) => other.first <= block.last && block.first <= other.last);
    others.sort((a, b) => a.at - b.at);
    let at = 0;
    for (const other of others) {
      if (other.at - at >= block.size) break;
      at = Math.max(at, other.at + other.size);
    }
    block.at = at;
    placed.push(block);
  }
  return { placed, left: all.length - shown.length };
}

function liveCurve(home) {
  const curve = new Float64Array(home.records.length + 1);
  for (const [, first, last, size] of home.raw.buffers) {
    curve[first] += size;
    curve[last + 1] -= size;
  }
  for (let i = 1; i < curve.length; i++) curve[i] += curve[i - 1];
  for (const [place, size] of home.raw.called) curve[place] += size;
  return curve.slice(0, home.records.length);
}

function showBuffers(home, actions, place) {
  const state = buffersState;
  if (state.home !== home) {
    const { placed, left } = placeBlocks(home);
    Object.assign(state, { home, blocks: placed, left, curve: liveCurve(home), time: home.raw.peak_at });
    state.height = Math.max(1, home.raw.peak, ...placed.map((block) => block.at + block.size));
  }
  if (place !== undefined) state.time = place;
  state.actions = actions;
  const peak = home.records[home.raw.peak_at];
  const text = home.raw.peak
    ? `Peak ${bytes(home.raw.peak)} at number ${home.raw.peak_at} of ${home.records.length}, ${nameOf(peak)}. `
    : "Nothing here is in memory: small functions and fusions keep their values in registers.";
  const note = home.raw.peak ? "An estimate from shapes and the order of instructions, without what buffer assignment reuses. Each block is a value from its definition to its last use; click for what is live then." : "";
  fill(by("buffers-summary"), element("b", {}, text), element("span", { class: "dim" }, note), state.left ? element("span", { class: "dim" }, ` ${state.left} small ones are not drawn.`) : null);
  // The list takes room from the chart.
  listLive();
  drawBuffers();
}

function chartFrame() {
  const box = chart.parentElement.getBoundingClientRect();
  const curveHeight = Math.min(90, box.height * 0.28);
  return { w: box.width, h: box.height, curveHeight, top: curveHeight + 22 };
}

function drawBuffers() {
  const { home, blocks, height, curve, time } = buffersState;
  const ratio = devicePixelRatio || 1;
  const { w, h, curveHeight, top } = chartFrame();
  if (!home || w < 2) return;
  chart.width = w * ratio;
  chart.height = h * ratio;
  chart.style.width = `${w}px`;
  chart.style.height = `${h}px`;
  chartPen.setTransform(ratio, 0, 0, ratio, 0, 0);
  chartPen.fillStyle = theme.canvas;
  chartPen.fillRect(0, 0, w, h);
  const count = Math.max(1, home.records.length);
  const x = (place) => (place / count) * w;
  const peak = Math.max(1, home.raw.peak);
  chartPen.fillStyle = tint(theme.accent, 0.3);
  chartPen.strokeStyle = theme.accent;
  chartPen.beginPath();
  chartPen.moveTo(0, curveHeight);
  curve.forEach((live, place) => {
    const y = curveHeight - (live / peak) * (curveHeight - 14);
    chartPen.lineTo(x(place), y);
    chartPen.lineTo(x(place + 1), y);
  });
  chartPen.lineTo(w, curveHeight);
  chartPen.fill();
  chartPen.stroke();
  for (const block of blocks) {
    const left = x(block.first);
    const width = Math.max(1, x(block.last + 1) - left);
    const y = h - ((block.at + block.size) / height) * (h - top);
    const size = Math.max(0.75, (block.size / height) * (h - top));
    const record = home.records[block.defined];
    const colour = theme.family[familyOf(opcodeOf(record))];
    const isHover = buffersState.hover === block;
    chartPen.fillStyle = tint(colour, isHover ? 0.9 : block.isCalled ? 0.25 : 0.5);
    chartPen.fillRect(left, y, width, size);
    if (size > 3 && width > 3) {
      chartPen.strokeStyle = theme.canvas;
      chartPen.lineWidth = 0.5;
      chartPen.strokeRect(left, y, width, size);
    }
    if (size > 13 && width > 60) {
      chartPen.fillStyle = theme.ink;
      chartPen.font = "11px ui-monospace, monospace";
      chartPen.fillText(clip(`${nameOf(record)} ${bytes(block.size)}`, Math.floor(width / CHARACTER) - 1), left + 4, y + 11);
    }
  }
  chartPen.font = "11px system-ui, sans-serif";
  chartPen.fillStyle = theme.muted;
  chartPen.fillText("live bytes", 4, 10);
  chartPen.fillText("memory, by first fit", 4, top - 6);
  const line = (place, colour, label) => {
    chartPen.strokeStyle = colour;
    chartPen.lineWidth = 1.5;
    chartPen.beginPath();
    chartPen.moveTo(x(place + 0.5), 0);
    chartPen.lineTo(x(place + 0.5), h);
    chartPen.stroke();
    const width = chartPen.measureText(label).width;
    chartPen.fillStyle = colour;
    chartPen.fillText(label, Math.min(w - width - 4, x(place + 0.5) + 4), 10);
  };
  if (home.raw.peak) line(home.raw.peak_at, theme.removed, `peak ${bytes(home.raw.peak)}`);
  if (time !== home.raw.peak_at) line(time, theme.ink, bytes(curve[time] ?? 0));
}

// The table of what is live at the chosen time.
function listLive() {
  const { home, time, curve, actions } = buffersState;
  const rows = home.raw.buffers.filter(([, first, last]) => first <= time && time <= last).map(([defined, first, last, size]) => ({ defined, first, last, size, what: "" }));
  for (const [place, size] of home.raw.called) {
    if (place === time) rows.push({ defined: place, first: place, last: place, size, what: "inside of what it calls" });
  }
  rows.sort((a, b) => b.size - a.size);
  const MOST = 200;
  const body = rows.slice(0, MOST).map(({ defined, first, last, size, what }) => {
    const record = home.records[defined];
    const name = element("td", {}, link(nameOf(record), () => actions.select(nameOf(record))));
    const number = (text) => element("td", { class: "number" }, text);
    return element("tr", {}, number(bytes(size)), name, element("td", {}, short(shapeOf(record))), number(`${first}–${last}`), element("td", { class: "dim" }, what));
  });
  const head = element("tr", {}, ...["bytes", "instruction", "shape", "live", ""].map((title) => element("th", {}, title)));
  const record = home.records[time];
  const title = `Live at number ${time}${record === undefined ? "" : `, ${nameOf(record)}`}: ${bytes(curve[time] ?? 0)} in ${rows.length} buffers`;
  fill(by("buffers-live"), element("b", {}, title), element("table", { id: "live-table" }, head, ...body));
}

function blockAt(event) {
  const { home, blocks, height } = buffersState;
  if (!home) return null;
  const box = chart.getBoundingClientRect();
  const { w, h, top } = chartFrame();
  const place = ((event.clientX - box.left) / w) * home.records.length;
  const at = ((h - (event.clientY - box.top)) / (h - top)) * height;
  const block = blocks.find((b) => b.first <= place && place < b.last + 1 && b.at <= at && at < b.at + b.size);
  return { place: Math.min(home.records.length - 1, Math.max(0, Math.floor(place))), block };
}

new ResizeObserver(drawBuffers).observe(chart.parentElement);
chart.addEventListener("mousemove", (event) => {
  const found = blockAt(event);
  if (!found || found.block === buffersState.hover) return;
  buffersState.hover = found.block;
  const record = found.block && buffersState.home.records[found.block.defined];
  chart.title = found.block ? `${nameOf(record)}\n${shapeOf(record)}\n${bytes(found.block.size)}, ${found.block.first} to ${found.block.last}` : "";
  drawBuffers();
});
chart.addEventListener("click", (event) => {
  const found = blockAt(event);
  if (!found) return;
  buffersState.time = found.place;
  listLive();
  drawBuffers();
  if (found.block) buffersState.actions.detail(buffersState.home, found.block.defined);
});

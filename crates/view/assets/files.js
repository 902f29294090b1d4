// Files that belong to the program: kernel IR, LLVM IR, assembly and others.
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

"""What a person does with the page of `rxla view`, in a headless Chromium."""

import pathlib
import subprocess

import pytest

import browser

CHROMIUM = browser.find()

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: `apt-get install chromium` brings one"
)

BEFORE = """HloModule model

double {
  a = f32[64,32]{1,0} parameter(0)
  two = f32[] constant(2)
  twos = f32[64,32]{1,0} broadcast(two), dimensions={}
  ROOT doubled = f32[64,32]{1,0} multiply(a, twos)
}

body {
  state = (s32[], f32[64,32]{1,0}) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  value = f32[64,32]{1,0} get-tuple-element(state), index=1
  sined = f32[64,32]{1,0} sine(value)
  ROOT pair = (s32[], f32[64,32]{1,0}) tuple(next, sined)
}

condition {
  state.1 = (s32[], f32[64,32]{1,0}) parameter(0)
  i.1 = s32[] get-tuple-element(state.1), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(i.1, ten), direction=LT
}

ENTRY main {
  x = f32[64,128]{1,0} parameter(0), sharding={replicated}
  w = f32[128,32]{1,0} parameter(1)
  product = f32[64,32]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="jit(f)/matmul" source_file="layer.py" source_line=42}
  called = f32[64,32]{1,0} call(product), to_apply=double
  zero = s32[] constant(0)
  start = (s32[], f32[64,32]{1,0}) tuple(zero, called)
  loop = (s32[], f32[64,32]{1,0}) while(start), condition=condition, body=body, backend_config={"known_trip_count":{"n":"10"}}
  out = f32[64,32]{1,0} get-tuple-element(loop), index=1
  useless = f32[64,32]{1,0} exponential(out)
  ROOT result = f32[64,32]{1,0} negate(out)
}
"""

# The call became a fusion, and what nobody used is gone.
AFTER = BEFORE.replace("call(product), to_apply=double", "fusion(product), kind=kLoop, calls=double")
AFTER = "\n".join(line for line in AFTER.split("\n") if "useless" not in line)
AFTER = AFTER.replace("negate(out)", "negate(last)").replace(
    "  ROOT result", "  last = f32[64,32]{1,0} abs(out)\n  ROOT result"
)


OTHER = "HloModule other\nENTRY e {\n  p = f32[4] parameter(0)\n  ROOT x = f32[4] negate(p)\n}\n"


@pytest.fixture(scope="module")
def tab():
    with browser.Browser(CHROMIUM) as tab:
        yield tab
        assert tab.complaints() == []


@pytest.fixture
def show(rxla, tab, tmp_path):
    """Writes files, makes their page and opens it."""

    def show(files, *arguments, folder=False):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        inputs = [str(tmp_path)] if folder else [str(tmp_path / name) for name in files]
        page = tmp_path.parent / f"{tmp_path.name}.html"
        subprocess.run([rxla, "view", *inputs, "-o", str(page), *arguments], check=True)
        tab.open(page)
        tab.settle()
        return tab

    return show


def shown(tab):
    return tab.evaluate("rxlaView.shown()")


def text_of(tab, selector):
    return tab.evaluate(f"document.querySelector('{selector}').textContent")


def click_node(tab, name, count=1):
    place = tab.evaluate(f"rxlaView.where('{name}')")
    # The left end, away from the toggle.
    x, y = place["x"] + 8, place["y"] + min(10, place["h"] / 2)
    tab.click(x, y)
    if count == 2:
        tab.click(x, y, count=2)
    tab.settle()


def test_a_module_is_shown_without_any_request(show):
    tab = show({"model.hlo": BEFORE})
    # Scalar constants stand in the nodes that use them.
    names = ["x", "w", "product", "called", "start", "loop", "out", "useless", "result"]
    assert sorted(shown(tab)) == sorted(names)
    assert text_of(tab, "#title") == "model"
    assert "10 instructions" in text_of(tab, "#crumbs")
    # Something was drawn: not all pixels are alike.
    colours = tab.evaluate(
        "(() => { const c = document.getElementById('canvas');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "const s = new Set(); for (let i = 0; i < d.length; i += 4) s.add(d[i] << 16 | d[i+1] << 8 | d[i+2]);"
        "return s.size; })()"
    )
    assert colours > 20
    assert tab.complaints() == []


def test_without_workers_graphs_are_plain(show, tab):
    code = "window.Worker = function () { throw new Error('none'); };"
    script = tab.call("Page.addScriptToEvaluateOnNewDocument", source=code)["identifier"]
    try:
        show({"model.hlo": BEFORE})
        place = tab.evaluate("['product', 'called', 'start'].map((name) => rxlaView.where(name).y)")
        assert place == sorted(place) and len(set(place)) == 3
    finally:
        tab.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_a_click_tells_everything_about_an_instruction(show):
    tab = show({"model.hlo": BEFORE})
    click_node(tab, "product")
    details = text_of(tab, "#details")
    for part in [
        "product",
        "dot",
        "f32[64,32]{1,0}",
        "lhs_contracting_dims={1}",
        "jit(f)/matmul",
        "layer.py:42",
        "operands (2)",
        "users (1)",
        "called",
        "524 kFLOP",
    ]:
        assert part in details
    # What is in a loop runs as often as the loop does.
    tab.evaluate("rxlaView.select('sined')")
    details = text_of(tab, "#details")
    assert "runs10 times" in details and "2.05 k each" in details
    tab.evaluate("rxlaView.select('product')")
    # From there to an operand.
    tab.evaluate(
        "[...document.querySelectorAll('#details .link')].find((l) => l.textContent === 'x').click()"
    )
    assert "sharding={replicated}" in text_of(tab, "#details")
    tab.key("Escape")
    assert tab.evaluate("rxlaView.state.selected") is None


def test_search_by_every_field(show):
    tab = show({"model.hlo": BEFORE})

    def found(query):
        tab.evaluate(f"rxlaView.search({query!r})")
        return sorted(tab.evaluate("rxlaView.state.hits.map((hit) => hit.name)"))

    assert found("sined") == ["sined"]
    assert found("matmul") == ["product"]
    assert found("layer.py:42") == ["product"]
    assert found("op:get-tuple-element") == ["i", "i.1", "out", "value"]
    assert found("op:d*") == ["product"]
    assert found("shape:s32[] add") == ["next"]
    assert found("attr:direction=lt") == ["less"]
    assert found("nothing like it") == []
    assert found("") == []


def test_typing_and_enter_go_to_what_is_found(show):
    tab = show({"model.hlo": BEFORE})
    tab.key("/")
    tab.type("state")
    tab.wait("document.querySelectorAll('#results li').length === 2")
    tab.key("Enter")
    tab.settle()
    # It stands in another computation, which is opened.
    assert tab.evaluate("rxlaView.state.selected.name") in ("state", "state.1")
    assert text_of(tab, "#found").startswith("1 of 2")
    assert "called by loop" in text_of(tab, "#crumbs")
    place = tab.evaluate("rxlaView.where(rxlaView.state.selected.name)")
    assert 300 < place["x"] < 1100 and 100 < place["y"] < 900


def test_fusions_and_loops_open_and_close_in_place(show):
    tab = show({"model.hlo": BEFORE})
    click_node(tab, "called", count=2)
    assert "doubled" in shown(tab)
    click_node(tab, "called", count=2)
    assert "doubled" not in shown(tab)
    place = tab.evaluate("rxlaView.where('loop')")
    scale = tab.evaluate("rxlaView.view.k")
    # The sign at the right end.
    tab.click(place["x"] + place["w"] - 13 * scale, place["y"] + 13 * scale)
    tab.settle()
    assert {"sined", "less"} <= set(shown(tab))
    click_node(tab, "sined")
    assert "body" in text_of(tab, "#details")
    tab.click_on("#collapse-all")
    tab.settle()
    assert "sined" not in shown(tab)
    tab.click_on("#expand-all")
    tab.settle()
    assert {"sined", "less", "doubled"} <= set(shown(tab))


def series():
    name = "module_0001.model"
    return {
        f"{name}.before_optimizations.txt": BEFORE,
        f"{name}.0000.cpu.after_pipeline-start.before_fusion.txt": BEFORE,
        f"{name}.0001.cpu.after_fusion.before_dce.txt": AFTER,
        f"{name}.after_optimizations.txt": AFTER,
        f"{name}.kernels.txt": "kernel k0\n\nkernel called_0 {\n  # called\n}\n",
        f"{name}.ll": "define void @other() {\n}\n\ndefine void @called() {\n}\n",
        f"{name}.s": "called:\n  ret\n",
        "index.json": "{}",
        "module_0002.other.before_optimizations.txt": OTHER,
    }


def test_steps_show_what_a_pass_changed(show):
    tab = show(series(), folder=True)
    titles = tab.evaluate("rxlaView.data.programs[0].steps.map((step) => step.title)")
    assert titles == ["before_optimizations", "cpu begins", "fusion (cpu)", "after_optimizations"]
    # The last step comes first; back to the one that changed something.
    assert tab.evaluate("rxlaView.state.step") == 3
    tab.key("p")
    tab.settle()
    assert tab.evaluate("rxlaView.state.step") == 2
    current = text_of(tab, "#steps .current")
    assert "+1" in current and "−1" in current and "~2" in current
    assert "last" in shown(tab) and "useless" not in shown(tab)
    tab.key("b")
    tab.settle()
    assert "useless" in shown(tab) and "last" not in shown(tab)
    assert text_of(tab, "#legend").endswith("removedchanged")
    tab.key("b")
    tab.click_on("#tab-changes")
    changes = text_of(tab, "#pane-changes")
    assert "+ last = f32[64,32]{1,0} abs(out)" in changes
    assert "− useless = f32[64,32]{1,0} exponential(out)" in changes
    marks = tab.evaluate("[...document.querySelectorAll('#pane-changes mark')].map((m) => m.textContent)")
    assert "fusion(" in marks[1] and "call(" in marks[0]
    # What happened to one instruction.
    tab.evaluate("rxlaView.select('last')")
    assert text_of(tab, "#history") == "2 fusion (cpu)added"
    # The other program of the folder.
    tab.evaluate("(() => { const p = document.getElementById('program'); p.value = '1'; p.dispatchEvent(new Event('change')); })()")
    tab.settle()
    assert tab.evaluate("document.getElementById('stepper').hidden")


def test_clones_under_other_names_are_the_same(show):
    renamed = BEFORE.replace("double", "double.clone").replace("sined", "sined.7").replace("called", "called.3")
    changed = renamed.replace("constant(10)", "constant(11)")
    tab = show({"1.hlo": BEFORE, "2.hlo": changed})
    # A number in the condition is all that changed.
    assert text_of(tab, "#steps .current .count").strip() == "~1"
    tab.click_on("#tab-changes")
    changes = text_of(tab, "#pane-changes")
    assert changes.startswith("condition: 1 changed") and "sined" not in changes
    # What is looked at stays the same thing from step to step.
    tab.evaluate("rxlaView.select('sined.7')")
    assert text_of(tab, "#history") == "1 2was sined"
    tab.key("p")
    tab.settle()
    assert tab.evaluate("[rxlaView.state.selected.name, rxlaView.state.computation]") == ["sined", "body"]
    tab.evaluate("rxlaView.select('doubled')")
    tab.key("n")
    tab.settle()
    assert tab.evaluate("[rxlaView.state.selected.name, rxlaView.state.computation]") == ["double.cloned", "double.clone"]


def test_instructions_lead_to_kernels_and_machine_code(show):
    tab = show(series(), folder=True)
    tab.evaluate("rxlaView.select('called')")
    labels = tab.evaluate("[...document.querySelectorAll('.to-file')].map((b) => b.textContent)")
    assert sorted(labels) == ["LLVM IR", "assembly", "kernel IR"]
    tab.evaluate("[...document.querySelectorAll('.to-file')].find((b) => b.textContent === 'LLVM IR').click()")
    assert "define void @called()" in text_of(tab, "#file-text .current")


def test_colours_and_the_list_tell_what_is_dear(show):
    times = "instruction microseconds\nproduct 125.5\nresult 3\n"
    tab = show({"model.hlo": BEFORE}, "--times", str(write_times(times)))
    assert "measured time" in text_of(tab, "#cost-kind")
    costliest = "[...document.querySelectorAll('#costliest li')].map((l) => l.textContent)"
    assert tab.evaluate(costliest)[0] == "125.5 µsproduct"
    tab.evaluate("rxlaView.select('product')")
    assert "4.18 GFLOP/s" in text_of(tab, "#details")
    for kind, first in [("FLOPs", "product"), ("bytes moved", "product"), ("functions (exp, …)", "sined")]:
        tab.evaluate(
            "(() => { const c = document.getElementById('colour');"
            f"c.value = [...c.options].find((o) => o.textContent === '{kind}').value;"
            "c.dispatchEvent(new Event('change')); })()"
        )
        names = tab.evaluate(costliest)
        assert any(first in name for name in names[:2]), (kind, names)
        assert tab.evaluate("document.querySelectorAll('#legend i').length") == 5


def test_times_are_those_of_one_program(show):
    times = str(write_times("HloModule other\nx 5\ncalled 7\n"))
    tab = show(series(), "--times", times, folder=True)
    # The one that was measured comes first.
    assert tab.evaluate("rxlaView.state.program") == 1
    costliest = "[...document.querySelectorAll('#costliest li')].map((l) => l.textContent)"
    assert tab.evaluate(costliest) == ["5 µsx"]
    # An instruction of the other one has no time by its name.
    tab.evaluate("(() => { const p = document.getElementById('program'); p.value = '0'; p.dispatchEvent(new Event('change')); })()")
    tab.settle()
    tab.evaluate("rxlaView.select('called')")
    assert "measured time" not in text_of(tab, "#details")


def test_long_tuples_are_folded(show):
    many = ", ".join(f"f32[{n},2]{{1,0}}" for n in range(1, 9))
    lines = [f"  p{n} = f32[{n},2]{{1,0}} parameter({n - 1})" for n in range(1, 9)]
    names = ", ".join(f"p{n}" for n in range(1, 9))
    text = "\n".join(["HloModule t", "ENTRY e {", *lines, f"  ROOT t = ({many}) tuple({names})", "}", ""])
    tab = show({"model.hlo": text})
    tab.evaluate("rxlaView.select('t')")
    assert text_of(tab, "#details summary") == "(8 elements)"
    assert "7  f32[8,2]{1,0}" in text_of(tab, "#details details pre")


def write_times(text):
    import tempfile

    path = pathlib.Path(tempfile.mkdtemp()) / "times.csv"
    path.write_text(text)
    return path


def test_buffers_tell_the_peak_and_what_is_live(show):
    tab = show({"model.hlo": BEFORE.replace("HloModule model", "HloModule model, is_scheduled=true")})
    tab.click_on("#tab-buffers")
    # x 32 KiB, w 16 KiB, and 8 KiB each: the product, its double, and the twos inside of the call.
    assert "Peak 72.0 KiB" in text_of(tab, "#buffers-summary")
    live = text_of(tab, "#live-table")
    assert "32.0 KiBxf32[64,128]" in live and "8.0 KiBproductf32[64,32]2–3" in live
    tab.evaluate("[...document.querySelectorAll('#live-table .link')][0].click()")
    assert tab.evaluate("rxlaView.state.tab") == "graph"
    assert tab.evaluate("rxlaView.state.selected.name") == "x"


def test_text_is_there_and_leads_to_the_graph(show):
    tab = show({"model.hlo": BEFORE})
    tab.click_on("#tab-text")
    assert "ROOT result = f32[64,32]{1,0} negate(out)" in text_of(tab, "#pane-text")
    tab.evaluate("[...document.querySelectorAll('#pane-text p')].find((p) => p.textContent.includes('loop =')).click()")
    assert tab.evaluate("rxlaView.state.selected.name") == "loop"
    tab.click_on("#tab-graph")
    assert "while" in text_of(tab, "#details")


def test_a_hostile_dump_stays_text(show):
    attack = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>"
    quoted = attack.replace('"', "")
    text = BEFORE.replace("jit(f)/matmul", quoted).replace("layer.py", quoted)
    text = text.replace("sharding={replicated}", f'frontend_attributes={{a="{quoted}"}}')
    tab = show({"model.hlo": text}, "--title", attack)
    assert text_of(tab, "#title") == attack
    for name in ["product", "x"]:
        tab.evaluate(f"rxlaView.select('{name}')")
        assert "window.hacked" in text_of(tab, "#details")
    tab.evaluate("(rxlaView.search('hacked'), rxlaView.setTab('text'))")
    assert tab.evaluate("window.hacked") is None
    assert tab.evaluate("document.querySelectorAll('img').length") == 0


def test_light_and_dark(show):
    tab = show({"model.hlo": BEFORE})
    colour = "getComputedStyle(document.body).backgroundColor"
    first = tab.evaluate(colour)
    tab.click_on("#theme")
    assert tab.evaluate(colour) != first


def large(count):
    lines = ["HloModule large", "", "ENTRY main {", "  v0 = f32[256]{0} parameter(0)"]
    for i in range(1, count):
        op = ["sine", "negate", "add"][i % 3]
        other = f", v{max(0, i - 7)}" if op == "add" else ""
        root = "ROOT " if i == count - 1 else ""
        note = f'metadata={{op_name="jit(model)/layer_{i // 100}/{op}" source_file="model.py" source_line={i}}}'
        lines.append(f"  {root}v{i} = f32[256]{{0}} {op}(v{i - 1}{other}), {note}")
    return "\n".join([*lines, "}", ""])


def test_four_megabytes_are_drawn_before_they_are_laid_out_and_found_at_once(show, rxla, tab, tmp_path):
    text = large(30000)
    assert len(text) > 3_500_000
    (tmp_path / "large.hlo").write_text(text)
    page = tmp_path / "large.html"
    subprocess.run([rxla, "view", str(tmp_path / "large.hlo"), "-o", str(page)], check=True)
    tab.open(page)
    tab.wait("rxlaView.look.root !== null")
    # Everything is there while workers are still at it.
    assert tab.evaluate("[rxlaView.pending() > 0, rxlaView.shown().length]") == [True, 30000]
    tab.evaluate("rxlaView.search('layer_199/ op:add')")
    assert tab.evaluate("rxlaView.state.hits.length") == 33
    tab.evaluate("rxlaView.goTo(0)")
    place = tab.evaluate("rxlaView.where(rxlaView.state.selected.name)")
    assert 300 < place["x"] < 1100 and 100 < place["y"] < 900
    # Its surroundings are laid out before the rest, and it stays in view.
    first = "rxlaView.look.root.graph.nodes.find((n) => n.name === rxlaView.state.selected.name)"
    tab.wait(f"rxlaView.look.root.graph.edgesOf[{first}.segment].some((edge) => edge.points)")
    assert tab.evaluate("rxlaView.pending() > 0")
    place = tab.evaluate("rxlaView.where(rxlaView.state.selected.name)")
    assert 0 < place["x"] < 1400 and 60 < place["y"] < 900

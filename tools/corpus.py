#!/usr/bin/env python3
"""Measures how HLO text is read and printed, against XLA's own parser in jaxlib.

  tools/corpus.py DIR [--tool target/debug/rxla] [--limit N] [--list]

DIR is searched for files `*.hlo`, `*.hlo.txt` and `*.txt` that hold modules; a file may hold several, parted by
lines of `// -----`. Lines that are instructions to FileCheck are dropped. Of the modules that jaxlib's parser
accepts, it counts

  parsed     read by `rxla print`
  fixpoint   printed again from what was printed, with the same text
  verified   accepted by `rxla verify`, of those that jaxlib's checks do not reject
  accepted   the printed text is accepted by jaxlib
  equal      and means the same there: canonical texts are equal

and lists each module that fails with the reason. Exits with 0 also if some fail: it measures.

XLA's parser does not verify, and some modules are there to be rejected. Where `rxla verify` rejects one, jaxlib is
asked to import it (which infers shapes anew), to verify the StableHLO, and to compile it for the entry layout that the
module states, which runs XLA's HLO verifier. If one of these finds shapes that contradict each other, the module is
counted apart, with jaxlib's words. Neither failures of another kind nor what has no StableHLO form count for that.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys

CHECK_LINE = re.compile(r"^\s*(//|;|#)?\s*(CHECK|RUN|XFAIL|REQUIRES)[\w-]*:?.*$")


def modules(root):
    """Yields (name, text) of each distinct module below a directory."""
    seen = set()
    for folder, folders, files in os.walk(root):
        folders.sort()
        for file in sorted(files):
            if not file.endswith((".hlo", ".txt")):
                continue
            path = os.path.join(folder, file)
            with open(path, errors="replace") as handle:
                whole = handle.read()
            for number, part in enumerate(re.split(r"^// -----.*$", whole, flags=re.M)):
                if "ENTRY" not in part and "HloModule" not in part:
                    continue
                lines = [line for line in part.splitlines() if not CHECK_LINE.match(line)]
                text = "\n".join(lines).strip() + "\n"
                digest = hashlib.sha1(text.encode()).hexdigest()
                if digest not in seen:
                    seen.add(digest)
                    name = os.path.relpath(path, root)
                    yield (f"{name}#{number}" if number else name), text


def one_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines)[:300]


# ------------------------------------------------------------------------------------- jaxlib, in its own process


def oracle():
    """Reads lines of JSON {text, other}; answers with what jaxlib makes of both texts."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from jaxlib import _hlo

    options = _hlo.HloPrintOptions.canonical()

    def canonical(text):
        try:
            return _hlo.hlo_module_from_text(text).to_string(options), None
        except Exception as error:  # the parser's message
            return None, one_line(str(error))

    judged = None
    for line in sys.stdin:
        request = json.loads(line)
        answer = {}
        if request.get("judge"):
            judged = judged or judge()
            print(json.dumps({"contradiction": judged(request["text"])}), flush=True)
            continue
        reference, reason = canonical(request["text"])
        if reference is None:
            answer["rejected"] = reason
        elif request.get("other") is not None:
            back, reason = canonical(request["other"])
            if back is None:
                answer["refused"] = reason
            elif back != reference:
                pairs = zip(reference.splitlines(), back.splitlines())
                first = next((pair for pair in pairs if pair[0] != pair[1]), ("lengths", "differ"))
                answer["differs"] = " / ".join(side.strip()[:140] for side in first)
        print(json.dumps(answer), flush=True)


CONTRADICTION = re.compile(
    r"\[hlo verifier\]|does not match shape of|^INVALID_ARGUMENT|type mismatch|(not |in)compatible|failed to infer"
)


def judge():
    """A function that says why XLA's checks reject a module that its parser accepts, or nothing."""
    import jax

    jax.config.update("jax_platforms", "cpu")
    from jax._src import compiler, xla_bridge
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax, xla_client
    from jax._src.lib.mlir import ir
    from jaxlib import _hlo

    context = mlir.make_ir_context()
    backend = xla_bridge.get_backend("cpu")
    devices = xla_client.DeviceList((jax.devices("cpu")[0],))

    def judged(text):
        try:
            proto = _hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto()
            code = _jax.mlir.hlo_to_stablehlo(proto)
            shape = _hlo.XlaComputation(proto).program_shape()
            options = compiler.get_compile_options(1, 1)
            options.argument_layouts = shape.parameter_shapes()
            options.executable_build_options.result_layout = shape.result_shape()
            with context:
                backend.compile_and_load(ir.Module.parse(code), devices, options, [])
        except Exception as error:
            message = one_line(str(error))
            return message if CONTRADICTION.search(message) else None
        return None

    return judged


class Oracle:
    """The process above, started again when a module makes jaxlib abort."""

    def __init__(self):
        self.process = None

    def ask(self, text, other=None, judge=False):
        if self.process is None:
            command = [sys.executable, os.path.abspath(__file__), "--oracle"]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        try:
            self.process.stdin.write(json.dumps({"text": text, "other": other, "judge": judge}) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        self.process.kill()
        self.process.wait()
        self.process = None
        return {"crashed": True}


# ------------------------------------------------------------------------------------------------------- measuring


def call(tool, *arguments, text):
    try:
        done = subprocess.run([tool, *arguments, "-"], input=text, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None, "takes longer than 120 s"
    if done.returncode < 0 or done.returncode == 101 or "panicked at" in done.stderr:
        return None, "CRASH: " + one_line(done.stderr)
    return (done.stdout, None) if done.returncode == 0 else (None, one_line(done.stderr))


def measure(tool, text):
    """What the tool makes of a module: a dictionary of outcomes."""
    out = {}
    out["printed"], out["parse"] = call(tool, "print", text=text)
    if out["printed"] is not None:
        again, reason = call(tool, "print", text=out["printed"])
        out["fixpoint"] = reason if again is None else None if again == out["printed"] else "another text"
        out["verify"] = call(tool, "verify", text=text)[1]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--tool", default="target/debug/rxla")
    parser.add_argument("--limit", type=int, default=0, help="only the first so many modules")
    parser.add_argument("--list", action="store_true", help="list what jaxlib rejects, too")
    arguments = parser.parse_args()
    try:
        import jaxlib  # noqa: F401
    except ImportError:
        print("skipped: jaxlib is not installed, and it is what everything is compared with")
        return
    texts = list(modules(arguments.directory))
    if arguments.limit:
        texts = texts[: arguments.limit]

    asker = Oracle()
    counts = collections.Counter(modules=len(texts))
    failures = []
    accepted = []
    for name, text in texts:
        answer = asker.ask(text)
        if answer.get("crashed"):
            counts["jaxlib aborts"] += 1
        elif "rejected" in answer:
            counts["jaxlib rejects"] += 1
            if arguments.list:
                print(f"rejected {name}: {answer['rejected']}")
        else:
            accepted.append((name, text))
    counts["jaxlib accepts"] = len(accepted)

    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(lambda item: measure(arguments.tool, item[1]), accepted)
        for (name, text), result in zip(accepted, results):
            if result["printed"] is None:
                failures.append(("parsed", name, result["parse"]))
                continue
            counts["parsed"] += 1
            for key, column in (("fixpoint", "fixpoint"), ("verify", "verified")):
                contradiction = None
                if key == "verify" and result[key] is not None and not result[key].startswith("CRASH"):
                    contradiction = asker.ask(text, judge=True).get("contradiction")
                if result[key] is None:
                    counts[column] += 1
                elif contradiction:
                    counts["contradictory"] += 1
                    print(f"both reject   {name}: {result[key]}\n    jaxlib: {contradiction}")
                else:
                    failures.append((column, name, result[key]))
            answer = asker.ask(text, result["printed"])
            if answer.get("crashed"):
                failures.append(("accepted", name, "jaxlib aborts on the printed text"))
            elif "refused" in answer:
                failures.append(("accepted", name, answer["refused"]))
            else:
                counts["accepted"] += 1
                if "differs" in answer:
                    failures.append(("equal", name, answer["differs"]))
                else:
                    counts["equal"] += 1

    for kind, name, reason in sorted(failures):
        print(f"not {kind:9} {name}: {reason}")
    total = counts["jaxlib accepts"]
    print()
    for key in ("modules", "jaxlib rejects", "jaxlib aborts", "jaxlib accepts"):
        print(f"{key:15} {counts[key]:6}")
    for key in ("parsed", "fixpoint", "verified", "accepted", "equal"):
        of = total - counts["contradictory"] if key == "verified" else total
        note = f" of {of}, without {counts['contradictory']} that both reject" if of != total else ""
        print(f"{key:15} {counts[key]:6}  {100 * counts[key] / max(of, 1):6.2f} %{note}")


if __name__ == "__main__":
    oracle() if sys.argv[1:] == ["--oracle"] else main()

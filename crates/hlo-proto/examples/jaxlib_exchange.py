"""Compares protos with what jaxlib makes of the same modules, both ways.

    cargo run -p rxla-hlo-proto --example corpus -- DIR OUT
    python jaxlib_exchange.py OUT TEXT

where TEXT is the built example `text`. For each OUT/NAME.hlo that jaxlib parses:
  ours -> jaxlib   jaxlib reads OUT/NAME.pb; its text is that of its own parse;
  jaxlib -> ours   jaxlib's proto, read and printed here and parsed by jaxlib, is the same text.
"""

import pathlib
import subprocess
import sys

import jaxlib._hlo as hlo


def text(module):
    options = hlo.HloPrintOptions()
    options.print_large_constants = True
    return module.to_string(options)


def again(module):
    return hlo.HloModule.from_serialized_hlo_module_proto(module.as_serialized_hlo_module_proto())


def same(a, b):
    # Computations that nothing calls are in no proto order; compare what is reachable.
    return sorted(text(a).splitlines()) == sorted(text(b).splitlines())


def main():
    out = pathlib.Path(sys.argv[1])
    printer = sys.argv[2]
    parsed, names = {}, []
    for file in sorted(out.glob("*.hlo")):
        try:
            module = hlo.hlo_module_from_text(file.read_text())
            # What an HloModuleProto leaves out (replica_count and the like) is no difference.
            parsed[file.stem] = again(module)
            names.append(file.stem)
        except Exception as error:  # jaxlib's parser is the measure
            print("jaxlib does not parse", file.stem, str(error).splitlines()[0][:100])
    to_jaxlib = to_us = 0
    for name in names:
        try:
            theirs = hlo.HloModule.from_serialized_hlo_module_proto((out / f"{name}.pb").read_bytes())
            if same(theirs, parsed[name]):
                to_jaxlib += 1
            else:
                print("ours -> jaxlib differs:", name)
                for a, b in zip(text(parsed[name]).splitlines(), text(theirs).splitlines()):
                    if a != b:
                        print("  -", a[:200])
                        print("  +", b[:200])
                        break
        except Exception as error:
            print("ours -> jaxlib:", name, str(error).splitlines()[0][:200])
        (out / f"{name}.jaxlib").write_bytes(parsed[name].as_serialized_hlo_module_proto())
    subprocess.run([printer, *[str(out / f"{name}.jaxlib") for name in names]], check=True)
    for name in names:
        try:
            ours = again(hlo.hlo_module_from_text((out / f"{name}.jaxlib.txt").read_text()))
            if same(ours, parsed[name]):
                to_us += 1
            else:
                print("jaxlib -> ours differs:", name)
                for a, b in zip(text(parsed[name]).splitlines(), text(ours).splitlines()):
                    if a != b:
                        print("  -", a[:200])
                        print("  +", b[:200])
                        break
        except Exception as error:
            print("jaxlib -> ours:", name, str(error).splitlines()[0][:200])
    print(f"{len(names)} modules: {to_jaxlib} the same from us to jaxlib, {to_us} from jaxlib to us")


main()

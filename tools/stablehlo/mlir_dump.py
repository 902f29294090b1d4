"""One line for each operation and block of a module, made with jaxlib's own MLIR.

`crates/stablehlo/examples/dump_bytecode.rs` writes the same form from what rxla reads.
"""

import io
import struct

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def string(data):
    if isinstance(data, str):
        data = data.encode()
    out = []
    for byte in data:
        if byte in b'"\\' or byte < 32 or byte >= 127:
            out.append(f"\\{byte:02X}")
        else:
            out.append(chr(byte))
    return '"' + "".join(out) + '"'


def escape_text(text):
    """MLIR's printed text, with its quoted strings escaped as `string` does."""
    if '"' not in text:
        return text
    out, at = [], 0
    while at < len(text):
        if text[at] != '"':
            out.append(text[at])
            at += 1
            continue
        at += 1
        data = bytearray()
        while text[at] != '"':
            if text[at] == "\\":
                if text[at + 1] in '\\"':
                    data += text[at + 1].encode()
                    at += 2
                else:
                    data.append(int(text[at + 1 : at + 3], 16))
                    at += 3
            else:
                data += text[at].encode()
                at += 1
        at += 1
        out.append(string(bytes(data)))
    return "".join(out)


def dense(attr):
    kind = "splat" if attr.is_splat else "all"
    ty = ir.ShapedType(attr.type)
    if any(ty.is_dynamic_dim(i) for i in range(ty.rank)):
        raise ValueError("dynamic constant")
    count = 1
    for size in ty.shape:
        count *= size
    if count == 0:
        return f"dense {type_text(attr.type)} all "
    if count == 1:
        kind = "splat"
    return f"dense {type_text(attr.type)} {kind} {raw(attr, count, kind == 'splat').hex()}"


def element_size(ty):
    if isinstance(ty, ir.ComplexType):
        return 2 * element_size(ir.ComplexType(ty).element_type)
    if isinstance(ty, ir.IndexType):
        return 8
    return (ty.width + 7) // 8


def raw(attr, count, splat):
    """Elements as bytes, taken from bytecode of just this constant, which holds them plainly."""
    element = ir.ShapedType(attr.type).element_type
    if isinstance(element, ir.IntegerType) and element.width == 1:
        values = [attr.get_splat_value().value] if splat else [attr[i] for i in range(count)]
        return bytes(int(bool(value)) for value in values)
    module = ir.Module.create(ir.Location.unknown(attr.context))
    module.operation.attributes["a.x"] = attr
    out = io.BytesIO()
    module.operation.write_bytecode(out)
    return find_blob(out.getvalue(), element_size(element) * (1 if splat else count))


def varint(data, at):
    first = data[at]
    if first & 1:
        return first >> 1, at + 1
    extra = (first & -first).bit_length() - 1 if first else 8
    if extra == 8:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    return int.from_bytes(data[at : at + 1 + extra], "little") >> (extra + 1), at + 1 + extra


def find_blob(data, size):
    """The blob of the only dense constant in a file: code 18, a type, a length, the bytes."""
    at = data.index(0, 4) + 1
    while at < len(data):
        ident = data[at]
        length, start = varint(data, at + 1)
        if ident & 0x80:
            alignment, start = varint(data, start)
            start = -(-start // alignment) * alignment
        if ident & 0x7F == 2:
            section = data[start : start + length]
            for place in range(len(section)):
                if section[place] != 18 * 2 + 1:
                    continue
                _, after = varint(section, place + 1)
                if after >= len(section):
                    continue
                found, after = varint(section, after)
                if found == size and after + size <= len(section):
                    return section[after : after + size]
        at = start + length
    raise ValueError("no blob")


def is_complex(op):
    """Whether this is a complex constant, whose attribute the bindings abort on."""
    if op.name != "stablehlo.constant":
        return False
    ty = op.results[0].type
    return isinstance(ty, ir.RankedTensorType) and isinstance(ty.element_type, ir.ComplexType)


def complex_constant(op):
    ty = ir.ShapedType(op.results[0].type)
    size, count = element_size(ty.element_type), 1
    for dimension in ty.shape:
        count *= dimension
    text = f"dense {type_text(op.results[0].type)}"
    if count == 0:
        return f"{text} all "
    with ir.Location.unknown(op.context):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            op.clone()
    out = io.BytesIO()
    module.operation.write_bytecode(out)
    if count > 1:
        try:
            return f"{text} all {find_blob(out.getvalue(), size * count).hex()}"
        except ValueError:
            pass
    return f"{text} splat {find_blob(out.getvalue(), size).hex()}"


def type_text(ty):
    if isinstance(ty, ir.RankedTensorType):
        shape = "".join(
            "?x" if ty.is_dynamic_dim(i) else f"{ty.get_dim_size(i)}x" for i in range(ty.rank)
        )
        encoding = f", {attr_text(ty.encoding)}" if ty.encoding is not None else ""
        return f"tensor<{shape}{type_text(ty.element_type)}{encoding}>"
    if isinstance(ty, ir.ComplexType):
        return f"complex<{type_text(ty.element_type)}>"
    text = str(ty)
    if "!quant.uniform" in text:
        return quant_text(text)
    return text


def quant_text(text):
    """Scales as Python's shortest decimals."""
    import re

    def number(match):
        value = repr(float(match.group(0)))
        value = re.sub(r"e-0*", "e-", value)
        return value

    return re.sub(r"(?<![\w.])-?\d+\.\d+(?:[eE][+-]?\d+)?", number, text)


def attr_text(attr):
    if isinstance(attr, ir.UnitAttr):
        return "unit"
    if isinstance(attr, ir.BoolAttr):
        return "true" if attr.value else "false"
    if isinstance(attr, ir.IntegerAttr):
        return f"{attr.value} : {type_text(attr.type)}"
    if isinstance(attr, ir.FloatAttr):
        bits = struct.unpack("<Q", struct.pack("<d", attr.value))[0]
        return f"{bits:016x} : {attr.type}"
    if isinstance(attr, ir.StringAttr):
        return string(attr.value_bytes)
    if isinstance(attr, ir.TypeAttr):
        return type_text(attr.value)
    if isinstance(attr, ir.ArrayAttr):
        return "[" + ", ".join(attr_text(item) for item in attr) + "]"
    if isinstance(attr, ir.DictAttr):
        return "{" + ", ".join(f"{attr[i].name} = {attr_text(attr[i].attr)}" for i in range(len(attr))) + "}"
    if isinstance(attr, ir.DenseElementsAttr):
        return dense(attr)
    for cls, name in (
        (ir.DenseBoolArrayAttr, "i1"), (ir.DenseI8ArrayAttr, "i8"), (ir.DenseI16ArrayAttr, "i16"),
        (ir.DenseI32ArrayAttr, "i32"), (ir.DenseI64ArrayAttr, "i64"),
    ):
        if isinstance(attr, cls):
            items = ", ".join(str(bool(v)).lower() if name == "i1" else str(v) for v in attr)
            return f"array<{name}: {items}>" if items else f"array<{name}>"
    text = str(attr)
    if text.startswith('dense<["'):
        values, ty = text.removeprefix("dense<[").rsplit("]> : ", 1)
        return f"strings {ty} {values}"
    for name, pack, unpack in (("f32", "<f", "<I"), ("f64", "<d", "<Q")):
        if text.startswith(f"array<{name}: "):
            numbers = text[len(name) + 8 : -1].split(", ")
            bits = (struct.unpack(unpack, struct.pack(pack, float(number)))[0] for number in numbers)
            return f"array<{name}: " + ", ".join(f"{number:x}" for number in bits) + ">"
    if text.startswith("#stablehlo.result_accuracy") or text.startswith("#stablehlo<result_accuracy"):
        return result_accuracy(text)
    return escape_text(text)


def result_accuracy(text):
    import re

    numbers = dict(re.findall(r"(atol|rtol|ulps) = ([-+.\deE]+)", text))
    mode = re.search(r"mode = #stablehlo\.result_accuracy_mode<(\w+)>", text)
    bits = lambda key: struct.unpack("<Q", struct.pack("<d", float(numbers.get(key, 0))))[0]
    return f"accuracy {bits('atol'):016x} {bits('rtol'):016x} {int(numbers.get('ulps', 0))} {mode.group(1) if mode else 'DEFAULT'}"


def loc_text(loc):
    if isinstance(loc, ir.NameLoc):
        return f"{string(loc.name_str)}({loc_text(loc.child_loc)})"
    if isinstance(loc, ir.CallSiteLoc):
        return f"callsite({loc_text(loc.callee)} at {loc_text(loc.caller)})"
    if isinstance(loc, ir.FusedLoc):
        return "fused[" + ", ".join(loc_text(child) for child in loc.locations) + "]"
    if isinstance(loc, ir.FileLineColLoc):
        name = loc.filename
        text = f"{string(getattr(name, 'value', name))}:{loc.start_line}:{loc.start_col}"
        if (loc.start_line, loc.start_col) != (loc.end_line, loc.end_col):
            text += f" to {loc.end_line}:{loc.end_col}"
        return text
    return "?"


class Dump:
    def __init__(self):
        self.lines = []
        self.numbers = {}

    def number(self, value):
        self.numbers[value] = len(self.numbers)

    def operation(self, op, depth):
        operands = ", ".join(str(self.numbers.get(v, "forward")) for v in op.operands)
        results = ", ".join(type_text(r.type) for r in op.results)
        attributes = {}
        if "." in op.name and not op.name.split(".")[0] in ("stablehlo", "func", "builtin", "sdy", "chlo"):
            # The bindings do not show the properties of operations that are not registered.
            self.lines.append(f"{depth} {op.name} unregistered")
            return
        for i in range(len(op.attributes)):
            named = op.attributes[i]
            if named.name == "value" and is_complex(op):
                attributes[named.name] = complex_constant(op)
            else:
                attributes[named.name] = attr_text(named.attr)
        text = "; ".join(f"{name} = {attributes[name]}" for name in sorted(attributes))
        self.lines.append(
            f"{depth} {op.name} ({operands}) -> ({results}) {{{text}}} {loc_text(op.location)}"
        )
        for result in op.results:
            self.number(result)
        for region in op.regions:
            self.lines.append(f"{depth} region")
            for block in region.blocks:
                arguments = ", ".join(f"{type_text(a.type)} {loc_text(a.location)}" for a in block.arguments)
                self.lines.append(f"{depth} block ({arguments})")
                for argument in block.arguments:
                    self.number(argument)
                for inner in block.operations:
                    self.operation(inner.operation, depth + 1)


def dump(module):
    with module.context:
        out = Dump()
        out.operation(module.operation, 0)
        return "\n".join(out.lines) + "\n"

"""Reads and rewrites protocol buffers field by field, without their descriptions.

What is not asked for goes through as it is, in its order.
"""

import re

# Fields of XLA's HloProto, HloModuleProto, HloComputationProto, HloInstructionProto, ShapeProto and StackFrameIndexProto.
MODULE_OF_PROTO = 1
COMPUTATIONS, STACK_FRAMES = 3, 17
INSTRUCTIONS = 2
OPCODE, SHAPE, METADATA, TARGET = 2, 3, 7, 28
ELEMENT_TYPE, PARTS = 2, 4
SOURCE_FILE, FILE_NAMES = 3, 1


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def as_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data: bytes):
    """(number, kind, content) of each field; the content of numbers is an integer, of all else bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            content, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            content, at = data[at : at + size], at + size
        else:
            size = {1: 8, 5: 4}[kind]
            content, at = data[at : at + size], at + size
        yield number, kind, content


def of(data: bytes, number: int) -> list:
    """The contents of all fields of a number."""
    return [content for found, _, content in fields(data) if found == number]


def edit(data: bytes, edits: dict) -> bytes:
    """The message with each field of bytes that `edits` has a function for replaced, or dropped where it gives None."""
    out = bytearray()
    for number, kind, content in fields(data):
        if number in edits and kind == 2:
            content = edits[number](content)
            if content is None:
                continue
        out += as_varint(number << 3 | kind)
        if kind == 0:
            out += as_varint(content)
        elif kind == 2:
            out += as_varint(len(content)) + content
        else:
            out += content
    return bytes(out)


def without_metadata(module: bytes) -> bytes:
    """An HloModuleProto that says nothing of who wrote it where."""
    instruction = lambda data: edit(data, {METADATA: lambda _: None})
    computation = lambda data: edit(data, {INSTRUCTIONS: instruction})
    return edit(module, {COMPUTATIONS: computation, STACK_FRAMES: lambda _: None})


def without_folders(module: bytes) -> bytes:
    """An HloModuleProto whose sources are named without the folders of the machine that made it."""
    metadata = lambda data: edit(data, {SOURCE_FILE: short})
    instruction = lambda data: edit(data, {METADATA: metadata})
    computation = lambda data: edit(data, {INSTRUCTIONS: instruction})
    frames = lambda data: edit(data, {FILE_NAMES: short})
    return edit(module, {COMPUTATIONS: computation, STACK_FRAMES: frames})


def short(path: bytes) -> bytes:
    return re.sub(rb"^.*/(?=site-packages/)", b"", path) if b"/site-packages/" in path else path.rpartition(b"/")[2]

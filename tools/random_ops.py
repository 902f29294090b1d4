#!/usr/bin/env python3
"""Writes modules of one op each with random attributes, types and sizes, for tools/oracle.py to compare.

  tools/random_ops.py FOLDER [--count N] [--seed N]
"""

import argparse
import os
import random

FLOATS, INTEGERS = ["f32", "f64"], ["s32", "s64", "u8", "s8", "u32"]
REAL = FLOATS + INTEGERS


def braces(values):
    return "{" + ",".join(map(str, values)) + "}"


def array(kind, dims):
    return f"{kind}[{','.join(map(str, dims))}]"


def reducer(name, kind, op):
    return f"{name} {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = {kind}[] {op} }}\n"


def dims_of(r, rank, low=1, high=5):
    return [r.randint(low, high) for _ in range(rank)]


def convolution(r):
    kind = r.choice(["f32", "f64", "s32", "c64"])
    rank = r.randint(1, 3)
    groups, batch_groups = r.choice([(1, 1), (2, 1), (1, 2), (3, 1)])
    batch, features = 2 * batch_groups, r.randint(1, 3) * groups
    out_features = r.randint(1, 3) * groups * batch_groups
    size, kernel = dims_of(r, rank, 3, 7), dims_of(r, rank, 1, 3)
    window, result = [], []
    for n, k in zip(size, kernel):
        low, high = r.randint(-1, 2), r.randint(-1, 2)
        stride, base, dilation, reverse = r.randint(1, 2), r.randint(1, 2), r.randint(1, 2), r.randint(0, 1)
        padded = (n - 1) * base + 1 + low + high
        span = (k - 1) * dilation + 1
        result.append(0 if padded < span else (padded - span) // stride + 1)
        window.append((k, stride, f"{low}_{high}", base, dilation, reverse))
    parts = zip(("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"), zip(*window))
    text = " ".join(f"{name}={'x'.join(map(str, values))}" for name, values in parts)
    digits = [str(i) for i in range(rank)]

    def labelled(first, second, sizes, extra):
        letters = [first, second] + digits
        values = dict(zip(letters, [*extra, *sizes]))
        r.shuffle(letters)
        return "".join(letters), [values[letter] for letter in letters]

    lhs, lhs_dims = labelled("b", "f", size, (batch, features))
    rhs, rhs_dims = labelled("i", "o", kernel, (features // groups, out_features))
    out, out_dims = labelled("b", "f", result, (batch // batch_groups, out_features))
    return "", [array(kind, lhs_dims), array(kind, rhs_dims)], (
        f"{array(kind, out_dims)} convolution(p0, p1), window={{{text}}}, dim_labels={lhs}_{rhs}->{out}, "
        f"feature_group_count={groups}, batch_group_count={batch_groups}"
    )


def dot(r):
    kind = r.choice(REAL + ["c64", "bf16", "f16"])
    batch, contracting = dims_of(r, r.randint(0, 2), 1, 3), dims_of(r, r.randint(0, 2), 1, 9)
    free = [dims_of(r, r.randint(0, 2), 1, 9) for _ in range(2)]
    sides = []
    for own in free:
        order = [("b", i) for i in range(len(batch))] + [("c", i) for i in range(len(contracting))] + [("f", i) for i in range(len(own))]
        frees = [entry for entry in order if entry[0] == "f"]
        r.shuffle(order)
        # Free dimensions keep their order.
        it = iter(frees)
        order = [next(it) if entry[0] == "f" else entry for entry in order]
        sizes = {"b": batch, "c": contracting, "f": own}
        sides.append(([sizes[k][i] for k, i in order], [order.index(("b", i)) for i in range(len(batch))], [order.index(("c", i)) for i in range(len(contracting))]))
    (lhs, lb, lc), (rhs, rb, rc) = sides
    return "", [array(kind, lhs), array(kind, rhs)], (
        f"{array(kind, batch + free[0] + free[1])} dot(p0, p1), lhs_batch_dims={braces(lb)}, lhs_contracting_dims={braces(lc)}, "
        f"rhs_batch_dims={braces(rb)}, rhs_contracting_dims={braces(rc)}"
    )


def reduce(r):
    kind, rank = r.choice(REAL), r.randint(1, 4)
    dims = dims_of(r, rank, 0 if r.random() < 0.1 else 1, 7)
    # XLA takes a reduction over no dimension for its operand, whatever the initial value.
    reduced = sorted(r.sample(range(rank), r.randint(1, rank)))
    op = r.choice(["add(a, b)", "maximum(a, b)", "minimum(b, a)", "multiply(a, b)"])
    out = [n for d, n in enumerate(dims) if d not in reduced]
    return reducer("f", kind, op), [array(kind, dims), f"{kind}[]"], f"{array(kind, out)} reduce(p0, p1), dimensions={braces(reduced)}, to_apply=f"


def reduce_window(r):
    kind, rank = r.choice(REAL), r.randint(1, 3)
    dims, sizes = dims_of(r, rank, 2, 8), dims_of(r, rank, 1, 3)
    window, out = [], []
    for n, k in zip(dims, sizes):
        low, high, stride, base, dilation = r.randint(0, 2), r.randint(0, 2), r.randint(1, 3), r.randint(1, 2), r.randint(1, 2)
        padded, span = (n - 1) * base + 1 + low + high, (k - 1) * dilation + 1
        if padded < span:
            high += span - padded
            padded = span
        out.append((padded - span) // stride + 1)
        window.append((k, stride, f"{low}_{high}", base, dilation))
    parts = zip(("size", "stride", "pad", "lhs_dilate", "rhs_dilate"), zip(*window))
    text = " ".join(f"{name}={'x'.join(map(str, values))}" for name, values in parts)
    lowest = {"u8": "0", "s8": "-128", "s32": "-2147483648", "s64": "-9223372036854775808", "u32": "0"}.get(kind, "-inf")
    op, initial = r.choice([("add(a, b)", "0"), ("maximum(a, b)", lowest)])
    return reducer("f", kind, op), [array(kind, dims)], f"{array(kind, out)} reduce-window(p0, z), window={{{text}}}, to_apply=f", f"z = {kind}[] constant({initial})"


def select_and_scatter(r):
    # Floats hardly ever tie: in which order XLA's CPU backend goes over a window depends on the shape.
    kind, rank = r.choice(["f32", "f64"]), r.randint(1, 3)
    dims, sizes = dims_of(r, rank, 3, 8), dims_of(r, rank, 1, 3)
    window, out = [], []
    for n, k in zip(dims, sizes):
        low, high, stride = r.randint(0, k - 1), r.randint(0, k - 1), r.randint(1, 3)
        out.append((n + low + high - k) // stride + 1)
        window.append((k, stride, f"{low}_{high}"))
    parts = zip(("size", "stride", "pad"), zip(*window))
    text = " ".join(f"{name}={'x'.join(map(str, values))}" for name, values in parts)
    ge = f"ge {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  ROOT r = pred[] compare(a, b), direction=GE }}\n"
    return reducer("f", kind, "add(a, b)") + ge, [array(kind, dims), array(kind, out)], (
        f"{array(kind, dims)} select-and-scatter(p0, p1, z), window={{{text}}}, select=ge, scatter=f"
    ), f"z = {kind}[] constant(0)"


def slices(r):
    """Shared by gather and scatter: operand, indices, window and how they belong together."""
    rank = r.randint(1, 4)
    operand = dims_of(r, rank, 1, 5)
    batching = sorted(r.sample(range(rank), r.randint(0, min(1, rank - 1))))
    rest = [d for d in range(rank) if d not in batching]
    mapped = r.sample(rest, r.randint(0, len(rest)))
    sizes = [1 if d in batching else r.randint(1, operand[d]) for d in range(rank)]
    collapsed = sorted(d for d in rest if sizes[d] == 1 and r.random() < 0.7)
    window = [d for d in range(rank) if d not in collapsed and d not in batching]
    batch = dims_of(r, r.randint(0, 2), 1, 4)
    at = []
    for d in batching:
        position = r.randint(0, len(batch))
        at = [p + (p >= position) for p in at]
        batch.insert(position, operand[d])
        at.append(position)
    vector = r.randint(0, len(batch))
    indices = batch[:vector] + [len(mapped)] + batch[vector:]
    if len(mapped) == 1 and r.random() < 0.3:
        vector, indices = len(batch), batch
    indices_batching = [p + (p >= vector) for p in at] if len(indices) > len(batch) else at
    out_rank = len(batch) + len(window)
    offsets = sorted(r.sample(range(out_rank), len(window)))
    out, b, w = [], iter(batch), iter(window)
    for d in range(out_rank):
        out.append(sizes[next(w)] if d in offsets else next(b))
    return operand, indices, sizes, collapsed, batching, indices_batching, mapped, vector, offsets, out


def gather(r):
    kind = r.choice(REAL + ["c64", "bf16", "pred"])
    operand, indices, sizes, collapsed, batching, indices_batching, mapped, vector, offsets, out = slices(r)
    return "", [array(kind, operand), array(r.choice(["s32", "u8", "s64"]), indices)], (
        f"{array(kind, out)} gather(p0, p1), offset_dims={braces(offsets)}, collapsed_slice_dims={braces(collapsed)}, "
        f"start_index_map={braces(mapped)}, operand_batching_dims={braces(batching)}, "
        f"start_indices_batching_dims={braces(indices_batching)}, index_vector_dim={vector}, slice_sizes={braces(sizes)}"
    )


def scatter(r):
    kind = r.choice(REAL)
    operand, indices, _, collapsed, batching, indices_batching, mapped, vector, offsets, out = slices(r)
    op = r.choice(["add(a, b)", "maximum(a, b)", "minimum(a, b)"])
    return reducer("f", kind, op), [array(kind, operand), array(r.choice(["s32", "s64"]), indices), array(kind, out)], (
        f"{array(kind, operand)} scatter(p0, p1, p2), update_window_dims={braces(offsets)}, inserted_window_dims={braces(collapsed)}, "
        f"scatter_dims_to_operand_dims={braces(mapped)}, input_batching_dims={braces(batching)}, "
        f"scatter_indices_batching_dims={braces(indices_batching)}, index_vector_dim={vector}, to_apply=f"
    )


def pad(r):
    kind, rank = r.choice(REAL + ["pred", "c64"]), r.randint(1, 3)
    dims, text, out = dims_of(r, rank, 0, 5), [], []
    for n in dims:
        low, high, interior = r.randint(-2, 3), r.randint(-2, 3), r.randint(0, 2)
        size = n + low + high + interior * max(n - 1, 0)
        if size < 0:
            high -= size
            size = 0
        text.append(f"{low}_{high}_{interior}")
        out.append(size)
    return "", [array(kind, dims), f"{kind}[]"], f"{array(kind, out)} pad(p0, p1), padding={'x'.join(text)}"


def sort(r):
    kind, rank = r.choice(REAL), r.randint(1, 3)
    dims, dimension = dims_of(r, rank, 1, 40 if rank == 1 else 9), r.randrange(rank)
    direction = r.choice(["LT", "GT"])
    if r.random() < 0.5:
        body = f"c {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  k = s32[] parameter(2)  l = s32[] parameter(3)  ROOT r = pred[] compare(a, b), direction={direction} }}\n"
    else:
        # No key in any one operand.
        body = (
            f"c {{ a = {kind}[] parameter(0)  b = {kind}[] parameter(1)  k = s32[] parameter(2)  l = s32[] parameter(3)  x = pred[] compare(a, b), direction={direction}  "
            f"y = pred[] compare(a, b), direction=EQ  z = pred[] compare(k, l), direction=LT  n = pred[] not(y)  s = pred[] select(n, x, z)  ROOT r = pred[] and(s, s) }}\n"
        )
    shape = f"({array(kind, dims)}, {array('s32', dims)})"
    return body, [array(kind, dims), array("s32", dims)], f"{shape} sort(p0, p1), dimensions={{{dimension}}}, is_stable=true, to_apply=c"


def dynamic(r):
    kind, rank = r.choice(REAL + ["pred"]), r.randint(1, 3)
    dims = dims_of(r, rank, 1, 6)
    sizes = [r.randint(0 if r.random() < 0.1 else 1, n) for n in dims]
    starts = ", ".join(f"p{2 + i}" for i in range(rank))
    indices = [f"{r.choice(['s32', 's32', 'u8'])}[]"] * rank
    if r.random() < 0.5:
        return "", [array(kind, dims), f"{kind}[]", *indices], f"{array(kind, sizes)} dynamic-slice(p0, {starts}), dynamic_slice_sizes={braces(sizes)}"
    return "", [array(kind, dims), array(kind, sizes), *indices], f"{array(kind, dims)} dynamic-update-slice(p0, p1, {starts})"


def fft(r):
    rank = r.randint(1, 3)
    batch, length = dims_of(r, r.randint(0, 1), 1, 3), dims_of(r, rank, 1, 12)
    wide = r.random() < 0.5
    real, complex_ = ("f64", "c128") if wide else ("f32", "c64")
    half = length[:-1] + [length[-1] // 2 + 1]
    kind = r.choice(["FFT", "IFFT", "RFFT", "IRFFT"])
    given, result = {
        "FFT": (array(complex_, batch + length), array(complex_, batch + length)),
        "IFFT": (array(complex_, batch + length), array(complex_, batch + length)),
        "RFFT": (array(real, batch + length), array(complex_, batch + half)),
        "IRFFT": (array(complex_, batch + half), array(real, batch + length)),
    }[kind]
    return "", [given], f"{result} fft(p0), fft_type={kind}, fft_length={braces(length)}"


def movement(r):
    kind, rank = r.choice(REAL + ["pred", "c64", "c128", "bf16"]), r.randint(1, 4)
    dims = dims_of(r, rank, 0 if r.random() < 0.1 else 1, 12 if rank < 3 else 6)
    order = list(range(rank))
    r.shuffle(order)
    choice = r.randrange(4)
    if choice == 0:
        return "", [array(kind, dims)], f"{array(kind, [dims[d] for d in order])} transpose(p0), dimensions={braces(order)}"
    if choice == 1:
        return "", [array(kind, dims)], f"{array(kind, dims)} reverse(p0), dimensions={braces(sorted(order[: r.randint(0, rank)]))}"
    if choice == 2:
        cut = [(start := r.randint(0, n), r.randint(start, n), r.randint(1, 3)) for n in dims]
        out = [-(-(limit - start) // stride) for start, limit, stride in cut]
        text = ",".join(f"[{start}:{limit}:{stride}]" for start, limit, stride in cut)
        return "", [array(kind, dims)], f"{array(kind, out)} slice(p0), slice={{{text}}}"
    dimension = r.randrange(rank)
    other = list(dims)
    other[dimension] = r.randint(0, 4)
    out = list(dims)
    out[dimension] += other[dimension]
    return "", [array(kind, dims), array(kind, other)], f"{array(kind, out)} concatenate(p0, p1), dimensions={{{dimension}}}"


OPS = [convolution, dot, reduce, reduce_window, select_and_scatter, gather, scatter, pad, sort, dynamic, fft, movement]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for number in range(arguments.count):
        op = OPS[number % len(OPS)]
        computations, parameters, body, *before = op(random.Random(f"{arguments.seed} {number}"))
        lines = [f"  p{i} = {shape} parameter({i})" for i, shape in enumerate(parameters)]
        lines += [f"  {line}" for line in before] + [f"  ROOT r = {body}"]
        text = "\n".join([f"HloModule {op.__name__}_{number}", computations, "ENTRY e {", *lines, "}", ""])
        with open(os.path.join(arguments.folder, f"{op.__name__}_{number:05}.hlo"), "w") as handle:
            handle.write(text)


if __name__ == "__main__":
    main()

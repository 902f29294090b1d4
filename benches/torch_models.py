"""The programs of the group `models` once more, written as one writes them in PyTorch.

Mathematics, shapes and parameters are those of `workloads/models.py` and `workloads/transformers.py`; what differs
is what the idioms of the libraries differ in. Images and kernels lie as PyTorch's layers have them, layers are its
own (`scaled_dot_product_attention`, `lstm`, norms), windows with strides are padded alike on both sides, as in its
own networks, and parameters and caches are updated where they are.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch.nn import functional as F

RATE = 0.01
# Pads windows with strides as JAX's "SAME" does, which costs a copy: to compare results, not times.
same_padding = False
# Caches are updated where they are, or made anew: an exported program has no places.
in_place = True


@dataclasses.dataclass(frozen=True)
class Program:
    """`run` takes the arguments of the workload; the first `fixed` of them are parameters. A `train` program gives
    its loss. `linear` names the weights that PyTorch's layers keep by outputs."""

    run: Callable
    fixed: int = 1
    train: bool = False
    images: bool = False
    linear: tuple[str, ...] = ()
    bf16: bool = False

    def order(self, path: str, leaf: np.ndarray) -> tuple[tuple, tuple]:
        """The order of a leaf's dimensions here, and the way back."""
        if self.images and leaf.ndim == 4:
            kernel = int(path.split(".")[1]) < self.fixed
            return ((3, 2, 0, 1), (2, 3, 1, 0)) if kernel else ((0, 3, 1, 2), (0, 2, 3, 1))
        if leaf.ndim == 2 and path.rsplit(".", 1)[1] in self.linear:
            return (1, 0), (1, 0)
        return tuple(range(leaf.ndim)), tuple(range(leaf.ndim))

    def tensors(self, args):
        """The arguments as PyTorch's layers have them."""

        def tensor(path, leaf):
            leaf = np.asarray(leaf)
            value = torch.from_numpy(np.array(leaf.transpose(self.order(path, leaf)[0]), order="C"))
            if value.dtype == torch.float32:
                if self.bf16:
                    value = value.bfloat16()
                if value.dim() == 4 and self.images:
                    value = value.contiguous(memory_format=torch.channels_last)
                if self.train and int(path.split(".")[1]) < self.fixed:
                    value.requires_grad_()
            return value

        return mapped(tensor, args)

    def results(self, value, args) -> list[np.ndarray]:
        """What the workload gives, in its order: updated parameters, after the loss if it gives that, or outputs."""
        if self.train:
            parameters = args[: self.fixed]
            # Some workloads give parameters alone; those have no tree of them.
            loss = [value.detach().numpy()] if self.fixed == 1 else []
            return loss + [array(leaf, self.order(path, leaf)[1]) for path, leaf in leaves(parameters)]
        return [self.output(leaf) for _, leaf in leaves(value)]

    def output(self, leaf: torch.Tensor) -> np.ndarray:
        return array(leaf, (0, 2, 3, 1) if self.images and leaf.ndim == 4 else range(leaf.ndim))


def array(leaf: torch.Tensor, order) -> np.ndarray:
    leaf = leaf.detach()
    return np.array((leaf.float() if leaf.dtype == torch.bfloat16 else leaf).numpy().transpose(order))


def leaves(tree, path: str = "") -> Iterator[tuple[str, object]]:
    """All leaves of dictionaries and sequences with their paths, such as `.0.blocks.3.qkv`."""
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from leaves(tree[key], f"{path}.{key}")
    elif isinstance(tree, (list, tuple)):
        for key, value in enumerate(tree):
            yield from leaves(value, f"{path}.{key}")
    else:
        yield path, tree


def mapped(function: Callable, tree, path: str = ""):
    if isinstance(tree, dict):
        return {key: mapped(function, value, f"{path}.{key}") for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [mapped(function, value, f"{path}.{key}") for key, value in enumerate(tree)]
    return function(path, tree)


def conv(x, w, stride=1, groups=1):
    size = w.shape[-1]
    if same_padding and stride > 1 and size > 1:
        return F.conv2d(padded(x, size, stride), w, None, stride, 0, 1, groups)
    return F.conv2d(x, w, None, stride, size // 2, 1, groups)


def padded(x, size, stride, value=0.0):
    more = max((-(-x.shape[-1] // stride) - 1) * stride + size - x.shape[-1], 0)
    return F.pad(x, (more // 2, more - more // 2) * 2, value=value)


def mlp(a, b, c, x):
    return F.linear(F.relu(F.linear(F.relu(F.linear(x, a)), b)), c)


def mlp_loss(a, b, c, x, y):
    return F.cross_entropy(mlp(a, b, c, x), y.long())


def cnn_loss(a, b, c, x, y):
    x = F.max_pool2d(F.relu(conv(x, a)), 2)
    x = F.max_pool2d(F.relu(conv(x, b)), 2)
    # The weights' rows are in the order of rows, columns, channels.
    return F.cross_entropy(F.linear(x.permute(0, 2, 3, 1).flatten(1), c), y.long())


def resnet50(params, x, train=False):
    def unit(p, x, stride=1):
        norm = p["norm"]
        statistics = (None, None) if train else (norm["mean"], norm["variance"])
        return F.batch_norm(conv(x, p["w"], stride), *statistics, norm["scale"], norm["shift"], train, 0.1, 1e-5)

    x = F.relu(unit(params["stem"], x, 2))
    x = F.max_pool2d(padded(x, 3, 2, -torch.inf), 3, 2) if same_padding else F.max_pool2d(x, 3, 2, 1)
    for i, p in enumerate(params["blocks"]):
        stride = 2 if i in (3, 7, 13) else 1
        y = F.relu(unit(p["a"], x))
        y = F.relu(unit(p["b"], y, stride))
        y = unit(p["c"], y)
        x = F.relu(y + (unit(p["skip"], x, stride) if "skip" in p else x))
    return F.linear(x.mean((2, 3)), params["head"])


def resnet50_loss(params, x, y):
    return F.cross_entropy(resnet50(params, x, True), y.long())


def mobile_block(wide, depth, narrow, x):
    y = F.relu6(conv(x, wide))
    y = F.relu6(conv(y, depth, groups=y.shape[1]))
    return x + conv(y, narrow)


def unet_loss(params, x, target):
    def double(x, pair):
        for w in pair:
            x = F.silu(F.group_norm(conv(x, w), 8))
        return x

    skip = double(x, params["in"])
    low = double(F.avg_pool2d(skip, 2), params["low"])
    high = F.interpolate(low, scale_factor=2, mode="nearest")
    out = double(torch.cat([skip, high], 1), params["out"])
    return F.mse_loss(conv(out, params["last"]), target)


def lstm_loss(params, tokens):
    x = F.embedding(tokens[:-1], params["embed"])
    zeros = torch.zeros(1, x.shape[1], 256)
    for p in params["layers"]:
        weights = [p["x"], p["h"], p["b"], torch.zeros_like(p["b"])]
        x = torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, True, False, False)[0]
    return F.cross_entropy(F.linear(x, params["head"]).flatten(0, 1), tokens[1:].flatten().long())


def dlrm_loss(params, dense, sparse, clicked):
    def tower(layers, x):
        for w, b in layers:
            x = F.relu(x @ w + b)
        return x

    bottom = tower(params["bottom"], dense)
    # One table of all rows: its gradient is dense, as in JAX.
    rows = F.embedding(sparse + 10_000 * torch.arange(26, dtype=torch.int32), params["tables"].flatten(0, 1))
    every = torch.cat([bottom[:, None], rows], 1)
    pairs = every @ every.transpose(1, 2)
    low = np.tril_indices(27, -1)
    x = tower(params["top"], torch.cat([bottom, pairs[:, low[0], low[1]]], 1))
    return F.binary_cross_entropy_with_logits((x @ params["last"])[:, 0], clicked)


def ode_loss(params, start, end):
    def field(y):
        for w, b in params[:-1]:
            y = torch.tanh(torch.addmm(b, y, w))
        w, b = params[-1]
        return torch.addmm(b, y, w)

    h, y = 0.05, start
    for _ in range(20):
        a = field(y)
        b = field(y + h / 2 * a)
        c = field(y + h / 2 * b)
        d = field(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return F.mse_loss(y, end)


def kmeans(points, centres):
    ones = torch.ones(points.shape[0])
    for _ in range(10):
        nearest = torch.argmin((centres**2).sum(1) - 2 * points @ centres.T, 1)
        sums = torch.zeros_like(centres).index_add(0, nearest, points)
        counts = torch.zeros(centres.shape[0]).index_add(0, nearest, ones)
        centres = sums / counts.clamp(min=1)[:, None]
    return centres


def norm(x, gain):
    return F.layer_norm(x, gain.shape, gain, None, 1e-5)


def block(p, x, heads, attention):
    """`attention` takes queries, keys and values by heads."""
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(1, 2) for part in F.linear(norm(x, p["g1"]), p["qkv"]).chunk(3, -1))
    x = x + F.linear(attention(q, k, v).transpose(1, 2).flatten(2), p["out"])
    return x + F.linear(F.gelu(F.linear(norm(x, p["g2"]), p["up"]), approximate="tanh"), p["down"])


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def gpt(params, tokens, heads):
    x = F.embedding(tokens, params["embed"]) + params["places"]
    for p in params["blocks"]:
        x = block(p, x, heads, causal)
    return x


def gpt_loss(heads):
    def loss(params, tokens):
        logits = F.linear(gpt(params, tokens[:, :-1], heads), params["embed"])
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten().long())

    return loss


def prefill(params, tokens):
    return F.linear(gpt(params, tokens, 12)[:, -1], params["embed"])


def decode(params, caches, token, at):
    x = (F.embedding(token, params["embed"]) + F.embedding(at.reshape(1), params["places"]))[:, None]
    seen = (torch.arange(256) <= at)[None, None, None]
    place = at.reshape(1).long()
    updated = []
    for p, cache in zip(params["blocks"], caches):
        def attention(q, k, v):
            copy = torch.Tensor.index_copy_ if in_place else torch.Tensor.index_copy
            keys, values = (copy(c, 2, place, new) for c, new in zip(cache, (k, v)))
            updated.append([keys, values])
            return F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)

        x = block(p, x, 12, attention)
    return F.linear(x[:, 0], params["embed"]), updated


def vit(params, image):
    x = F.conv2d(image, params["patch"], stride=16).flatten(2).transpose(1, 2)
    x = torch.cat([params["class"].expand(x.shape[0], 1, 768), x], 1) + params["places"]
    for p in params["blocks"]:
        x = block(p, x, 12, F.scaled_dot_product_attention)
    return F.linear(norm(x[:, 0], params["gain"]), params["head"])


def moe_loss(params, x, target):
    gates = torch.softmax(x @ params["route"], -1)
    best, which = torch.topk(gates, 2)
    best = best / best.sum(-1, keepdim=True)
    chosen = F.one_hot(which, 8).float()
    place = chosen.reshape(-1, 8).cumsum(0).reshape(chosen.shape) - 1
    place = (place * chosen).sum(-1).long()
    # A place beyond the room is no place.
    room = (place[..., None] == torch.arange(160)).float()
    send = torch.einsum("tke,tkc->tec", chosen, room)
    back = torch.einsum("tk,tke,tkc->tec", best, chosen, room)
    inner = torch.einsum("tec,td->ecd", send, x)
    inner = F.gelu(torch.bmm(inner, params["up"]), approximate="tanh")
    y = torch.einsum("tec,ecd->td", back, torch.bmm(inner, params["down"]))
    return F.mse_loss(y, target)


LAYER = ("qkv", "out", "up", "down", "head")
PROGRAMS = {
    "mnist_mlp_forward": Program(mlp, 3, linear=("0", "1", "2")),
    "resnet50_forward": Program(resnet50, images=True, linear=LAYER),
    "mobile_block_forward": Program(mobile_block, 3, images=True),
    "vit_b16_forward": Program(vit, images=True, linear=LAYER),
    "gpt2_small_prefill": Program(prefill, linear=LAYER),
    "gpt2_small_decode_f32": Program(decode, linear=LAYER),
    "gpt2_small_decode_bf16": Program(decode, linear=LAYER, bf16=True),
    "kmeans": Program(kmeans, 0),
    "mnist_mlp_train": Program(mlp_loss, 3, train=True, linear=("0", "1", "2")),
    "cnn_train": Program(cnn_loss, 3, train=True, images=True, linear=("2",)),
    "resnet50_train": Program(resnet50_loss, train=True, images=True, linear=LAYER),
    "unet_block_train": Program(unet_loss, train=True, images=True),
    "gpt_tiny_train": Program(gpt_loss(4), train=True, linear=LAYER),
    "gpt2_small_train": Program(gpt_loss(12), train=True, linear=LAYER),
    "lstm_train": Program(lstm_loss, train=True, linear=("x", "h", "head")),
    "moe_block_train": Program(moe_loss, train=True),
    "dlrm_train": Program(dlrm_loss, train=True),
    "neural_ode_train": Program(ode_loss, train=True),
}


def update(values: list[torch.Tensor]) -> None:
    """Gradient descent, where the values are."""
    found = [value for value in values if value.grad is not None]
    with torch.no_grad():
        torch._foreach_add_(found, [value.grad for value in found], alpha=-RATE)
    for value in found:
        value.grad = None


class Module(torch.nn.Module):
    """A program with its parameters inside, to be exported."""

    def __init__(self, program: Program, args) -> None:
        super().__init__()
        self.program, self.fixed = program, []
        self.fixed = mapped(self.keep, args[: program.fixed])

    def keep(self, path: str, leaf: torch.Tensor) -> str:
        name = "p" + path.replace(".", "_")
        self.register_buffer(name, leaf)
        return name

    def forward(self, *batch):
        return self.program.run(*mapped(lambda path, name: getattr(self, name), self.fixed), *batch)

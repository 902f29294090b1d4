#!/usr/bin/env python3
"""Writes the HloModuleProtos that PyTorch/XLA makes of small programs, for tests that have no PyTorch.

  PJRT_DEVICE=CPU tools/torch_programs.py crates/client/tests/data/torch

Needs torch 2.9.1 and torch_xla 2.9.0. The programs are ours: each shows how PyTorch/XLA writes something (layouts, tuple
roots, donors, its own custom calls). Nothing is run. Programs that cannot run go to the folder `wrong` there, with the
lines of source that they came from.
"""

import os
import sys

# Where programs come from is told only if asked for before the import.
os.environ["XLA_HLO_DEBUG"] = "1"

import protos

import torch
import torch_xla
from torch import nn
from torch.nn import functional


def rows(*shape: int) -> torch.Tensor:
    return torch.rand(*shape).to(torch_xla.device())


def train(model: nn.Module, loss_of, optimizer=torch.optim.SGD, **options) -> list[torch.Tensor]:
    """The tensors that one step of training changes, with its loss."""
    model = model.to(torch_xla.device())
    optimizer = optimizer(model.parameters(), lr=0.1, **options)
    torch_xla.sync()
    loss = loss_of(model)
    loss.backward()
    optimizer.step()
    return [loss, *model.parameters(), *model.buffers()]


def mlp():
    x, y = rows(8, 12), torch.arange(8).remainder(4).to(torch_xla.device())
    model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4))
    return train(model, lambda model: functional.cross_entropy(model(x), y), momentum=0.9)


def convolutions():
    x = rows(2, 3, 8, 8)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, stride=2, groups=2), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 3),
    )
    return train(model, lambda model: model(x).square().mean())


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.qkv, self.out, self.norm = nn.Linear(8, 24), nn.Linear(8, 16), nn.LayerNorm(8)

    def forward(self, tokens):
        x = self.norm(self.embed(tokens))
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        x = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(x.transpose(1, 2).flatten(2))


def attention():
    tokens = torch.arange(12).reshape(2, 6).to(torch_xla.device())
    loss = lambda model: functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    return train(Attention(), loss, torch.optim.AdamW)


def recurrence():
    x = rows(5, 2, 4)
    return train(nn.GRU(4, 6), lambda model: model(x)[0].square().sum())


def transposes():
    """Views: shapes with layouts that are not row-major."""
    x, y = rows(3, 4, 5), rows(5, 3)
    return [x.permute(2, 0, 1).contiguous(), x.transpose(0, 2) + 1, y.t() @ y, x.flip(1).unfold(1, 2, 1)]


def indices():
    x, at = rows(6, 4), torch.tensor([3, 1, 5]).to(torch_xla.device())
    hit = torch.zeros(6, 4).to(torch_xla.device()).index_add(0, at, x[at])
    values, order = x.sort(0, descending=True)
    return [hit, values, order, x.topk(2, 1)[0], x.cumsum(1), x.gather(1, order[:, :2].remainder(4)), x[at, at.remainder(4)]]


def numbers():
    """Types of other widths."""
    x = rows(4, 4)
    half, brain, byte = x.half(), x.bfloat16(), (x * 100).to(torch.int8)
    return [
        half @ half, brain.softmax(-1), byte + byte, byte.long().sum(), (x > 0.5).any(0), x.double().std(),
        torch.view_as_real(torch.complex(x, x) * 2), x.to(torch.float8_e4m3fn).float(),
    ]


def random():
    device = torch_xla.device()
    return [torch.rand(4, 5, device=device), torch.randn(7, device=device), functional.dropout(rows(4, 4), 0.5)]


def quantised():
    """What models that PT2E has quantised are made of."""
    import torch.ao.quantization.fx._decomposed  # noqa: F401, defines the operators

    ops = torch.ops.quantized_decomposed
    x, channels = rows(4, 8), torch.tensor([0.01, 0.02, 0.03, 0.04])
    q = ops.quantize_per_tensor(x - 0.5, 0.02, 3, -128, 127, torch.int8)
    zeros = torch.zeros(4, dtype=torch.int64)
    c = ops.quantize_per_channel(x, channels, zeros, 0, -127, 127, torch.int8)
    return [
        q, ops.dequantize_per_tensor(q, 0.02, 3, -128, 127, torch.int8), q.int() @ q.int().t(),
        ops.dequantize_per_channel(c, channels, zeros, 0, -127, 127, torch.int8),
    ]


def unknown_kernel():
    """A library calls what nobody has."""
    from torch_xla.experimental.stablehlo_custom_call import stablehlo_custom_call

    return [stablehlo_custom_call((rows(4, 4).sin(),), "kernel_that_nobody_has", [[4, 4]], [torch.float32])]


def memory_without_end():
    ones = torch.ones(1 << 40, device=torch_xla.device())
    return [ones.cumsum(0)]


WRONG = [unknown_kernel, memory_without_end]
PROGRAMS = [mlp, convolutions, attention, recurrence, transposes, indices, numbers, random, quantised]


def main() -> None:
    folder = sys.argv[1]
    os.makedirs(os.path.join(folder, "wrong"), exist_ok=True)
    for program in PROGRAMS + WRONG:
        torch.manual_seed(0)
        wrong = program in WRONG
        proto = torch_xla._XLAC._get_xla_tensors_hlo_proto(program())
        proto = protos.without_folders(proto) if wrong else protos.without_metadata(proto)
        with open(os.path.join(folder, "wrong" if wrong else "", f"{program.__name__}.pb"), "wb") as file:
            file.write(proto)
        print(f"{program.__name__}: {len(proto)} bytes")
        torch_xla._XLAC._clear_pending_irs(str(torch_xla.device()))


if __name__ == "__main__":
    main()

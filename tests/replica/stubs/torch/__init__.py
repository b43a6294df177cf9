"""A stand-in for torch in tests. It acts out what behaviour.json says, with plain lists for tensors."""

from __future__ import annotations

import sys

from torch import _act

_act.at_import()

from torch import backends, cuda, mps, nn, version, xpu  # noqa: E402
from torch._tensor import (  # noqa: E402
    Tensor,
    allclose,
    bfloat16,
    device,
    empty,
    float16,
    float32,
    full,
    half,
    int64,
    isfinite,
    manual_seed,
    matmul,
    no_grad,
    ones,
    randn,
    tensor,
    zeros,
)
from torch.nn.functional import conv2d  # noqa: E402

__version__ = version.__version__
__all__ = [
    "Tensor", "allclose", "backends", "bfloat16", "conv2d", "cuda", "device", "empty", "float16", "float32",
    "full", "half", "int64", "isfinite", "manual_seed", "matmul", "mps", "nn", "no_grad", "ones", "randn",
    "tensor", "version", "xpu", "zeros",
]  # fmt: skip

if _act.NAME == "noise":
    print("a library that talks")
    sys.stdout.write("and leaves its line open")
    sys.stdout.flush()

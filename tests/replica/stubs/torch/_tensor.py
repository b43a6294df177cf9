"""Tensors as flat lists with a shape: as much of them as a check of an installation needs."""

from __future__ import annotations

import itertools
import math
import random

from torch import _act


class dtype:  # noqa: N801 - the name that torch has
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


float32 = dtype("float32")
float16 = half = dtype("float16")
bfloat16 = dtype("bfloat16")
int64 = dtype("int64")


class device:  # noqa: N801 - the name that torch has
    def __init__(self, text, index=None):
        kind, _, number = str(text).partition(":")
        self.type = kind
        self.index = index if index is not None else (int(number) if number else None)

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


class no_grad:  # noqa: N801 - the name that torch has
    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None


class Tensor:
    def __init__(self, values, shape, place="cpu", kind=float32):
        self.values, self.shape, self.place, self.dtype = list(values), tuple(shape), str(place), kind

    def _made(self, values, shape=None):
        _act.kernel(self.place)
        return Tensor(_act.result(self.place, values), shape or self.shape, self.place, self.dtype)

    def _with(self, other, operator):
        others = other.values if isinstance(other, Tensor) else itertools.repeat(other)
        pairs = zip(self.values, others)  # noqa: B905 - endless others, and old Pythons
        return self._made([operator(a, b) for a, b in pairs])

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __matmul__(self, other):
        return matmul(self, other)

    def fill_(self, value):
        self.values = self._made([value] * len(self.values)).values
        return self

    def abs(self):
        return self._made([abs(value) for value in self.values])

    def sum(self):
        return self._made([sum(self.values)], (1,))

    def max(self):
        return self._made([max(self.values)], (1,))

    def item(self):
        return self.values[0]

    def to(self, *targets, dtype=None, device=None):
        new = Tensor(self.values, self.shape, self.place, dtype or self.dtype)
        for target in (*targets, device):
            if isinstance(target, globals()["dtype"]):
                new.dtype = target
            elif target is not None:
                _act.allocate(str(target))
                new.place = str(target)
        return new

    def cpu(self):
        return self.to("cpu")

    def cuda(self):
        return self.to("cuda:0")

    def float(self):
        return self.to(float32)

    def half(self):
        return self.to(float16)

    def bfloat16(self):
        return self.to(bfloat16)

    def flatten(self):
        return Tensor(self.values, (len(self.values),), self.place, self.dtype)

    def reshape(self, *shape):
        return Tensor(self.values, shape, self.place, self.dtype)

    def numel(self):
        return len(self.values)

    def tolist(self):
        def nest(values, shape):
            if len(shape) <= 1:
                return list(values)
            step = len(values) // shape[0]
            return [nest(values[i : i + step], shape[1:]) for i in range(0, len(values), step)]

        return nest(self.values, self.shape)


def matmul(left, right):
    rows, inner = left.shape
    columns = [right.values[j :: right.shape[1]] for j in range(right.shape[1])]
    lines = [left.values[i * inner : (i + 1) * inner] for i in range(rows)]
    values = [sum(map(float.__mul__, line, column)) for line in lines for column in columns]
    return left._made(values, (rows, right.shape[1]))


def _filled(value, shape, place, kind, *, kernel):
    place = str(place or "cpu")
    _act.allocate(place)
    if kernel:
        _act.kernel(place)
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return Tensor([value] * math.prod(sizes), sizes, place, kind or float32)


def empty(*shape, device=None, dtype=None):
    return _filled(0.0, shape, device, dtype, kernel=False)


def zeros(*shape, device=None, dtype=None):
    return _filled(0.0, shape, device, dtype, kernel=True)


def ones(*shape, device=None, dtype=None):
    return _filled(1.0, shape, device, dtype, kernel=True)


def full(shape, value, device=None, dtype=None):
    return _filled(float(value), (shape,), device, dtype, kernel=True)


def randn(*shape, device=None, dtype=None):
    made = _filled(0.0, shape, device, dtype, kernel=True)
    made.values = [random.gauss(0, 1) for _ in made.values]
    return made


def tensor(data, device=None, dtype=None):
    shape, probe = [], data
    while isinstance(probe, (list, tuple)):
        shape.append(len(probe))
        probe = probe[0]
    flat = data if isinstance(data, (list, tuple)) else [data]
    for _ in shape[1:]:
        flat = [value for part in flat for value in part]
    return Tensor([float(value) for value in flat], shape, "cpu", dtype or float32).to(device or "cpu")


def allclose(left, right, rtol=1e-5, atol=1e-8):
    pairs = zip(left.values, right.values)  # noqa: B905 - old Pythons
    return all(abs(a - b) <= atol + rtol * abs(b) for a, b in pairs)


def isfinite(values):
    return Tensor([math.isfinite(value) for value in values.values], values.shape)


def manual_seed(seed):
    random.seed(seed)

"""Each of the library's three fixed-point multiplications agrees with exact arithmetic."""

import itertools
import random
import subprocess
from collections.abc import Iterator
from fractions import Fraction
from math import floor

import numpy as np
import pytest

from kernels.conftest import LIBRARY, Build

LOW, HIGH = -(1 << 31), (1 << 31) - 1
HALF = Fraction(1, 2)
SHIFTS = range(-31, 31)
AROUND = [sign * (1 << bit) + off for bit in (0, 14, 15, 16, 17, 30, 31) for sign in (-1, 1) for off in (-1, 0, 1)]
EDGES = sorted({x for x in AROUND if LOW <= x <= HIGH})


def wrap(x: int) -> int:
    return (x - LOW) % (1 << 32) + LOW


def high_mul(a: int, b: int) -> int:
    """Return `a * b / 2^31`, rounded to the nearest integer and saturated to int32."""
    return min(HIGH, floor(Fraction(a * b, 1 << 31) + HALF))


def rescale(x: int, multiplier: int, shift: int) -> int:
    if shift >= 0:
        return high_mul(wrap(x << shift), multiplier)
    value = Fraction(high_mul(x, multiplier), 1 << -shift)
    return floor(abs(value) + HALF) * (1 if value > 0 else -1)


def cases() -> Iterator[tuple[int, int, int]]:
    yield from itertools.product(EDGES, EDGES, (-31, -30, -22, -1, 0, 1, 30))
    yield from itertools.product((LOW, HIGH, -1, 12345), ((1 << 30), HIGH, (1 << 30) + 1), SHIFTS)
    rng = random.Random(1)
    for _ in range(5_000):
        yield rng.randint(LOW, HIGH), rng.randint(1 << 30, HIGH), rng.choice(SHIFTS)
    for _ in range(5_000):
        shift = rng.choice(SHIFTS)
        odd, tie = 2 * rng.randint(-(1 << 12), 1 << 12) + 1, 1 << rng.randint(0, 15)
        yield odd * tie, rng.choice((1 << 30, (1 << 30) + (1 << 29), HIGH, rng.randint(1 << 30, HIGH))), shift


@pytest.mark.slow
@pytest.mark.parametrize("multiply", ["", "NARROW", "MIXED"])
def test_scaling_is_exact(multiply: str, sanitized: Build) -> None:
    numbers = list(cases())
    flags = [f"-DEXPECT_{multiply or 'WIDE'}", *([f"-DTMO_{multiply}_MULTIPLY"] if multiply else [])]
    done = subprocess.run(
        [sanitized("fixed.c", library=[LIBRARY / "src/tmo_fixed.c"], flags=flags)],
        input=np.array(numbers, np.int32).tobytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    got = np.frombuffer(done.stdout, np.int32).reshape(-1, 2).tolist()
    assert len(got) == len(numbers)
    wrong = [
        (case, pair, expected)
        for case, pair in zip(numbers, got, strict=True)
        if pair != (expected := [high_mul(*case[:2]), rescale(case[0], case[1] % (1 << 31), case[2])])
    ]
    assert not wrong, wrong[:5]
    ties = [high_mul(x, m) & ((1 << -s) - 1) == 1 << (-s - 1) for x, m, s in numbers if s < 0]
    assert sum(ties) > 500

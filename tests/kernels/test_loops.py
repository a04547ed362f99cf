"""Run programs with nested loops of any depth."""

import contextlib
import ctypes
from dataclasses import replace

import executor
import numpy as np
import pytest
from conftest import seeds

from kernels.drawn import drawn
from kernels.loops import nested, nested_otherwise, times
from kernels.samples import IN, OUT, good, patched
from kernels.sources import streamed
from tflm_memopt.errors import ModelError
from tflm_memopt.format.limits import LOOP_DEPTH
from tflm_memopt.lower.program import GROUP, HEADER, OP, TENSOR, Program
from tflm_memopt.lower.serialise import pack, unpack
from tflm_memopt.plan.loops import Iteration, Loops, Repeat
from tflm_memopt.runtime import host
from tflm_memopt.runtime.host import Status

GROUP_AT = HEADER.itemsize + 4 * TENSOR.itemsize + 3 * OP.itemsize


def test_any_nesting_runs_the_same_order() -> None:
    for seed in seeds(16):
        found, rng = drawn(seed), np.random.default_rng(seed)
        program, inputs, expected = found.program, found.inputs, found.expected
        iterations = executor.iteration_order(pack(program), inputs, [expected.size])
        assert len(iterations) == program.iterations
        other = nested_otherwise(program, rng)
        assert unpack(pack(other)) == other
        assert executor.iteration_order(pack(other), inputs, [expected.size]) == iterations
        (watched,) = host.run_guarded(pack(other), found.arena, inputs, [expected.size])
        np.testing.assert_array_equal(watched, expected)
        pushed = pack(streamed(other, rng))
        assert executor.iteration_order(pushed, inputs, [expected.size]) == iterations
        (got,) = host.run(pushed, inputs, [expected.size])
        np.testing.assert_array_equal(got, expected)


def hostile(program: Program, rng: np.random.Generator) -> Program:
    groups, left = [], program.iterations
    for n, group in enumerate(program.groups):
        last = n + 1 == len(program.groups)
        count = left if last else int(rng.integers(1, left - (len(program.groups) - 1 - n) + 1))
        left -= count
        stages = rng.integers(0, group.n_ops, count).tolist()
        skips = (rng.random(count) < 0.05) * rng.integers(0, 4, count)
        order = [Iteration(stage, int(skip)) for stage, skip in zip(stages, skips, strict=True)]
        groups.append(replace(group, loops=nested(order, rng), whole=0))
    return replace(program, groups=tuple(groups))


def test_a_wrong_order_does_no_harm() -> None:
    for seed in seeds(16):
        found = drawn(seed)
        damaged = pack(hostile(found.program, np.random.default_rng(seed)))
        size = found.expected.size
        assert host.check(damaged, [values.nbytes for values in found.inputs], [size]) is Status.OK
        with contextlib.suppress(ModelError):
            host.run_guarded(damaged, found.arena, found.inputs, [size])


def _deep(levels: int) -> Loops:
    loops: Loops = (Iteration(0), Iteration(1), Iteration(2))
    for level in range(levels):
        loops = (Repeat(8 if level == 0 else 1, loops),)
    return loops


@pytest.mark.parametrize(
    ("loops", "status"),
    [
        pytest.param(_deep(LOOP_DEPTH), Status.OK, id="as deep as may be"),
        pytest.param(_deep(LOOP_DEPTH + 1), Status.TABLE, id="too deep"),
        pytest.param(times(24, stage=3), Status.TABLE, id="operator of another group"),
        pytest.param(times(23), Status.ITERATIONS, id="too few iterations"),
        pytest.param(times(25), Status.ITERATIONS, id="too many iterations"),
        pytest.param((Repeat(3, ()), *times(24)), Status.TABLE, id="loop without a body"),
        pytest.param((Repeat(0, (Iteration(0),)), *times(24)), Status.TABLE, id="loop that never runs"),
        pytest.param(
            (Repeat(65535, times(65535)), *times(24)), Status.ITERATIONS, id="four thousand million iterations"
        ),
        pytest.param((Repeat(65535, (Repeat(65535, times(2)),)),), Status.TABLE, id="more than a number holds"),
        pytest.param((), Status.TABLE, id="none"),
    ],
)
def test_loops_are_validated(loops: Loops, status: Status) -> None:
    program = good()
    damaged = replace(program, groups=(replace(program.groups[0], loops=loops),))
    assert host.check(pack(damaged), [IN], [OUT]) is status


def test_loops_end_inside_the_program() -> None:
    image = pack(good())
    for end in (b"\xfe", b"\xfe\x01", b"\xfd\x00\x00", b"\xfc\x00", b"\x00"):
        cut = patched(GROUP, GROUP_AT, loops=len(image) - len(end))
        assert host.check(cut[: -len(end)] + end, [IN], [OUT]) is Status.TABLE, end
    assert host.check(patched(GROUP, GROUP_AT, loops=len(image)), [IN], [OUT]) is Status.TABLE


def test_the_rows_of_a_stripe() -> None:
    for seed in seeds(10):
        rng, library = np.random.default_rng(seed), host._library()
        height, advance = (int(n) for n in rng.integers(1, 40, 2))
        again = int(rng.integers(0, 9)) * (seed % 2)
        end = int(rng.integers(-5, advance + again + 9))
        tensor = np.zeros(1, TENSOR)
        for name, value in {"height": height, "advance": advance, "end": end, "rows": advance + again}.items():
            tensor[name] = value
        at = ctypes.c_void_p(tensor.ctypes.data)
        for m in range(8):
            top = m * advance + end - advance - again if again else (m - 1) * advance + end if m else 0
            rows = [min(max(y, 0), height) for y in (top, m * advance + end)]
            stripe = ctypes.c_uint16(m)
            assert [library.tmo_stripe_first(at, stripe), library.tmo_stripe_end(at, stripe)] == rows, seed

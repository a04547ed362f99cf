"""Damaged files are converted right, left alone or refused with a typed error: never a crash, a hang or wrong bytes."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from conftest import thinned
from hostile.judge import Outcome, judge
from hostile.mutants import corpus, few, mutant, networks
from hostile.server import PATIENCE, in_children
from hostile.witness import outputs_anywhere
from models import Net

import tflm_memopt
from tflm_memopt.model import writer
from tflm_memopt.model.reader import read

pytest.importorskip("tflite_micro", reason="the official TFLM wheel is not installed")


@pytest.mark.parametrize("number", thinned(range(len(networks())), 8))
def test_the_models_that_are_damaged_are_good_ones(number: int) -> None:
    several_subgraphs = number == 4
    assert tflm_memopt.optimize(networks()[number], seconds=0).report.changed == (not several_subgraphs)


def test_a_seed_is_one_file() -> None:
    assert mutant(7) == mutant(7) != mutant(8)


def hang() -> None:
    while True:
        pass


@pytest.mark.slow
def test_what_ends_a_process_is_told_and_the_others_are_judged() -> None:
    work: list[Callable[[], object]] = [
        lambda: 1,
        lambda: os.kill(os.getpid(), signal.SIGSEGV),
        lambda: 2,
        hang,
        lambda: os._exit(3),
        lambda: len(bytearray(3 * 10**9)),
        lambda: [3],
    ]
    assert [(answer, failure.strip().splitlines()[-1:]) for answer, failure in in_children(work, 1)] == [
        (1, []),
        (None, ["crashed with SIGSEGV"]),
        (2, []),
        (None, ["over 1 s"]),
        (None, ["ended with exit code 3"]),
        (None, ["MemoryError"]),
        ([3], []),
    ]


@pytest.mark.parametrize(("times", "known"), [(-1, False), (0, False), (1, True), (2, False), (4096, False)])
def test_tflm_is_believed_where_it_writes_every_byte_and_no_other(times: int, *, known: bool) -> None:
    tree = writer.edit(read(corpus()[0]))
    depthwise = tree.subgraphs[0].operators[1]
    depthwise.builtinOptions.depthMultiplier = times
    filters = tree.subgraphs[0].tensors[depthwise.inputs[1]]  # one kernel too many: TFLM looks at the first
    filters.shape = [1, 3, 3, 5]
    filters.quantization.scale, filters.quantization.zeroPoint = np.ones(5, np.float32), np.zeros(5, np.int64)
    tree.buffers[filters.buffer].data = np.zeros(3 * 3 * 5, np.uint8)
    assert is_known(writer.write(tree)) == known


@pytest.mark.parametrize(("units", "known"), [(19, True), (20, True), (21, False), (64, False)])
def test_tflm_is_believed_where_it_reads_constants_and_nothing_behind(units: int, *, known: bool) -> None:
    """The filter of a dense layer has 20 rows."""
    tree = writer.edit(read(corpus()[2]))
    tree.subgraphs[0].tensors[tree.subgraphs[0].outputs[0]].shape = [1, units]
    assert is_known(writer.write(tree)) == known


def test_tflm_is_not_believed_where_it_leaves_bytes_as_they_were() -> None:
    net = Net()
    y = net.conv2d(net.input((1, 1, 1, 4)), 4)
    net.graph.tensors[y].shape = [4, 1, 1, 1]
    assert not is_known(net.model(y))


def test_tflm_is_not_believed_where_a_depthwise_filter_lacks_channels() -> None:
    net = Net()
    y = net.depthwise_conv2d(net.conv2d(net.input((1, 6, 5, 4)), 4, kernel=(3, 3)), multiplier=2, kernel=(3, 3))
    conv, depthwise = net.graph.operators
    depthwise.inputs[1] = conv.inputs[1]
    assert not is_known(net.model(y))


def test_tflm_is_not_believed_where_it_adds_up_more_sums_than_there_is_room_for() -> None:
    """A map that is said to be two images, the mean of which is said to be one's."""
    net = Net()
    y = net.conv2d(net.input((1, 6, 5, 4)), 4)
    mean = net.mean(y, (1, 2))
    net.graph.tensors[y].shape = [2, 6, 5, 4]
    assert not is_known(net.model(mean))


def is_known(data: bytes) -> bool:
    """Whether TFLM has one answer, asked in a process that it may end."""
    ((expected, _),) = in_children([partial(outputs_anywhere, data)], PATIENCE)
    return expected is not None


def test_tflm_is_not_believed_about_what_it_does_not_count() -> None:
    """A map and a filter with a dimension too few, a row of results that is said to be a scalar, a filter with fewer
    rows than results, an operator without an output, a transposed map with a dimension too few.
    """
    assert [s for s in (404708, 406805, 410033, 1005420, 1013054) if is_known(mutant(s, few()))] == []
    assert not is_known(mutant(5013420, networks()))


@pytest.mark.slow
def test_mutants() -> None:
    count = 500
    verdicts = list(judge(range(count)))
    assert [v for v in verdicts if v.outcome is Outcome.DEFECT] == []
    seen = Counter(v.outcome for v in verdicts)
    assert min(seen[Outcome.REFUSED], seen[Outcome.SAME], seen[Outcome.UNCHANGED]) > count // 50, seen

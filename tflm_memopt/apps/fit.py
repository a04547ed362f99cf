"""Report on which boards an application fits before and after the rewrite, counting the RAM and flash of all models."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tflm_memopt.analysis.flash import Firmware
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.firmware import firmware
from tflm_memopt.results import BoardReport, Fits, Flash
from tflm_memopt.targets.boards import board as board_named
from tflm_memopt.targets.boards import boards
from tflm_memopt.targets.boards import fit as board_fit
from tflm_memopt.tflm.arena import predict_together
from tflm_memopt.tflm.libraries import library


def fit_app(optimized: AppOptimized, names: Collection[str] = ()) -> Fits:
    """Return the fits on the named boards, or on all boards. Before the rewrite, TFLM uses one allocator for all models
    in turn.

    Raises UsageError for an unknown board.
    """
    report, each = optimized.report, list(optimized.models.values())
    originals, models = [done.original for done in each], [done.model for done in each]
    kernels = [library(done.report.arena.kernels) for done in each]
    today = predict_together(originals, report.arena.abi, libraries=kernels)
    before = _together([firmware(data) for data in originals])
    after = _together([firmware(data, interpreter=report.interpreter) for data in models])
    rows = []
    for on in [board_named(name) for name in names] or list(boards().values()):
        rewritten = board_fit(on, report.arena, after)
        rows.append(BoardReport(on, board_fit(on, today, before), rewritten))
    flash = Flash(sum(map(len, originals)), sum(map(len, models)))
    return Fits(report.app, each[0].report.convention, today, report.arena, flash, tuple(rows))


def _together(each: Sequence[Firmware]) -> Firmware:
    """Return one firmware with all models. Operators and parts that several models need are counted once."""
    operators = dict.fromkeys(name for one in each for name in one.operators)
    parts = dict.fromkeys(name for one in each for name in one.parts)
    rewritten = any(one.rewritten for one in each)
    packed = frozenset(family for one in each for family in one.packed)
    interpreter = any(one.interpreter for one in each)
    model = sum(one.model for one in each)
    return Firmware(model, tuple(operators), tuple(parts), rewritten, packed, interpreter)

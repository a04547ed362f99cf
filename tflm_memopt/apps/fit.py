"""Report on which boards an application fits before and after the rewrite, counting the RAM and flash of all models."""

from __future__ import annotations

from collections.abc import Collection

from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.firmware import firmware, together
from tflm_memopt.results import BoardReport, Fits, Flash
from tflm_memopt.targets.boards import boards
from tflm_memopt.targets.boards import fit as board_fit
from tflm_memopt.targets.own_board import board as board_named
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
    before = together([firmware(data) for data in originals])
    after = together([firmware(data, interpreter=report.interpreter) for data in models])
    rows = []
    for on in [board_named(name) for name in names] or list(boards().values()):
        rewritten = board_fit(on, report.arena, after)
        rows.append(BoardReport(on, board_fit(on, today, before), rewritten))
    flash = Flash(sum(map(len, originals)), sum(map(len, models)))
    return Fits(report.app, each[0].report.conventions, today, report.arena, flash, tuple(rows))

"""Finds the boards on which the original application fits, and the boards on which the converted application fits."""

from collections.abc import Collection, Mapping

from tflm_memopt.answers.convention import convention
from tflm_memopt.answers.fits import BoardReport, Fits
from tflm_memopt.answers.report import BeforeAfter
from tflm_memopt.apps.results import AppOptimized
from tflm_memopt.emit.firmware import firmware, together
from tflm_memopt.targets.boards import boards
from tflm_memopt.targets.boards import fit as board_fit
from tflm_memopt.targets.own_board import board as board_named
from tflm_memopt.tflm.arena import predict_together
from tflm_memopt.tflm.libraries import library


def fit_app(optimized: AppOptimized, names: Collection[str] = (), on: Mapping[str, AppOptimized] | None = None) -> Fits:
    """Return how the application fits on the named boards or, without names, on all boards. Raises UsageError for an
    unknown board.

    The original models are assumed to run in turn in one arena. The argument `on` maps board ids to results of
    optimize() for single boards.
    """
    report, each = optimized.report, list(optimized.models.values())
    originals = [done.original for done in each]
    kernels = [library(done.report.arena.kernels) for done in each]
    today = predict_together(originals, report.arena.abi, libraries=kernels)
    before = together([firmware(data) for data in originals])
    after = {
        id(done): together([firmware(m.model, interpreter=done.report.interpreter) for m in done.models.values()])
        for done in (optimized, *(on or {}).values())
    }
    rows = []
    for board in [board_named(name) for name in names] or list(boards().values()):
        there = (on or {}).get(board.id, optimized)
        rewritten = board_fit(board, there.report.arena, after[id(there)], there.report.slow)
        rows.append(BoardReport(board, board_fit(board, today, before), rewritten))
    flash = BeforeAfter(sum(map(len, originals)), sum(len(done.model) for done in each))
    counted = convention(report.arena, *(done.report.input for done in each))
    return Fits(report.app, counted, today, report.arena, flash, tuple(rows))

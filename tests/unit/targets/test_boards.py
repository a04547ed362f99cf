"""Test the boards' data, and the arithmetic of what fits."""

from __future__ import annotations

from tflm_memopt.analysis.flash import Firmware, kernels
from tflm_memopt.targets.boards import Board, fit
from tflm_memopt.tflm.arena import Arena

PLAIN = Board(
    id="plain", name="Plain", chip="X", core="M0", mhz=48, abi="ilp32", target="generic", ram=32_000, flash=200_000,
    largest_block=32_000, core_ram=2_000, core_flash=10_000, radio_ram=5_000, radio_flash=20_000, sources={}, note="",
)  # fmt: skip


def arena(total: int) -> Arena:
    return Arena("ilp32", total, 0, total, total)


def plain(nbytes: int) -> Firmware:
    """Firmware of a model that stays unchanged, with unknown operators."""
    return Firmware(nbytes, ())


def test_flash_holds_the_kernels_of_tflm_and_of_the_library() -> None:
    nothing = fit(PLAIN, arena(100), plain(1000)).flash_left
    of_tflm = fit(PLAIN, arena(100), Firmware(1000, ("CONV_2D", "SOFTMAX"))).flash_left
    assert of_tflm == nothing - kernels(["CONV_2D", "SOFTMAX"])
    rewritten = fit(PLAIN, arena(100), Firmware(1000, (), ("CONV", "TILES"), rewritten=True))
    assert 3_000 < nothing - rewritten.flash_left < 20_000
    assert rewritten.flash.library == nothing - rewritten.flash_left
    assert rewritten.flash.total == 200_000 - 10_000 - rewritten.flash_left

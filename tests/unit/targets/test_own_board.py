"""A user may describe a board in a file."""

from pathlib import Path

import pytest
from unit.command import small

import tflm_memopt
from tflm_memopt.errors import UsageError
from tflm_memopt.ops.packing import Family
from tflm_memopt.targets.boards import boards, runs, stack

BOARD = 'core = "Cortex-M7"\nclock = "480MHz"\nram = "128kB"\nflash = "1MB"\n'


def test_a_file_describes_a_board(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = BOARD + 'core_ram = "20kB"\nexternal_ram = "8MB"\n[flash_timing]\nwait_states = 4\n'
    path.write_text(text, encoding="utf-8-sig")  # Like some editors on Windows, utf-8-sig adds a byte order mark.
    report = tflm_memopt.optimize(small(), board=str(path), effort=0.05).report
    assert report.board
    assert (report.board.board, report.board.fits) == ("mine", True)
    assert report.ram_limit == 128_000 - 20_000 - stack("Cortex-M7")


def test_a_chip_has_the_times_of_known_boards(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('core = "Xtensa LX7"\nchip = "ESP32-S3"\nclock = "240MHz"\nram = "320kB"\nflash = "16MB"\n')
    own, known = (tflm_memopt.optimize(small(), board=board, effort=0.05).report for board in (str(path), "esp32s3"))
    assert own.time and known.time
    assert (own.target, own.time.rewritten) == (known.target, known.time.rewritten)


def test_all_espressif_chips_run_programs_for_esp_nn() -> None:
    packed = [name for name, on in boards().items() if runs(on, {Family.ESP})]
    assert packed == [name for name, on in boards().items() if on.chip.startswith("ESP32")]
    assert {"esp32s3", "esp32c3"} <= set(packed)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOARD + "ramm = 3\n", "unknown key 'ramm'"),
        (BOARD.replace("ram", "#"), "'ram' is missing"),
        (BOARD.replace("M7", "M99"), "unknown core 'Cortex-M99'"),
        (BOARD + 'chip = "ESP32-S3"\n', "no known board with core 'Cortex-M7' has chip 'ESP32-S3'"),
        (BOARD + 'target = "m7"\n', "unknown target 'm7'"),
        (BOARD + "target = 'cortex-m55'\n", "cannot run on core 'Cortex-M7'"),
        (BOARD + "[flash_timing]\nspeed = 1\n", "invalid flash_timing"),
        (BOARD + "[flash_timing]\nwait_states = [4]\n", "invalid flash_timing"),
        (BOARD + "flash_timing = 4\n", "invalid flash_timing"),
        (BOARD.replace("M7", "M4F") + "[flash_timing]\nwait_states = 9\n", "not modelled for a flash of 9 of 16 B"),
        (BOARD.replace('"128kB"', "1.5"), "invalid size '1.5'"),
        ("ram", "invalid TOML"),
    ],
)
def test_invalid_files(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=why):
        tflm_memopt.optimize(small(), board=str(path))

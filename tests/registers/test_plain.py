"""The plain drivers are valid C and C++."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from registers.plain import DRIVERS, LANGUAGES, PLAIN, WARNINGS


@pytest.mark.parametrize("language", LANGUAGES)
def test_drivers_compile(language: str, tmp_path: Path) -> None:
    for name in DRIVERS:
        for source in (f"{name}.c", f"{name}_main.c"):
            subprocess.run(
                [*LANGUAGES[language], *WARNINGS, "-c", PLAIN / source, "-o", tmp_path / f"{source}.o"], check=True
            )

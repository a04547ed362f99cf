"""Fetches a TFLM of October 2023 to compile and run the adapter with: headers and a shared library out of the wheel
xmos-ai-tools.

For tests only: the wheel has a proprietary licence; nothing of it is shipped, and users never need it. It goes to
build/tflm2023, 61 MB to download. TFLM's headers need gemmlowp's, which the wheel lacks: on Debian `apt-get install
libgemmlowp-dev`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WHEEL = "xmos-ai-tools==1.4.2"
TARGET = Path(__file__).parents[1] / "build/tflm2023"
PACKAGE = TARGET / "xmos_ai_tools"
INCLUDE = PACKAGE / "runtime/include"
LIBRARY = PACKAGE / "xinterpreters/libs/linux/xtflm_python.so"
GEMMLOWP = Path("/usr/include/gemmlowp")


def missing() -> str:
    """What has to be installed before the adapter can be built, empty when nothing has."""
    if not LIBRARY.is_file():
        return f"{WHEEL} is not in {TARGET}: python scripts/tflm2023.py"
    if not GEMMLOWP.is_dir():
        return f"{GEMMLOWP} is missing: apt-get install libgemmlowp-dev"
    return ""


def main() -> int:
    if not LIBRARY.is_file():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(TARGET), WHEEL]
        subprocess.run(pip, check=True)
    problem = missing()
    print(problem or f"TFLM of October 2023 is in {TARGET}", file=sys.stderr if problem else sys.stdout)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())

"""Installs two versions of TensorFlow Lite Micro of 2023 in build/tflm2023, for tests of the C++ adapter.

Headers and shared libraries come from two wheels of xmos-ai-tools (65 MB and 61 MB). The version "SPRING" is TFLM of
March to May, as in Arduino's library manager: it uses TfLiteRegistration, and declares kTfLiteAbort in
kernels/circular_buffer.h. The version "AUTUMN" is TFLM of October: it uses TFLMRegistration, and declares kTfLiteAbort
in micro_context.h.

The wheels have a proprietary licence, and no package of this project contains any part of them. The wheels lack
gemmlowp's headers, which Debian's package libgemmlowp-dev has.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TARGET = Path(__file__).parents[1] / "build/tflm2023"
GEMMLOWP = Path("/usr/include/gemmlowp")


@dataclass(frozen=True)
class Tflm:
    name: str
    wheel: str
    headers: str
    shared: str
    defines: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return TARGET / self.name

    @property
    def include(self) -> Path:
        return self.folder / "xmos_ai_tools" / self.headers

    @property
    def library(self) -> Path:
        return self.folder / "xmos_ai_tools" / self.shared

    @property
    def flags(self) -> list[str]:
        return [*self.defines, "-isystem", str(self.include), "-isystem", str(GEMMLOWP)]

    @property
    def link(self) -> list[str]:
        return [str(self.library), f"-Wl,-rpath,{self.library.parent}"]


SPRING = Tflm(
    "spring", "xmos-ai-tools==1.1.1", "xinterpreters/device/include", "xinterpreters/host/libs/linux/xtflm_python.so"
)
AUTUMN = Tflm(
    "autumn",
    "xmos-ai-tools==1.4.2",
    "runtime/include",
    "xinterpreters/libs/linux/xtflm_python.so",
    ("-Dtflite=tflite_micro",),  # TFLM in XMOS' wheel has the namespace tflite_micro.
)
AGES = (SPRING, AUTUMN)


def missing() -> str:
    for tflm in AGES:
        if not tflm.library.is_file():
            return f"{tflm.wheel} is not in {tflm.folder}: python scripts/tflm2023.py"
    if not GEMMLOWP.is_dir():
        return f"{GEMMLOWP} is missing: apt-get install libgemmlowp-dev"
    return ""


def main() -> int:
    for tflm in AGES:
        if not tflm.library.is_file():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(tflm.folder)]
            subprocess.run([*pip, tflm.wheel], check=True)
    problem = missing()
    print(problem or f"two versions of TFLM of 2023 are in {TARGET}", file=sys.stderr if problem else sys.stdout)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())

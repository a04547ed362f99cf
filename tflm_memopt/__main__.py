# PYTHON_ARGCOMPLETE_OK
"""The command: `python -m tflm_memopt`, or the script tflm-memopt."""

import signal
import sys


def run() -> int:
    """Runs the command. While its modules are imported, Ctrl-C ends the process without a traceback."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tflm_memopt.cli.main import main  # noqa: PLC0415 (imported while the handler is off)

    signal.signal(signal.SIGINT, handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())

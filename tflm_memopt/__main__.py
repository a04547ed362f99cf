# PYTHON_ARGCOMPLETE_OK
"""Entry point: `python -m tflm_memopt`, or the script tflm-memopt."""

import signal
import sys


def run() -> int:
    """Run the command. Ctrl-C during the imports ends the process without a traceback."""
    handler = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tflm_memopt.cli.main import main  # noqa: PLC0415 (imported while the default handler is set)

    signal.signal(signal.SIGINT, handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())

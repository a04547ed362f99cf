"""Runs the file of `--describe FILE.py`, which registers the user's own operators for the command."""

import runpy
from pathlib import Path

from tflm_memopt.errors import UsageError
from tflm_memopt.files import read_file
from tflm_memopt.ops.custom import CUSTOM_OPERATORS

NAME = "custom_operators"
"""Value of `__name__` while the file of the option --describe runs. Code of the file under
`if __name__ == "__main__":` does not run.
"""


def run(file: Path) -> None:
    """Raises UsageError if the user's file fails or registers no operator."""
    read_file(file)
    before = dict(CUSTOM_OPERATORS)
    try:
        runpy.run_path(str(file), run_name=NAME)
    except Exception as error:
        hint = f"run python {file} to see where"
        raise UsageError(
            f"{file} fails: {type(error).__name__}: {error}", code="bad_kernel", where="--describe", hint=hint
        ) from error
    if before == CUSTOM_OPERATORS:
        raise UsageError(
            f"{file} describes no new operator",
            code="bad_kernel",
            where="--describe",
            hint="use @operator(NAME, numbers) of tflm_memopt.ops.own as in docs/own-operator.md",
        )

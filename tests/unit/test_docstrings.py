"""Run the examples in the package's docstrings."""

import doctest
import importlib
from pathlib import Path

import pytest

import tflm_memopt


@pytest.mark.slow
def test_examples_of_docstrings() -> None:
    package = Path(tflm_memopt.__file__).parent
    files = [file.relative_to(package.parent).with_suffix("") for file in sorted(package.rglob("*.py"))]
    found = {file: doctest.testmod(importlib.import_module(".".join(file.parts))) for file in files}
    assert sum(result.attempted for result in found.values()) > 90
    assert not [str(file) for file, result in found.items() if result.failed]

"""The interpreter of kernel descriptions and the library's C code give the same bytes."""

import runpy
import sys

import numpy as np
from conftest import ROOT

sys.path.append(str(ROOT / "scripts"))

from descriptions.elementwise import quantize

from tflm_memopt.kernels.meaning import nearest, run


def test_floats_are_rounded_as_tflm_does() -> None:
    """Halves are rounded away from zero, and the largest float32 value below 0.5 is rounded to 0."""
    x = np.array([0.5, -0.5, 1.5, -2.5, 0.49999997, -0.49999997, 3.3, 1e9, -np.inf, np.nan], np.float32)
    assert [nearest(one) for one in x] == [1, -1, 2, -3, 0, 0, 3, 65536, -65536, 0]
    values = {"n": len(x), "scale": 0x40000000, "zero_out": 3}
    assert run(quantize, values, {"x": x * 2})["y"].tolist() == [4, 2, 5, 0, 3, 3, 6, 127, -128, 3]


def test_the_librarys_generated_c_is_current() -> None:
    written = runpy.run_path(str(ROOT / "scripts/kernels.py"))["written"]()
    stale = [path.name for path, text in written.items() if path.read_text() != text]
    assert len(written) == 20 and not stale, "python scripts/kernels.py writes them anew"

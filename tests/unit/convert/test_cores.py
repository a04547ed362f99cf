"""Test `--cores` and `--share`: options, refusals and reports."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import EXAMPLE

import tflm_memopt
from tflm_memopt.errors import UsageError


@pytest.mark.parametrize(
    "options",
    [
        {"cores": 3},
        {"share": "0.8,1"},
        {"cores": 2, "share": "0.8"},
        {"cores": 2, "share": (0.8, 1, 1)},
        {"cores": 2, "share": "0,1"},
        {"cores": 2, "share": "a,b"},
        {"cores": 2, "input": "stream"},
        {"cores": 2, "target": "cortex-m55"},
        {"cores": 2, "ops": "builtin"},
        {"cores": 2, "ops": "group"},
        {"cores": 2, "max_macs": 1.2},
    ],
)
def test_refusals(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as raised:
        tflm_memopt.optimize(EXAMPLE.read_bytes(), **options)
    assert raised.value.code == "bad_option"
    assert raised.value.hint

"""Options of wrong types are usage errors, in Python and in app.toml."""

import math
from pathlib import Path

import pytest
from unit.command import small

import tflm_memopt
from tflm_memopt.cli import main as cli
from tflm_memopt.errors import UsageError
from tflm_memopt.options import OPTIONS

WRONG = (object(), math.nan, -math.inf, [object()], {"a": 1}, b"1")


@pytest.mark.parametrize("name", OPTIONS)
def test_values_that_no_option_has(name: str) -> None:
    for value in WRONG:
        if name == "plan" and isinstance(value, dict):
            continue
        with pytest.raises(UsageError, match=f"invalid value .* for {name}") as refused:
            tflm_memopt.optimize(small(), **{name: value})
        assert refused.value.code == "bad_option"


@pytest.mark.parametrize("value", ["nan", "'x'", "{a = 1}"])
def test_no_value_in_app_toml_is_a_defect(value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "small.tflite").write_bytes(small())
    for name in (*OPTIONS, "ram", "yield", "concurrent", "file", "retain", "fps", "ms", "pipeline"):
        entry = f"{name} = {value}\n"
        for text in (f'{entry}[models.m]\nfile = "small.tflite"\n', f'[models.m]\nfile = "small.tflite"\n{entry}'):
            (tmp_path / "app.toml").write_text(text)
            cli.main(["optimize", str(tmp_path / "app.toml"), "-o", str(tmp_path / "out"), "--quiet"])
            assert "defect" not in capsys.readouterr().err, text

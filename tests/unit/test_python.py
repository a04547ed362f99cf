"""The Python API accepts all forms of models, and writes the same files as the command."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from unit.command import files, small

import tflm_memopt
from tflm_memopt.answers.optimized import Optimized
from tflm_memopt.errors import UsageError


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Optimized:
    path = tmp_path_factory.mktemp("models") / "small.tflite"
    path.write_bytes(small())
    return tflm_memopt.optimize(path, ram_limit="20kB", board="nano33ble")


def test_a_model_is_bytes_or_a_path(folder: Path) -> None:
    (folder / "net.h").write_text(f"const unsigned char net[] = {{{','.join(map(str, small()))}}};")
    given: tuple[Any, ...] = (small(), bytearray(small()), "small.tflite", Path("small.tflite"), "net.h")
    found = [tflm_memopt.inspect(model) for model in given]
    assert [f.model for f in found] == ["model", "model", "small.tflite", "small.tflite", "net.h"]
    assert len({f.arena for f in found}) == len({f.flash for f in found}) == 1
    assert tflm_memopt.inspect("small.tflite", name="mine").model == "mine"
    assert tflm_memopt.verify("small.tflite", Path("net.h"), runs=1).bit_exact


def test_the_original_is_never_overwritten(result: Optimized) -> None:
    assert result.source is not None
    with pytest.raises(UsageError) as raised:
        result.save(result.source.parent)
    assert raised.value.code == "would_overwrite"
    assert [path.name for path in result.source.parent.iterdir()] == ["small.tflite"]


def test_a_name_stays_inside_the_folder(tmp_path: Path, result: Optimized) -> None:
    (tmp_path / "in").mkdir()
    done = replace(result, report=replace(result.report, model="../../kws v2.1"))
    assert {path.name for path in done.save(tmp_path / "in", "tflite")} >= {"kws v2.1.tflite", "kws v2.1.report.html"}
    assert len(files(tmp_path)) == len(files(tmp_path / "in")) == 4

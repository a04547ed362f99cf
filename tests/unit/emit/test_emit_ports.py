"""A C module keeps the order of the model's inputs and outputs, and `verify --c` finds a wrong order."""

import re
import shutil
from pathlib import Path

import pytest
from ported import MADE, reversed_outputs, unread
from property.modules import verified

import tflm_memopt
from tflm_memopt.cli import main as cli
from tflm_memopt.errors import UsageError

needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")


def written(model: bytes, folder: Path, **settings: object) -> bytes:
    result = tflm_memopt.optimize(model, name="net", **settings)  # type: ignore[arg-type]
    assert result.report.changed
    result.save(folder, "c")
    return result.model


def exchanged(source: str, a: str, b: str) -> str:
    swap = {a: b, b: a}
    return re.sub(rf"\b({a}|{b})\(void\) {{", lambda found: f"{swap[found[1]]}(void) {{", source)


@needs_compiler
@pytest.mark.slow
def test_swapped_ports_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = MADE["swapped"]()
    (tmp_path / "original.tflite").write_bytes(model)
    written(model, tmp_path)
    source = tmp_path / "net.c"
    source.write_text(exchanged(source.read_text(), "net_input_0", "net_input_1"))
    command = ["verify", str(tmp_path / "original.tflite"), str(tmp_path / "net.tflite"), "--c", str(tmp_path)]
    assert cli.main([*command, "--runs", "2"]) == cli.NO
    said = capsys.readouterr().out
    assert "DIFFERENT" in said and re.search(r"self-test returns [1-9]", said)
    assert re.search(r"output 0 't\d+': [\d,]+ of [\d,]+ bytes DIFFER", said)


@needs_compiler
@pytest.mark.slow
def test_a_write_outside_of_the_arena_is_found(tmp_path: Path) -> None:
    model = reversed_outputs()
    new = written(model, tmp_path)
    source = tmp_path / "net.c"
    source.write_text(source.read_text().replace("arena[NET_ARENA_BYTES]", "arena[NET_ARENA_BYTES - 200]"))
    found = verified(model, new, tmp_path).module
    assert found and found.sanitized and not found.ports
    assert "insufficient space" in found.failure or "AddressSanitizer" in found.failure


@needs_compiler
@pytest.mark.slow
def test_another_models_module_is_refused(tmp_path: Path) -> None:
    written(unread(12), tmp_path)
    large = unread(64)
    with pytest.raises(UsageError, match="not a module of this model") as refusal:
        verified(large, tflm_memopt.optimize(large).model, tmp_path)
    assert refusal.value.code == "bad_c_module"


def places(source: str, side: str) -> list[int]:
    return [int(at) for at in re.findall(rf"net_{side}(?:_\d+)?\(void\) {{ return \(.*\(arena \+ (\d+)\); }}", source)]


def sizes(header: str, side: str) -> list[int]:
    return [int(n) for n in re.findall(rf"#define NET_{side.upper()}(?:_\d+)?_BYTES (\d+)u", header)]


def test_outputs_are_in_the_models_order(tmp_path: Path) -> None:
    written(reversed_outputs(), tmp_path)
    assert sizes((tmp_path / "net.h").read_text(), "output") == [12 * 12 * 2, 12 * 12 * 4]
    source = (tmp_path / "net.c").read_text()
    io = re.search(r"io\[\] = {arena \+ \d+, arena \+ (\d+), arena \+ (\d+)};", source)
    assert io and places(source, "output") == [int(io[2]), int(io[1])]

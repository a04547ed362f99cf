from pathlib import Path

import pytest
from unit.command import Answer, Run, small

from tflm_memopt.cli import main as cli


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> Answer:
        code = cli.main([str(a) for a in arguments])
        return Answer(code, *capsys.readouterr())

    return call


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "small.tflite").write_bytes(small())
    monkeypatch.chdir(tmp_path)
    return tmp_path

"""A name in an input file cannot lead a path out of the output folder."""

import json
from pathlib import Path

import pytest
from unit.command import small

from tflm_memopt import App, AppModel, optimize
from tflm_memopt.cli import main as cli
from tflm_memopt.errors import UsageError
from tflm_memopt.files import name_fault, paths_below, read_model, write_files

BAD = {
    "above": "../../evil",
    "absolute": "/tmp/evil",
    "a folder": "a/b",
    "Windows folder": "..\\evil",
    "drive": "c:evil",
    "stream": "evil:hidden",
    "parent": "..",
    "here": ".",
    "empty": "",
    "NUL": "a\0b",
    "newline": "a\nb",
    "escape": "a\x1b[2Jb",
    "right to left": "a\u202egnp.exe",
    "no text": "a\udcff",
    "device": "con",
    "device with extension": "LPT1.old",
    "device with a superscript": "com¹",
    "ends with a dot": "kws.",
    "ends with a space": "kws ",
    "wildcard": "a*",
}


@pytest.mark.parametrize("name", BAD.values(), ids=BAD)
def test_bad_names_are_refused(name: str, tmp_path: Path) -> None:
    assert name_fault(name)
    with pytest.raises(UsageError, match="a model cannot be called") as refused:
        App({name: AppModel(b"")})
    assert refused.value.code == "bad_config"
    if name != BAD["a folder"]:
        with pytest.raises(UsageError, match="invalid file name"):
            paths_below(tmp_path, {f"project/{name}": b""})
    if name.isprintable():
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "small.tflite").write_bytes(small())
        text = f'[models.{json.dumps(name)}]\nfile = "small.tflite"\n'
        (tmp_path / "in" / "app.toml").write_text(text, encoding="utf-8")
        before = sorted(tmp_path.rglob("*"))
        assert cli.main(["optimize", str(tmp_path / "in/app.toml"), "-o", str(tmp_path / "in/out")]) == cli.BAD
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("names", "refused"), [(("日本", "a"), "日本"), (("a b", "A_b"), "A_b"), (("a", "door"), "door")]
)
def test_names_of_models_that_clash_in_c(names: tuple[str, str], refused: str) -> None:
    """Include guards have only capital letters, so two file names that differ only in case give one include guard."""
    result = optimize(App(dict.fromkeys(names, AppModel(small())), name="door"), effort="low")
    with pytest.raises(UsageError, match=f"the name '{refused}' becomes .* clashes with a name of the") as error:
        result.files("cpp")
    assert error.value.where == f"models.{refused}"


def test_a_nul_character_in_a_path(tmp_path: Path) -> None:
    for use in (read_model, lambda path: write_files({path: b""})):
        with pytest.raises(UsageError, match="cannot contain a NUL"):
            use(tmp_path / "a\0b")
    (tmp_path / "app.toml").write_text('[models.a]\nfile = "a\\u0000b.tflite"\n')
    assert cli.main(["optimize", str(tmp_path / "app.toml")]) == cli.BAD


def test_no_absolute_path_gets_into_what_is_written_or_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret"
    (secret / "in").mkdir(parents=True)
    model = secret / "in/small.tflite"
    model.write_bytes(small())
    (secret / "in/app.toml").write_text('effort = "low"\n[models.small]\nfile = "small.tflite"\n')
    answers = ""
    for line in (
        f"inspect {model} -o {secret}/page --json",
        f"optimize {model} -o {secret}/out --emit cpp,c,platformio --json",
        f"optimize {model} -o {secret}/two --devices 2 --effort low --json",
        f"optimize {secret}/in -o {secret}/all --json",
        f"optimize {secret}/in/app.toml -o {secret}/app --json",
        f"explore {model} --plans {secret}/plans --plot {secret}/x.svg --effort low --json",
        f"verify {model} {secret}/out/small.tflite --runs 1 --json",
    ):
        assert cli.main(line.split()) == cli.DONE
        answers += capsys.readouterr().out
    assert "secret" not in answers
    written = [path for path in secret.rglob("*") if path.is_file() and path.parent != secret / "in"]
    assert len(written) > 50
    assert [path for path in written if b"secret" in path.read_bytes()] == []


def test_a_device_folder_with_something_else_than_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "small.tflite").write_bytes(small())
    (tmp_path / "out/device0/small.tflite").mkdir(parents=True)
    assert cli.main(["verify", str(tmp_path / "small.tflite"), str(tmp_path / "out")]) == cli.BAD
    assert "cannot read" in capsys.readouterr().err


def test_the_command_with_a_model_file_of_a_strange_name(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    model = tmp_path / "in" / 'a\n"nul:.tflite'
    model.write_bytes(small())
    assert cli.main(["optimize", str(model), "-o", str(tmp_path / "out")]) == cli.DONE
    assert sorted(path.name for path in (tmp_path / "out").iterdir())[0] == "a__nul_.plan.json"
    plans = ["explore", str(model), "--plans", str(tmp_path / "plans"), "--effort", "low"]
    assert cli.main(plans) == cli.DONE
    assert all(path.name.startswith("a__nul_.") for path in (tmp_path / "plans").iterdir())

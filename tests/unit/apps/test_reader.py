"""Test valid and invalid contents of app.toml."""

from pathlib import Path

import pytest

from tflm_memopt.apps.reader import read_app
from tflm_memopt.errors import UsageError

GOOD = Path(__file__).with_name("door.toml")


def read(tmp_path: Path, text: str) -> object:
    (tmp_path / "app.toml").write_text(text)
    return read_app(tmp_path / "app.toml")


def test_an_application() -> None:
    app = read_app(GOOD)
    assert (app.name, app.ram, app.options) == ("door", 64_000, {"effort": "low"})
    assert [entry.model for entry in app.models.values()] == [
        GOOD.parent / name for name in ("wake.tflite", "sub/vad.tflite", "vww.tflite")
    ]
    assert [entry.retain for entry in app.models.values()] == [(0,), False, True]
    assert (app.models["wake"].most, app.models["vad"].most) == (50, None)
    assert app.models["vad"].options == {"max_macs": 1.2}
    assert app.concurrent_pairs == {("wake", "vad"), ("vad", "vww")}
    assert app.groups() == [("vad", "vww"), ("wake", "vad")]


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("models = [", "bad_config", "invalid TOML"),
        ("", "bad_config", "no models"),
        ("rum = 3", "bad_config", "ram"),
        ("ram = true", "bad_config", "True"),
        ("concurrent = 'ab'", "bad_config", "'ab'"),
        ("concurrent = [[1]]", "bad_config", "1"),
        ("models = 3", "bad_config", "3"),
        ("[models.a]\nfile = 'a'\nfps = 0", "bad_config", "0"),
        ("[models.a]\nfile = 'a'\nms = 'x'", "bad_config", "'x'"),
        ("[models.a]", "bad_config", "a.tflite"),
        ("[models.a]\nfile = 3", "bad_config", "3"),
        ("[models.a]\nfile = 'a.tflite'\nplan = 'x'", "bad_config", "plan"),
        ("[models.a]\nfile = 'a.tflite'\nretain = 'all'", "bad_config", "'all'"),
        ("concurrent = [['vdd']]\n[models.a]\nfile='a'\n[models.vad]\nfile='v'", "bad_config", "vad"),
        ("concurrent = [['a', 'a']]\n[models.a]\nfile='a'", "bad_config", "no other model"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(tmp_path: Path, text: str, code: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert caught.value.code == code
    assert says in str(caught.value)
    assert caught.value.hint
    assert caught.value.file.endswith("app.toml")

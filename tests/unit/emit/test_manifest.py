"""`optimize --manifest` changes only the arena's size in a wake word's manifest."""

import json
from pathlib import Path

import pytest
import streaming

from tflm_memopt.cli import main as cli
from tflm_memopt.emit.manifest import manifest
from tflm_memopt.errors import UsageError

PUBLISHED = {
    "type": "micro",
    "wake_word": "Hé, computer",
    "author": "somebody",
    "website": "https://example.org",
    "model": "published.tflite",
    "trained_languages": ["fr"],
    "version": 2,
    "micro": {
        "probability_cutoff": 0.97,
        "feature_step_size": 10,
        "sliding_window_size": 5,
        "tensor_arena_size": 26_080,
        "minimum_esphome_version": "2024.7.0",
    },
}


def test_it_has_the_new_file_and_the_arena_to_declare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hey.tflite").write_bytes(streaming.mixed())
    (tmp_path / "hey.json").write_text(json.dumps(PUBLISHED), encoding="utf-8")
    command = ["optimize", str(tmp_path / "hey.tflite"), "--manifest", str(tmp_path / "hey.json"), "--force", "--json"]
    assert cli.main([*command, "-o", str(tmp_path / "out")]) == cli.DONE
    said = json.loads(capsys.readouterr().out)
    made = json.loads((tmp_path / "out/hey.json").read_text(encoding="utf-8"))
    assert list(made) == list(PUBLISHED) and list(made["micro"]) == list(PUBLISHED["micro"])
    assert made == PUBLISHED | {
        "model": "hey.tflite",
        "micro": PUBLISHED["micro"] | {"tensor_arena_size": said["arena_size"]},  # type: ignore[operator]
    }
    assert f"arena_size = {said['arena_size']};" in (tmp_path / "out/hey_ops.h").read_text(encoding="utf-8")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/hey.tflite").write_bytes(streaming.mixed())
    assert cli.main([command[0], str(tmp_path / "models/hey.tflite"), *command[2:], "-o", str(tmp_path)]) == cli.BAD
    assert "would be overwritten" in capsys.readouterr().err
    assert json.loads((tmp_path / "hey.json").read_text(encoding="utf-8")) == PUBLISHED


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (b"{", "bad_data"),
        (b"[]", "bad_data"),
        (b'{"type": "micro"}', "bad_data"),
        (b'{"type": "micro", "micro": {}}', "bad_data"),
        (b'{"micro": {"tensor_arena_size": 1}}', "bad_data"),
    ],
)
def test_what_is_no_manifest_is_refused(given: bytes, code: str) -> None:
    with pytest.raises(UsageError) as refused:
        manifest(given, "hey", 4000)
    assert refused.value.code == code

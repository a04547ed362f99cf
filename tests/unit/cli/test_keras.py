"""The command converts a Keras model to int8 with the user's data, and rewrites the int8 model."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from conftest import ROOT

from tflm_memopt.cli import main as cli
from tflm_memopt.model.graph import Graph
from tflm_memopt.model.reader import read

PROGRAM = """
import sys
import numpy as np
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
random = np.random.default_rng(2)
labels = random.integers(0, 2, 400)
images = random.normal(0, 0.3, (400, 16, 16, 2)).astype(np.float32) + labels[:, None, None, None]
model = tf.keras.Sequential([
    tf.keras.Input((16, 16, 2)),
    tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
    tf.keras.layers.DepthwiseConv2D(3, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(2, activation="softmax"),
])
model.compile(tf.keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy")
model.fit(images[:300], labels[:300], epochs=8, verbose=0)
model.save("net.keras")
model.save("model.keras")
model.export("saved", verbose=False)
np.save("x.npy", images[:60])
open_sizes = tf.keras.Input((None, None, 2))
model(open_sizes)
tf.keras.Sequential([open_sizes, *model.layers]).save("open.keras")
steps = tf.keras.Input((4, 4))
tf.keras.Model(steps, tf.keras.layers.LSTM(2)(steps)).save("lstm_loop.keras")
class Mine(tf.keras.layers.Layer):
    def call(self, x):
        return 2 * x
tf.keras.Sequential([steps, Mine(), tf.keras.layers.Dense(2)]).save("mine.keras")
tf.keras.Sequential([steps, tf.keras.layers.Lambda(lambda x: 2 * x)]).save("lambda.keras")
np.save("x_steps.npy", random.normal(size=(20, 4, 4)).astype(np.float32))
others = tf.keras.Input((4, 4))
tf.keras.Model([steps, others], tf.keras.layers.Dense(2)(steps + others)).save("two.keras")
row = tf.keras.Input((5,))
both = tf.keras.layers.Concatenate()([tf.keras.layers.Flatten()(steps), row])
tf.keras.Model([steps, row], tf.keras.layers.Dense(2)(both)).save("unequal.keras")
tokens = tf.keras.Input((6,), dtype="int32")
words = tf.keras.layers.GlobalAveragePooling1D()(tf.keras.layers.Embedding(9, 4)(tokens))
tokens_model = tf.keras.Model(tokens, tf.keras.layers.Dense(2)(words))
tokens_model.save("tokens.keras")
tokens_model.export("tokens", verbose=False)
np.save("x_tokens.npy", random.integers(0, 9, (20, 6)))
np.save("x_rows.npy", random.normal(size=(20, 5)).astype(np.float32))
np.save("x_fewer.npy", np.zeros((19, 4, 4), np.float32))
np.save("x_zero.npy", np.zeros_like(images[:60]))
np.save("x_nan.npy", np.where(images[:60] == images[:60].max(), np.nan, images[:60]))
np.save("x_small.npy", images[:60, :12, :12])
np.save("x_test.npy", images[300:])
np.save("y_test.npy", labels[300:])
import json, os, sys
from tflm_memopt.cli.main import main
codes = {}
for name, arguments in json.load(open("commands.json")).items():
    for number, stream in enumerate(("out", "err"), 1):
        os.dup2(os.open(f"{name}.{stream}", os.O_WRONLY | os.O_CREAT), number)
    codes[name] = main(arguments)
    sys.stdout.flush(), sys.stderr.flush()
json.dump(codes, open("codes.json", "w"))
"""
DATA = ["--calibrate", "x.npy", "--test", "x_test.npy", "y_test.npy"]
IN_ONE_STEP = [*DATA, "--board", "uno_r4", "-o", "out", "--json"]
BAD: Sequence[tuple[str, list[str]]] = (
    ("bad_option", ["net.keras"]),
    ("bad_data", ["net.keras", "--calibrate", "y_test.npy"]),
    ("bad_data", ["net.keras", "--calibrate", "x.npy", "x.npy"]),
    ("bad_data", ["net.keras", "--calibrate", "x.npy", "--test", "x_test.npy", "x.npy"]),
    ("bad_option", ["net.keras", "--calibrate", "x.npy", "--test", "x_test.npy"]),
    ("bad_data", ["two.keras", "--calibrate", "x_steps.npy", "x_fewer.npy"]),
    ("bad_data", ["net.keras", "--calibrate", "none.npy"]),
    ("bad_data", ["net.keras", "--calibrate", "x_zero.npy"]),
    ("bad_data", ["net.keras", "--calibrate", "x_nan.npy"]),
    ("not_a_model", ["broken.keras", "--calibrate", "x.npy"]),
)
SAYS: Mapping[str, str] = {
    "lstm_loop": "unroll=True",
    "mine": "custom layer, Mine, whose code is not in the file",
    "lambda": "custom layer, Lambda, ",
}
PAGES = tuple(
    shlex.split(line)[2:]
    for page in ("README.md", "docs/models.md")
    for line in re.findall(
        r"^tflm-memopt optimize model.keras .*$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE
    )
)
COMMANDS: Mapping[str, list[str]] = {
    **{f"page_{number}": [*arguments[:-1], f"page_{number}"] for number, arguments in enumerate(PAGES)},
    "net": ["net.keras", *IN_ONE_STEP],
    "saved": ["saved", *IN_ONE_STEP],
    "open_12": ["open.keras", "--calibrate", "x_small.npy", "-o", "open_12"],
    "unequal": ["unequal.keras", "--calibrate", "x_steps.npy", "x_rows.npy", "-o", "unequal"],
    "tokens": ["tokens.keras", "--calibrate", "x_tokens.npy", "--force", "-o", "tokens_keras"],
    "tokens_saved": ["tokens", "--calibrate", "x_tokens.npy", "--force", "-o", "tokens_saved"],
    "open_both": ["open.keras", "--calibrate", "x_small.npy", "--test", "x_test.npy", "y_test.npy", "-o", "no"],
    **{name: [f"{name}.keras", "--calibrate", "x_steps.npy", "-o", "no"] for name in SAYS},
    **{f"bad_{number}": [*arguments, "-o", "no"] for number, (_, arguments) in enumerate(BAD)},
}


class Folder(NamedTuple):
    path: Path
    codes: Mapping[str, int]

    def answer(self, name: str) -> tuple[int, str, str]:
        return self.codes[name], *((self.path / f"{name}.{stream}").read_text() for stream in ("out", "err"))

    def model(self, name: str) -> Graph:
        return read((self.path / name).read_bytes()).graph


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed: pip install -e '.[train]'")
    folder = tmp_path_factory.mktemp("keras")
    (folder / "commands.json").write_text(json.dumps({name: ["optimize", *a] for name, a in COMMANDS.items()}))
    (folder / "broken.keras").write_bytes(b"PK nothing")
    np.save(folder / "none.npy", np.zeros((0, 16, 16, 2)))
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, check=True)
    return Folder(folder, json.loads((folder / "codes.json").read_text()))


def installed(folder: Path, *arguments: str) -> tuple[int, str, str]:
    command = [Path(sysconfig.get_path("scripts")) / "tflm-memopt", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["net", "saved"])
def test_in_one_step(trained: Folder, name: str) -> None:
    code, out, err = trained.answer(name)
    assert code == cli.DONE, err
    report = json.loads(out)
    assert err == ""
    assert report["changed"]
    assert report["arena"]["total"] < report["original_arena"]["total"]
    accuracy = report["accuracy"]
    assert accuracy["examples"] == 100
    assert accuracy["keras"] > 0.9
    assert accuracy["int8"] == accuracy["rewritten"] > 0.9
    int8 = trained.model(f"out/{name}.int8.tflite")
    assert {int8.tensors[i].dtype for i in (*int8.inputs, *int8.outputs)} == {"INT8"}
    code, out, _ = installed(trained.path, "verify", f"out/{name}.int8.tflite", f"out/{name}.tflite", "--json")
    assert (code, json.loads(out)["bit_exact"]) == (cli.DONE, True)
    page = (trained.path / f"out/{name}.report.html").read_text()
    assert f"int8 before optimizing: {accuracy['int8']:.1%}" in page


@pytest.mark.slow
def test_the_commands_of_the_pages(trained: Folder) -> None:
    assert len(PAGES) == 3
    for number, arguments in enumerate(PAGES):
        code, _, err = trained.answer(f"page_{number}")
        assert code == cli.DONE, err
        assert arguments[-2:] == ["-o", "out"]
        assert (trained.path / f"page_{number}/model.int8.tflite").is_file()
    assert (trained.path / "page_0/arduino/model/model.ino").is_file()


@pytest.mark.slow
def test_data_that_does_not_fit(trained: Folder) -> None:
    for number, (code, arguments) in enumerate(BAD):
        left, _, err = trained.answer(f"bad_{number}")
        assert (left, err.splitlines()[-1]) == (cli.BAD, f"  code {code}"), arguments
    assert not (trained.path / "no").exists()


@pytest.mark.slow
def test_dimensions_that_the_model_leaves_open_are_the_examples(trained: Folder) -> None:
    code, _, err = trained.answer("open_12")
    assert code == cli.DONE, err
    graph = trained.model("open_12/open.int8.tflite")
    assert graph.tensors[graph.inputs[0]].shape == (1, 12, 12, 2)
    code, _, err = trained.answer("open_both")
    assert code == cli.BAD
    assert "an array has shape [100, 16, 16, 2], but the input needs [N, 12, 12, 2]" in err


@pytest.mark.slow
def test_inputs_stay_in_order(trained: Folder) -> None:
    code, _, err = trained.answer("unequal")
    assert code == cli.DONE, err
    graph = trained.model("unequal/unequal.int8.tflite")
    assert [graph.tensors[i].shape for i in graph.inputs] == [(1, 4, 4), (1, 5)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "folder"), [("tokens", "tokens_keras"), ("tokens_saved", "tokens_saved")])
def test_numbers_of_words_stay_integers(trained: Folder, name: str, folder: str) -> None:
    code, _, err = trained.answer(name)
    assert code == cli.DONE, err
    graph = trained.model(f"{folder}/tokens.int8.tflite")
    assert [graph.tensors[i].dtype for i in (*graph.inputs, *graph.outputs)] == ["INT32", "INT8"]


@pytest.mark.slow
@pytest.mark.parametrize("model", SAYS)
def test_what_cannot_be_converted_is_said_in_a_sentence(trained: Folder, model: str) -> None:
    left, out, err = trained.answer(model)
    assert (left, out) == (cli.BAD, "")
    words = [line.split()[0] for line in err.splitlines()]
    assert words in (["error:", "try:", "code"], ["error:", "at", "try:", "code"])
    assert "  code not_convertible\n" in err
    assert SAYS[model] in err


def test_calibration_of_another_format_names_the_way_from_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.pt").write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02")
    assert cli.main(["optimize", str(tmp_path / "net.pt"), "--calibrate", "x.npy"]) == cli.BAD
    assert "this is a PyTorch model" in (said := capsys.readouterr().err) and "litert-torch" in said


def test_without_tensorflow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    (tmp_path / "net.keras").write_bytes(b"PK")
    np.save(tmp_path / "x.npy", np.zeros((2, 4)))
    assert cli.main(["optimize", str(tmp_path / "net.keras"), "--calibrate", str(tmp_path / "x.npy")]) == cli.BAD
    said = capsys.readouterr().err
    assert "pip install 'tflm-memopt[train]'" in said
    assert "code not_installed" in said

"""Follow documentation pages word for word in a fresh checkout and environment.

docs/start.md runs with the packages that pip downloads for it; README.md and docs/models.md run with those installed
here.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import ROOT

TRAIN = """
import numpy as np
import tensorflow as tf
tf.keras.utils.set_random_seed(1)
random = np.random.default_rng(2)
labels = random.integers(0, 2, 240)
images = random.uniform(0, 0.5, (240, 24, 24, 1)).astype(np.float32) + labels[:, None, None, None] / 2
model = tf.keras.Sequential([
    tf.keras.Input((24, 24, 1)),
    tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
    tf.keras.layers.DepthwiseConv2D(3, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(2, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(images, labels, epochs=2, verbose=0)
model.save("model.keras")
np.save("x.npy", images[:60])
np.save("x_test.npy", images[60:])
np.save("y_test.npy", labels[60:])
"""
"""Train the Keras model that a user starts from."""


def commands_of(page: str) -> str:
    """Return all shell lines of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return "\n".join(re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))


def check_out(checkout: Path) -> None:
    """Copy the project's current files."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, tracked.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)


def follow(commands: str, checkout: Path, environment: Mapping[str, str]) -> str:
    """Run the commands, all of which must succeed, and return their output."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        ["sh", "-c", f"set -eu\n{commands}"],
        cwd=checkout, env={**clean, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def an_environment(folder: Path) -> dict[str, str]:
    """Environment variables with only this environment's packages installed, so that pip downloads nothing."""
    venv.create(folder, with_pip=True)
    (packages,) = folder.glob("lib/*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_FORCE_REINSTALL": "0"}


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
@pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="no TensorFlow: pip install -e '.[train]'")
def test_three_commands_from_keras_to_a_project_for_a_board(tmp_path: Path) -> None:
    """Run the commands of README.md, then those of docs/models.md."""
    checkout = tmp_path / "checkout"
    check_out(checkout)
    subprocess.run([sys.executable, "-c", TRAIN], cwd=checkout, capture_output=True, check=True)
    three, page = commands_of("README.md"), commands_of("docs/models.md")
    assert len(three.splitlines()) == 3
    environment = an_environment(tmp_path / "venv")
    said = follow(three, checkout, environment)
    assert "no difference in" in said and "under the official TFLM interpreter" in said
    sketch = checkout / "out/arduino/model"
    assert {"model.ino", "model_model.cpp", "model_ops.h", "model_camera.h"} <= {path.name for path in sketch.iterdir()}
    assert (checkout / "out/arduino/libraries/tflm-memopt/src/tflm_memopt.h").is_file()
    assert (tmp_path / "venv/bin/tflm-memopt").is_file()
    assert page.count("tflm-memopt ") == 2
    assert "accuracy" in follow(page, checkout, environment)

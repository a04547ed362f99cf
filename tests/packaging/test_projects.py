"""Projects that `optimize --emit` writes are complete, and run unchanged on a PC."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from conftest import EXAMPLE, ROOT
from kernels import camera
from models import Net
from ported import MADE
from projects import PROJECTS, TFLM, needs_host, run, told
from unit.analysis.arena_zoo import resource_variables

import tflm_memopt
from tflm_memopt.runtime.process import run_model

SAME = r"(.+, )?0 us, arena \d+ B, self-test: the same outputs as on a PC\n"
CAMERAS = ROOT / "tests/packaging/cameras"
OV7675, ESP32 = 1, 2


@cache
def written(where: str, cores: int = 1, memory: str | None = None) -> Mapping[str, bytes]:
    options = {"input": where, "cores": cores, "memory": memory}
    return tflm_memopt.optimize(EXAMPLE, name="shapes v1", **options).files(PROJECTS)


@pytest.mark.slow
@needs_host
@pytest.mark.parametrize(
    ("project", "where", "tflm"), [("platformio", "external", "SPRING"), ("esp-idf", "stream:4", "AUTUMN")]
)
def test_a_project_runs_as_it_is(project: str, where: str, tflm: str, tmp_path: Path) -> None:
    """Arduino and PlatformIO have a TFLM of spring 2023, and ESP-IDF has later versions."""
    assert re.fullmatch(SAME, told(project, written(where), TFLM[tflm], tmp_path))


@pytest.mark.slow
@needs_host
def test_a_project_provides_slow_memory(tmp_path: Path) -> None:
    files = written("external", memory="fast=9kB,slow=1MB")
    assert re.fullmatch(SAME, told("esp-idf", files, TFLM["AUTUMN"], tmp_path))
    main = tmp_path / "esp-idf/main"
    assert "PSRAM" in run(main / "program", cwd=main, NO_PSRAM="1")


@cache
def sliding(rows: int) -> Mapping[str, bytes]:
    net = Net(4)
    x = net.conv2d(net.input((1, 17, 1, 6)), 8, kernel=(3, 1), padding="VALID", activation="RELU")
    model = net.model(net.softmax(net.fully_connected(net.conv2d(x, 4, kernel=(4, 1), padding="VALID"), 3)))
    return tflm_memopt.optimize(model, input=f"sliding:{rows}", name="heard").files(PROJECTS)


@pytest.mark.slow
@needs_host
@pytest.mark.parametrize(("project", "rows", "tflm"), [("platformio", 3, "SPRING")])
def test_a_window_slides(project: str, rows: int, tflm: str, tmp_path: Path) -> None:
    said = told(project, sliding(rows), TFLM[tflm], tmp_path, loops=20)
    assert re.fullmatch(f"({SAME})+", said)
    assert len(set(re.findall(r"outputs[-.\d ]+", said))) > 1


@pytest.mark.slow
@needs_host
def test_a_project_runs_on_both_cores(tmp_path: Path) -> None:
    files = written("arena", cores=2)
    library = "arduino/libraries/tflm-memopt/src/tmo_worker.c"
    before, found, behind = files[library].partition(b"  team->status = team->help(team);")
    assert found
    files = {**files, library: b"#include <stdio.h>\n" + before + b'  puts("core 1 helps");\n' + found + behind}
    assert re.fullmatch(rf"(?:core 1 helps\n){{2}}{SAME}", told("esp-idf", files, TFLM["AUTUMN"], tmp_path))


@pytest.mark.slow
@needs_host
def test_a_project_has_the_models_ports(tmp_path: Path) -> None:
    files = tflm_memopt.optimize(MADE["swapped"](), name="swapped").files(PROJECTS)
    assert re.fullmatch(SAME, told("arduino", files, TFLM["SPRING"], tmp_path / "right"))
    wrong = {path: exchanged(data) if path.endswith("_sample.h") else data for path, data in files.items()}
    assert "the outputs DIFFER" in told("arduino", wrong, TFLM["SPRING"], tmp_path / "wrong")


LABELS = ("cat", "dog", 'a "bird" ?', "fish", "größe")


@cache
def classifier(where: str) -> tuple[bytes, Mapping[str, bytes]]:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 32, 3), (1 / 255, -128)), 8, kernel=(3, 3), stride=(2, 2), activation="RELU")
    model = net.model(net.softmax(net.fully_connected(net.mean(net.conv2d(x, 8), (1, 2)), len(LABELS))))
    return model, tflm_memopt.optimize(model, input=where, name="net").files(PROJECTS, labels=LABELS)


@pytest.mark.slow
@needs_host
@pytest.mark.parametrize(
    ("project", "where", "tflm", "which"),
    [("arduino", "arena", "SPRING", OV7675), ("esp-idf", "external", "AUTUMN", ESP32)],
)
def test_a_project_says_what_the_camera_sees(project: str, where: str, tflm: str, which: int, tmp_path: Path) -> None:
    model, files = classifier(where)
    (main,) = (name for name in files if name.startswith(project) and name.endswith("net_model.h"))
    (tmp_path / main).parent.mkdir(parents=True)
    frame = np.random.default_rng(4).integers(0, 256, (120, 320), dtype=np.uint8)
    (tmp_path / main).with_name("frame.bin").write_bytes(frame.tobytes())
    flags = [f"-I{CAMERAS}", f"-DTMO_CAMERA={which}"]
    said = told(project, files, TFLM[tflm], tmp_path, *flags, loops=2).splitlines()
    case = camera.Case(camera.RGB565_BE, (0, 0, 160, 120), (0, 0), (24, 32, 3), 0)
    image = camera.whole(case, frame, (np.arange(256) - 128).astype(np.int8))
    scores = run_model(model, [image[None, None]], 1, 1).outputs[0].reshape(-1)
    best = int(scores.argmax())
    assert len({*scores.tolist()}) > 1
    score = (int(scores[best]) + 128) / 256
    assert len(said) == 2 and said[0] == said[1]
    assert re.fullmatch(rf"{re.escape(LABELS[best])} {int(1000 * score + 0.5) / 1000:.3f}, {SAME}", said[0] + "\n")
    (tmp_path / main).with_name("frame.bin").unlink()
    assert (
        run(*(tmp_path / main).parent.glob("program"), cwd=(tmp_path / main).parent, LOOPS="2").splitlines()
        == ["not ready: the camera does not answer"] * 2
    )


@pytest.mark.slow
@needs_host
def test_a_model_with_resource_variables_starts(tmp_path: Path) -> None:
    files = tflm_memopt.optimize(resource_variables(), name="state").files(PROJECTS)
    assert b"constexpr int state_resource_variables = 2;" in files["arduino/state/state_ops.h"]
    assert re.fullmatch(f"(?:{SAME}){{3}}", told("arduino", files, TFLM["SPRING"], tmp_path, loops=3))


def exchanged(header: bytes) -> bytes:
    sizes = dict(re.findall(r"(\w+_input_\d+)\[(\d+)\]", header.decode()))
    a, b = next(
        (a, b) for a, b in combinations(sizes, 2) if sizes[a] == sizes[b] and values(header, a) != values(header, b)
    )
    return re.sub(rf"\b({a}|{b})\b".encode(), lambda found: (b if found[1].decode() == a else a).encode(), header)


def values(header: bytes, name: str) -> bytes:
    return header.partition(name.encode())[2].partition(b"};")[0]

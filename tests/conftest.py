"""What all tests share: the models to run on, files from outside the repository, and the rule that CI skips nothing."""

from __future__ import annotations

import functools
import gc
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import compiling
import pytest
from hypothesis import settings

import tflm_memopt
from tflm_memopt.results import Optimized

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/shapes/shapes_int8.tflite"
NETWORKS = ROOT / "examples/networks"
KEYWORDS = NETWORKS / "keywords_dscnn_int8.tflite"
RESNET = NETWORKS / "textures_resnet8_int8.tflite"
MOBILENET = NETWORKS / "figures_mobilenet_int8.tflite"
FLOAT_IO = NETWORKS / "textures_mobilenetv2_float_io.tflite"
AUTOENCODER = NETWORKS / "machine_autoencoder_int8.tflite"
WAKE_WORD = NETWORKS / "wakeword_stream_int8.tflite"
WINDOW = NETWORKS / "wakeword_window_int8.tflite"
OWN_MODELS = (EXAMPLE, KEYWORDS, RESNET, MOBILENET, FLOAT_IO, AUTOENCODER, WAKE_WORD, WINDOW)
"""Trained models of the repository, each of which runs in a moment."""
HIDDEN = os.environ.get("TMO_NO_OUTSIDE", "") not in ("", "0")
"""Whether tests run as in a clone that has nothing beside it."""
OUTSIDE = ROOT / ("nowhere" if HIDDEN else "../shared/models")
"""Public models and layer lists, unchanged. They are not part of the repository: tests ask the fixture `outside`."""
OUTSIDE_MISSING = "not in this clone, and not beside it:"
"""What the reason of a skip begins with when a test asks for a file that is not there."""
QUICK = "TMO_QUICK"
"""Set in the environment when slow tests are left out: test modules import another copy of this one than pytest has."""
NO_SKIP = os.environ.get("TMO_NO_SKIP", "") not in ("", "0")

# Otherwise every worker would rewrite the assertions of all tests again, and the processes that tests start would
# compile the package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# CI draws the same random examples every time; a machine of yours draws new ones.
settings.register_profile("fixed", derandomize=True)
if NO_SKIP:
    settings.load_profile("fixed")


compiling.install()


@functools.cache
def outside_models() -> list[Path]:
    """The public models, where they are: for parameters. A test that needs one by its name asks `outside`."""
    return sorted(OUTSIDE.resolve().glob("*.tflite"))


def _outside(name: str) -> Path:
    path = OUTSIDE.resolve() / name
    if not path.exists():
        pytest.skip(f"{OUTSIDE_MISSING} {name}")
    return path


@pytest.fixture(scope="session")
def outside() -> Callable[[str], Path]:
    """The path of a file or folder that is not part of the repository, by its name. Where it is absent, the test is
    skipped with a reason. Tests with this fixture have the marker `outside`.
    """
    return _outside


@functools.cache
def optimized(path: Path, target: str = "generic") -> bytes:
    """A model converted, its inputs and outputs int8, once for all tests of this process."""
    return tflm_memopt.optimize(path.read_bytes(), int8_io=True, target=target).model


@functools.cache
def on_two_cores(path: Path = EXAMPLE, target: str = "cortex-m33") -> Optimized:
    """A model for two cores, converted once for all tests of this process."""
    return tflm_memopt.optimize(path.read_bytes(), cores=2, target=target)


def examples(count: int) -> int:
    """Number of random cases: `count`, or an eighth of it when slow tests are left out."""
    return max(2, count // 8) if os.environ.get(QUICK) else count


def seeds(count: int, *, first: int = 0) -> Iterator[int]:
    """Yields the seeds of examples(count) random cases.

    Each seed is printed before it is used, so that the output of a failed test ends with the one that failed.
    """
    for seed in range(first, first + examples(count)):
        print(f"seed {seed}")
        yield seed


def thinned(values: Iterable[Any], quick: int) -> list[Any]:
    """Parameters of a test, or tuples of them: the first `quick` are for the quick tests, all for the slow ones."""
    given = [v if isinstance(v, tuple) else (v,) for v in values]
    return [pytest.param(*v, marks=() if n < quick else pytest.mark.slow) for n, v in enumerate(given)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument `own_model` (a path) runs once for each trained model of the repository; with
    `real_model` also for each public model, slowly.
    """
    own = [pytest.param(path, id=path.stem) for path in OWN_MODELS]
    slow = [pytest.mark.slow, pytest.mark.outside]
    public = [pytest.param(path, id=path.stem, marks=slow) for path in outside_models()]
    for name, models in (("own_model", own), ("real_model", own + public)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, models)


def pytest_itemcollected(item: pytest.Item) -> None:
    if "outside" in getattr(item, "fixturenames", ()):
        item.add_marker("outside")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # until all is collected: see pytest_collection_finish
    if config.option.markexpr == "not slow":
        os.environ[QUICK] = "1"
        settings.register_profile("quick", settings.default, max_examples=25)
        settings.load_profile("quick")


def pytest_collection_finish() -> None:
    """Modules and tests live until the end: the garbage collector need not go through them again and again. What tests
    leave are mostly no circles: it need not look for some as often as it would.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_report_header() -> list[str]:
    return [
        f"public models: {', '.join(path.stem for path in outside_models()) or f'none, {OUTSIDE} is not there'}",
        f"a skip is {'a failure (TMO_NO_SKIP)' if NO_SKIP else 'allowed; TMO_NO_SKIP=1 makes it a failure'}",
    ]


@pytest.fixture(scope="session")
def example() -> bytes:
    """The shapes example: a small int8 MobileNet-style network with two residual ADDs."""
    return EXAMPLE.read_bytes()


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turns a skip into a failure that says why it would have been skipped. An expected failure is no skip, and files
    that are hidden may be absent.
    """
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if HIDDEN and OUTSIDE_MISSING in reason:
            return
        report.outcome = "failed"
        report.longrepr = f"nothing may be skipped here (TMO_NO_SKIP=1), but: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report

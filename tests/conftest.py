"""Sets up all tests: models, files from outside the repository, and the rule that CI skips nothing."""

import functools
import gc
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import compiling
import pytest
from hypothesis import HealthCheck, settings

import tflm_memopt
from tflm_memopt.answers.optimized import Optimized

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
HIDDEN = os.environ.get("TMO_NO_OUTSIDE", "") not in ("", "0")
OUTSIDE = ROOT / ("nowhere" if HIDDEN else "../shared/models")
"""Folder with public models that are not in the repository."""
PUBLIC = ("mlperf_tiny_kws_dscnn_int8", "mcunet_vww_80_float_io")
OUTSIDE_MISSING = "not in this clone, and not beside it:"
QUICK = "TMO_QUICK"
"""The environment variable TMO_QUICK is set if slow tests are left out. Test modules and pytest import separate copies
of conftest.py, so they cannot share a global variable.
"""
QUICKLY = 0.05
"""Search effort for tests that need no good plan."""
NO_SKIP = os.environ.get("TMO_NO_SKIP", "") not in ("", "0")

# With bytecode files on disk, child processes start faster.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# In CI, random tests draw the same examples in each run.
# Random tests have no time limit, because machines differ in speed.
ANY_SPEED: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("any", **ANY_SPEED)
settings.register_profile("fixed", derandomize=True, **ANY_SPEED)
settings.load_profile("fixed" if NO_SKIP else "any")


compiling.install()


@functools.cache
def outside_models() -> list[Path]:
    return sorted(OUTSIDE.resolve().glob("*.tflite"))


def _outside(name: str) -> Path:
    path = OUTSIDE.resolve() / name
    if not path.exists():
        pytest.skip(f"{OUTSIDE_MISSING} {name}")
    return path


@pytest.fixture(scope="session")
def outside() -> Callable[[str], Path]:
    return _outside


@functools.cache
def optimized(path: Path, target: str = "generic") -> bytes:
    return tflm_memopt.optimize(path.read_bytes(), int8_io=True, target=target, effort=QUICKLY).model


@functools.cache
def on_two_cores(path: Path = EXAMPLE, target: str = "cortex-m33") -> Optimized:
    return tflm_memopt.optimize(path.read_bytes(), cores=2, target=target, effort=QUICKLY)


def examples(count: int) -> int:
    """Return `count`, or a quarter of `count` if only quick tests run."""
    return max(2, count // 4) if os.environ.get(QUICK) else count


def seeds(count: int, *, first: int = 0) -> Iterator[int]:
    """Print and yield a seed for each random case, so that the output of a failed test ends with its seed."""
    for seed in range(first, first + examples(count)):
        print(f"seed {seed}")
        yield seed


def thinned(values: Iterable[Any], quick: int) -> list[Any]:
    """Mark all test parameters except the first `quick` parameters as slow."""
    given = [v if isinstance(v, tuple) else (v,) for v in values]
    return [pytest.param(*v, marks=() if n < quick else pytest.mark.slow) for n, v in enumerate(given)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = [pytest.param(path, id=path.stem) for path in OWN_MODELS]
    slow = [pytest.mark.slow, pytest.mark.outside]
    public = [pytest.param(path, id=path.stem, marks=slow) for path in outside_models() if path.stem in PUBLIC]
    for name, models in (("own_model", own), ("real_model", own + public)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, models)


def pytest_itemcollected(item: pytest.Item) -> None:
    if "outside" in getattr(item, "fixturenames", ()):
        item.add_marker("outside")


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()
    if config.option.markexpr == "not slow":
        os.environ[QUICK] = "1"
        settings.register_profile("quick", settings(), max_examples=25)
        settings.load_profile("quick")


def pytest_collection_finish() -> None:
    """Let Python's garbage collector run rarely, because modules and tests live until the process ends."""
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
    return EXAMPLE.read_bytes()


def _turn_skip_into_failure(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if HIDDEN and OUTSIDE_MISSING in reason:
            return
        report.outcome = "failed"
        report.longrepr = f"nothing may be skipped here (TMO_NO_SKIP=1), but: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _turn_skip_into_failure(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _turn_skip_into_failure(report)
    return report

"""What pip installs: the wheel with and without a compiler, and the source distribution that it can be built from."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tflm_memopt.runtime.native import file_name

ROOT = Path(__file__).parents[2]
BACKEND = "import sys; from scikit_build_core import build; getattr(build, 'build_' + sys.argv[1])(sys.argv[2])"

pytestmark = pytest.mark.slow


def build(kind: str, source: Path, out: Path, **environment: str) -> Path:
    """Builds a "wheel" or an "sdist" of `source` into `out`, with the packages that are installed here."""
    out.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BACKEND, kind, str(out)],
        cwd=source,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.iterdir()
    return built


def wheel_files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sdist_files(sdist: Path) -> dict[str, bytes]:
    """Contents by path, without the leading NAME-VERSION/."""
    with tarfile.open(sdist) as archive:
        streams = {member.name.partition("/")[2]: archive.extractfile(member) for member in archive.getmembers()}
        return {name: stream.read() for name, stream in streams.items() if stream is not None}


def tree(folder: str, pattern: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern) if path.is_file()}


def python_package() -> set[str]:
    data = (*tree("tflm_memopt", "*.json"), *tree("tflm_memopt", "*.html"))
    sources = {name for name in tree("custom_ops", "*") if not name.startswith("custom_ops/host/")}
    return {"tflm_memopt/py.typed", *tree("tflm_memopt", "*.py"), *data, *(f"tflm_memopt/{name}" for name in sources)}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist") / "out")


@pytest.fixture(scope="module")
def source(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked source distribution."""
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", source, tmp_path_factory.mktemp("wheel") / "out")


def test_sdist_holds_what_a_source_build_needs_and_no_build_products(sdist: Path) -> None:
    files = sdist_files(sdist)
    own = {name for name in python_package() if not name.startswith("tflm_memopt/custom_ops/")}
    needed = {"pyproject.toml", "README.md", "LICENSE", *own, *tree("custom_ops", "*")}
    assert needed <= set(files)
    assert not [name for name in files if name.endswith((".so", ".o", ".a", ".pyc", ".whl"))]
    assert not [name for name in files if name.startswith((".venv", "build/", ".git/"))]


def test_wheel_holds_the_package_its_types_and_its_native_libraries(wheel: Path) -> None:
    files = wheel_files(wheel)
    package = {name for name in files if ".dist-info/" not in name}
    natives = {f"tflm_memopt/runtime/{file_name('tmo_host')}", f"tflm_memopt/runtime/{file_name('tmo_wheel_shim')}"}
    assert package - natives == python_package()
    assert f"tflm_memopt/runtime/{file_name('tmo_host')}" in package
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in files)
    assert "-py3-none-" in wheel.name and not wheel.name.endswith("-any.whl")


def test_wheel_without_a_compiler_is_the_python_part(source: Path, tmp_path: Path) -> None:
    wheel = build("wheel", source, tmp_path / "out", CC="no-such-compiler", CXX="no-such-compiler")
    package = {name for name in wheel_files(wheel) if ".dist-info/" not in name}
    assert wheel.name.endswith("-py3-none-any.whl")
    assert package == python_package()


def test_distributions_name_no_folder_of_the_machine_that_built_them(sdist: Path, wheel: Path, source: Path) -> None:
    folders = [str(folder).encode() for folder in (ROOT, source, sdist.parent, wheel.parent, Path(sys.prefix))]
    files = {**sdist_files(sdist), **wheel_files(wheel)}
    named = [(name, folder) for name, content in files.items() for folder in folders if folder in content]
    assert not named

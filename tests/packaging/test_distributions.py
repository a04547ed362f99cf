"""pip installs the wheel with and without a C compiler, and can build the wheel from the source distribution."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.command import small

from tflm_memopt.runtime.native import file_name

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def tree(folder: str, pattern: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob(pattern) if path.is_file()}


def python_package() -> set[str]:
    data = {name for suffix in ("json", "html", "jinja", "h") for name in tree("tflm_memopt", f"*.{suffix}")}
    sources = {name for name in tree("custom_ops", "*") if not name.startswith("custom_ops/host/")}
    sources |= {"arduino/library.properties", "custom_ops/LICENSE"}
    return {"tflm_memopt/py.typed", *tree("tflm_memopt", "*.py"), *data, *(f"tflm_memopt/{name}" for name in sources)}


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, ROOT / "scripts/dist.py", "-o", out, "python"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def sdist(published: Path) -> Path:
    (path,) = published.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def source(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


@pytest.fixture(scope="module")
def wheel(published: Path) -> Path:
    (path,) = published.glob("*.whl")
    return path


def test_sdist_holds_what_a_source_build_needs_and_no_build_products(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        streams = {member.name.partition("/")[2]: archive.extractfile(member) for member in archive.getmembers()}
        files = {name: stream.read() for name, stream in streams.items() if stream is not None}
    own = {
        name for name in python_package() if not name.startswith(("tflm_memopt/custom_ops/", "tflm_memopt/arduino/"))
    }
    needed = {"pyproject.toml", "README.md", "LICENSE", *own, *tree("custom_ops", "*"), *tree("arduino", "*")}
    assert needed <= set(files)
    assert not [name for name in files if name.endswith((".so", ".o", ".a", ".pyc", ".whl"))]
    assert not [name for name in files if name.startswith((".venv", "build/", ".git/"))]


def test_wheel_holds_the_package_its_types_and_its_native_libraries(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    package = {name for name in files if ".dist-info/" not in name}
    natives = {f"tflm_memopt/runtime/{file_name('tmo_host')}", f"tflm_memopt/runtime/{file_name('tmo_wheel_shim')}"}
    assert package - natives == python_package()
    assert f"tflm_memopt/runtime/{file_name('tmo_host')}" in package
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in files)
    assert "-py3-none-" in wheel.name and not wheel.name.endswith("-any.whl")


Command = Callable[..., subprocess.CompletedProcess[str]]


def installed(wheel: Path, folder: Path) -> Command:
    """Install a wheel in an environment without make and compiler, and return the path of the installed command."""
    environment = folder / "venv"
    venv.create(environment, with_pip=False)
    (scripts,) = (path.parent for path in environment.rglob("python") if path.parent.name in ("bin", "Scripts"))
    pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--no-index", "--no-deps", wheel]
    subprocess.run(pip, check=True, capture_output=True)
    (packages,) = environment.rglob("site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        clean = {**{k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}, "PATH": str(scripts)}
        command = [scripts / "tflm-memopt", *arguments]
        return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)

    return run


def test_the_installed_command_needs_no_compiler(wheel: Path, tmp_path: Path) -> None:
    command, model = installed(wheel, tmp_path), "small.tflite"
    (tmp_path / model).write_bytes(small())
    for arguments in (["inspect", model], ["fit", model], ["optimize", model, "-o", "out"]):
        done = command(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "out/small.report.html").is_file()
    verify = ["verify", model, "out/small.tflite", "--runs", "1"]
    projects = ["optimize", model, "-o", "projects", "--emit", "arduino"]
    for arguments in (verify, projects):
        done = command(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr

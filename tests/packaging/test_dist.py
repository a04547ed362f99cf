"""Test the device packages of `make dist`: each holds exactly what its users need, and builds are reproducible.

test_distributions.py tests wheel and sdist.
"""

from __future__ import annotations

import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

import tflm_memopt

PIO = runpy.run_path(str(ROOT / "scripts/platformio.py"))
LIBRARY = ROOT / "custom_ops"
LARGEST = 1_000_000
"""Upper bound on a package in bytes, far below the limits of all registries."""

needs_platformio = pytest.mark.skipif(bool(PIO["missing"]()), reason=PIO["missing"]() or "present")


def dist(out: Path, *packages: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts/dist.py", "-o", out, *packages]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the three packages."""
    out = tmp_path_factory.mktemp("dist")
    done = dist(out, "arduino", "platformio", "esp-idf")
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def package(packages: Path, ending: str) -> Path:
    return packages / f"tflm-memopt-{tflm_memopt.__version__}-{ending}"


def unpacked(archive: Path) -> dict[str, bytes]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as files:
            return {name: files.read(name) for name in files.namelist()}
    with tarfile.open(archive) as members:
        streams = {member.name: members.extractfile(member) for member in members}
        return {name: stream.read() for name, stream in streams.items() if stream is not None}


def sources(*folders: str) -> dict[str, bytes]:
    """Files of folders of custom_ops/, by path below it."""
    paths = [path for folder in folders for path in (LIBRARY / folder).rglob("*") if path.is_file()]
    return {path.relative_to(LIBRARY).as_posix(): path.read_bytes() for path in paths}


CODE = sources("include", "src", "tflm")
WITH_LINKS = {**CODE, **sources("links")}
"""The code with the optional links between devices."""


@pytest.mark.slow
@needs_platformio
def test_the_platformio_package_is_the_library_and_its_manifest(packages: Path) -> None:
    files = unpacked(package(packages, "platformio.tar.gz"))
    assert json.loads(files["library.json"]) == json.loads((LIBRARY / "library.json").read_bytes())
    assert {**files, **WITH_LINKS} == files
    assert set(files) - set(WITH_LINKS) == {"library.json", "LICENSE", "README.md"}


@pytest.mark.slow
@needs_platformio
def test_the_esp_idf_package_is_the_library_and_its_manifests(packages: Path) -> None:
    files = unpacked(package(packages, "esp-idf.tgz"))
    assert yaml.safe_load(files["idf_component.yml"]) == yaml.safe_load((LIBRARY / "idf_component.yml").read_bytes())
    assert {**files, **WITH_LINKS} == files
    manifests = {"CMakeLists.txt", "Kconfig", "idf_component.yml"}
    assert set(files) - set(WITH_LINKS) == {*manifests, "LICENSE", "README.md"}


@pytest.mark.slow
@needs_platformio
def test_packages_are_small_and_always_the_same(packages: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert dist(again, "arduino", "platformio", "esp-idf").returncode == 0
    first, second = (
        {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.iterdir()} for folder in (packages, again)
    )
    assert first == second
    assert len(first) == 3
    assert all(path.stat().st_size < LARGEST for path in packages.iterdir())


@pytest.mark.slow
@needs_platformio
@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_a_program_builds_with_the_platformio_package(packages: Path, tmp_path: Path) -> None:
    """As from the registry, PlatformIO unpacks the archive and compiles the whole library."""
    archive = package(packages, "platformio.tar.gz")
    environment = f"platform = native\nlib_deps = file://{archive}\nlib_compat_mode = strict"
    (tmp_path / "platformio.ini").write_text(f"[env:native]\n{environment}\n")
    (tmp_path / "src").mkdir()
    program = "#include <tmo/tmo.h>\n#include <stdio.h>\nint main(void) { puts(tmo_status_text(TMO_OK)); return 0; }\n"
    (tmp_path / "src/main.c").write_text(program)
    command, variables = PIO["command"](["run", "--project-dir", str(tmp_path)])
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert subprocess.run([tmp_path / ".pio/build/native/program"], check=False).returncode == 0

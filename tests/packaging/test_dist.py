"""The packages of `make dist` contain exactly the files that users need, and every build writes the same bytes."""

import hashlib
import os
import runpy
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from built import arduino_library
from conftest import ROOT

import tflm_memopt

PIO = runpy.run_path(str(ROOT / "scripts/platformio.py"))
LIBRARY = ROOT / "custom_ops"
LARGEST = 1_000_000

needs_platformio = pytest.mark.skipif(bool(PIO["missing"]()), reason=PIO["missing"]() or "present")


def dist(out: Path, *packages: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts/dist.py", "-o", out, *packages]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


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
    paths = [path for folder in folders for path in (LIBRARY / folder).rglob("*") if path.is_file()]
    return {path.relative_to(LIBRARY).as_posix(): path.read_bytes() for path in paths}


CODE = sources("include", "src", "tflm")
WITH_LINKS = {**CODE, **sources("links")}


@pytest.mark.slow
@needs_platformio
def test_packages_hold_the_library_and_are_always_the_same(tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    for out, packages in ((first, ("arduino", "platformio", "esp-idf")), (again, ("platformio", "esp-idf"))):
        done = dist(out, *packages)
        assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = arduino_library().parent.glob("*.zip")
    shutil.copy(archive, package(again, "arduino.zip"))
    digests = [{p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in out.iterdir()} for out in (first, again)]
    assert digests[0] == digests[1]
    assert len(digests[0]) == 3
    assert all(path.stat().st_size < LARGEST for path in first.iterdir())
    for ending, manifests in (
        ("platformio.tar.gz", {"library.json"}),
        ("esp-idf.tgz", {"CMakeLists.txt", "Kconfig", "idf_component.yml"}),
    ):
        files = unpacked(package(first, ending))
        assert {**files, **WITH_LINKS} == files
        assert set(files) - set(WITH_LINKS) == {*manifests, "LICENSE", "README.md"}

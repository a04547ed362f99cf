"""Build the packages of a release in dist/, and check most of them with the tools of their registries.

Equal sources give equal bytes, because files in archives have a fixed date: SOURCE_DATE_EPOCH (in seconds since 1970)
or 1980-01-01.

Usage: python scripts/dist.py [-o FOLDER] [PACKAGE...]

The PACKAGE `python` is checked by `twine check --strict`, `platformio` by PlatformIO's parser, schema and packer, and
`esp-idf` by Espressif's component manager; `arduino` is not checked.
"""

import argparse
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import arduino as arduino_library
import tflm_memopt

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "custom_ops"
NAME, VERSION = "tflm-memopt", tflm_memopt.__version__
EPOCH = arduino_library.EPOCH
BACKEND = "import sys; from scikit_build_core import build; getattr(build, 'build_' + sys.argv[1])(sys.argv[2])"

Files = Mapping[str, bytes]


class Refused(Exception):
    """Raised if a registry would reject a package."""


def python_packages(out: Path, scratch: Path) -> list[Path]:
    sdist = _built("sdist", ROOT, scratch)
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch / "source", filter="data")
    (source,) = (scratch / "source").iterdir()
    wheel = _built("wheel", source, scratch)
    if wheel.name.endswith("-any.whl"):
        raise Refused(f"{wheel.name} has no native libraries: is there a C compiler?")
    _run("-m", "twine", "check", "--strict", sdist, wheel)
    return [Path(shutil.move(path, out)) for path in (sdist, wheel)]


def _built(kind: str, source: Path, scratch: Path) -> Path:
    folder = scratch / kind
    folder.mkdir()
    _run("-c", BACKEND, kind, folder, cwd=source)
    (built,) = folder.iterdir()
    return built


def arduino(out: Path, scratch: Path) -> list[Path]:
    """Build the zip that Arduino's IDE installs with "Add .ZIP Library"."""
    _, archive = arduino_library.build(scratch / "arduino")
    return [Path(shutil.copy(archive, out / f"{NAME}-{VERSION}-arduino.zip"))]


def platformio(out: Path, scratch: Path) -> list[Path]:
    """Build the package that `pio pkg pack` makes of custom_ops/."""
    packed = scratch / "packed.tar.gz"
    _run(ROOT / "scripts/platformio.py", "pack", staged(scratch / "platformio"), packed)
    return [write_tar(out / f"{NAME}-{VERSION}-platformio.tar.gz", unpacked(packed))]


def esp_idf(out: Path, scratch: Path) -> list[Path]:
    """Build the package that `compote component pack` makes of custom_ops/."""
    where = ("--project-dir", staged(scratch / "esp_idf"), "--dest-dir", scratch / "esp_idf_packed")
    _run("-m", "idf_component_manager", "component", "pack", "--name", NAME, *where)
    (packed,) = (scratch / "esp_idf_packed").glob("*.tgz")
    return [write_tar(out / f"{NAME}-{VERSION}-esp-idf.tgz", unpacked(packed))]


PACKAGES = {"python": python_packages, "arduino": arduino, "platformio": platformio, "esp-idf": esp_idf}


def staged(folder: Path) -> Path:
    shutil.copytree(LIBRARY, folder)
    shutil.copy(ROOT / "LICENSE", folder)
    return folder


def unpacked(archive: Path) -> Files:
    with tarfile.open(archive) as tar:
        streams = {member.name.removeprefix("./"): tar.extractfile(member) for member in tar if member.isfile()}
        return {name: stream.read() for name, stream in streams.items() if stream}


def write_tar(path: Path, files: Files) -> Path:
    with gzip.GzipFile(path, "wb", mtime=EPOCH) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(files[name]), EPOCH, 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return path


def _run(*arguments: str | Path, cwd: Path = ROOT) -> None:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH)},
    )  # fmt: skip
    if done.returncode:
        raise Refused(done.stdout + done.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist", help="an empty or new folder (dist/)")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"{', '.join(PACKAGES)} (default: all)")
    args = parser.parse_args()
    if unknown := [name for name in args.packages if name not in PACKAGES]:
        parser.error(f"'{unknown[0]}' is none of {', '.join(PACKAGES)}")
    out = args.output.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if any(out.iterdir()):
        parser.error(f"{out} is not empty")
    try:
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            built = [path for name in args.packages or PACKAGES for path in PACKAGES[name](out, scratch)]
    except Refused as why:
        print(f"refused: {why}", file=sys.stderr)
        return 1
    for path in built:
        print(f"{path.stat().st_size:>9,} B  {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Install PlatformIO in build/platformio, and run it without a network.

Instead of PlatformIO's packages tool-scons and `native`, the script installs the Python package scons and the platform
in tests/packaging/platformio/native. The command `pack` works like `pio pkg pack`, but finds licences in the Python
package `packaging` instead of on SPDX's site.

Without arguments, the script only installs PlatformIO.

Usage: python scripts/platformio.py [pack FOLDER ARCHIVE.tar.gz | ARGUMENT_OF_PIO...]
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOME = ROOT / "build/platformio"
PACKAGES = HOME / "packages"
CORE = HOME / "core"
NATIVE = ROOT / "tests/packaging/platformio/native"

PLATFORMIO, SCONS = "6.2.0", "4.11.1"
TOOL_SCONS = "4.41101.0"
"""Version of the package tool-scons that contains SCons 4.11.1."""
SCONS_ENTRY = "from SCons.Script.Main import main\n\nmain()\n"
PACK = (
    "\n"
    "import sys\n"
    "from platformio.package.manifest.schema import ManifestSchema\n"
    "from platformio.package.pack import PackagePacker\n"
    "\n"
    "folder, archive, licence = sys.argv[1:]\n"
    'ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": licence}]})\n'
    "PackagePacker(folder).pack(archive)\n"
)


def missing() -> str:
    """Return the command that installs PlatformIO, or "" if it is installed."""
    return (
        ""
        if (CORE / "platforms/native").is_dir()
        else "no PlatformIO in build/platformio: python scripts/platformio.py"
    )


def install() -> None:
    """PlatformIO and SCons have their own folder, because their requirements may conflict with other packages."""
    if missing():
        wanted = [f"platformio=={PLATFORMIO}", f"scons=={SCONS}"]
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", str(PACKAGES), *wanted], check=True)
        scons = CORE / "packages/tool-scons"
        _write(scons / "package.json", {"name": "tool-scons", "version": TOOL_SCONS})
        _write(scons / ".piopm", _origin("tool", "tool-scons", TOOL_SCONS))
        (scons / "scons.py").write_text(SCONS_ENTRY)
        native = CORE / "platforms/native"
        shutil.copytree(NATIVE, native, dirs_exist_ok=True)
        version = json.loads((NATIVE / "platform.json").read_bytes())["version"]
        _write(native / ".piopm", _origin("platform", "native", version))


def _origin(kind: str, name: str, version: str) -> Mapping[str, object]:
    """PlatformIO requires that each package has an owner."""
    spec = {"owner": "platformio", "id": None, "name": name, "requirements": None, "uri": None}
    return {"type": kind, "name": name, "version": version, "spec": spec}


def _write(path: Path, document: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))


def command(arguments: Sequence[str]) -> tuple[list[str], Mapping[str, str]]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(PACKAGES),
        "PLATFORMIO_CORE_DIR": str(CORE),
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
        "PLATFORMIO_DISABLE_UPGRADE_CHECK": "true",
    }
    return [sys.executable, "-m", "platformio", *arguments], environment


def pack(folder: Path, archive: Path) -> int:
    from packaging.licenses import canonicalize_license_expression  # noqa: PLC0415

    licence = canonicalize_license_expression(json.loads((folder / "library.json").read_bytes())["license"])
    _, environment = command(())
    line = [sys.executable, "-c", PACK, str(folder), str(archive), licence]
    return subprocess.run(line, cwd=HOME, env=environment, check=False).returncode


def main(arguments: Sequence[str]) -> int:
    install()
    if arguments[:1] == ["pack"]:
        folder, archive = map(Path, arguments[1:])
        return pack(folder.resolve(), archive.resolve())
    if not arguments:
        print(f"PlatformIO {PLATFORMIO} is in {HOME}")
        return 0
    line, environment = command(arguments)
    return subprocess.run(line, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Print the project's version, or set it in all files except CHANGELOG.md.

The exit status is 1 if files state different versions. With `--tag v1.2.3`, the exit status is also 1 if the project's
version is not the tag's.

Usage: python scripts/version.py [--tag TAG] [VERSION]
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SEMANTIC = r"\d+\.\d+\.\d+"
PLACES = {
    "tflm_memopt/__init__.py": rf'^__version__ = "({SEMANTIC})"$',
    "custom_ops/library.json": rf'^  "version": "({SEMANTIC})",$',
    "custom_ops/idf_component.yml": rf'^version: "({SEMANTIC})"$',
    "arduino/library.properties": rf"^version=({SEMANTIC})$",
}
BY_HAND = {"CHANGELOG.md": rf"^## ({SEMANTIC})\b"}


def stated() -> dict[str, str]:
    """Return the version in each file, or "" if a file has no version or several versions. If CHANGELOG.md has several
    versions, the first one is returned.
    """
    found = {name: re.findall(line, _text(name), re.MULTILINE) for name, line in {**PLACES, **BY_HAND}.items()}
    return {name: vs[0] if len(vs) == 1 or (vs and name == "CHANGELOG.md") else "" for name, vs in found.items()}


def set_to(version: str) -> None:
    for name, line in PLACES.items():
        text = re.sub(line, lambda match: match[0].replace(match[1], version), _text(name), flags=re.MULTILINE)
        (ROOT / name).write_text(text, encoding="utf-8")


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", nargs="?", help="the new version")
    parser.add_argument("--tag", help="the tag that a release is made from")
    args = parser.parse_args()
    if args.version:
        if not re.fullmatch(SEMANTIC, args.version):
            parser.error(f"'{args.version}' is no MAJOR.MINOR.PATCH")
        set_to(args.version)
        print("next: a heading in CHANGELOG.md")
        return 0
    found = stated()
    versions = set(found.values())
    if len(versions) > 1 or (args.tag and versions != {args.tag.removeprefix("v")}):
        print("\n".join(f"{version or '(none)'}  {name}" for name, version in found.items()), file=sys.stderr)
        return 1
    print(*versions)
    return 0


if __name__ == "__main__":
    sys.exit(main())

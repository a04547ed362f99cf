"""Which errors of docs/errors.md no test has raised: scripts/test fails for them after a run of all tests.

Errors count that a test raises in its own process, or hands to conftest.heard() when another process said them.

python scripts/codes.py FOLDER      where the tests left the codes that they raised (TMO_CODES)
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

REFERENCE = Path(__file__).with_name("reference.py")


def never_raised(folder: Path) -> list[str]:
    """Codes, each with its place."""
    seen = {code for file in folder.glob("*.txt") for code in file.read_text(encoding="utf-8").split()}
    return [f"{r.code} ({r.place})" for r in runpy.run_path(str(REFERENCE))["raised"]() if r.code not in seen]


def main(folder: Path) -> int:
    missing = never_raised(folder)
    for line in missing:
        print(f"no test raised {line}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

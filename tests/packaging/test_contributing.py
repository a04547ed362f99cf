"""CONTRIBUTING.md: its map is the repository's."""

from __future__ import annotations

import re

from conftest import LONGEST, ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_what_it_names_is_there() -> None:
    named = {name for name in re.findall(r"`([\w./]+/[\w./]*)`", PAGE) if not name.startswith("include/")}
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    missing = [
        name for name in (*named, *links) if not any((ROOT / part / name).exists() for part in ("", "custom_ops"))
    ]
    assert named and not missing


def test_every_room_is_on_the_map() -> None:
    rooms = {path.parent.name for path in (ROOT / "tflm_memopt").glob("*/__init__.py")}
    assert rooms <= set(re.findall(r"`tflm_memopt/(\w+)/`", PAGE))


def test_files_whose_tests_begin_first_exist() -> None:
    assert [name for name in LONGEST if not (ROOT / "tests" / name).is_file()] == []

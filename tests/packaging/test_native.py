"""Test native_library: it is found beside the module or where the installer put it, else the error explains what to
do.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from tflm_memopt.errors import RuntimeUnavailable
from tflm_memopt.runtime import native

Patch = pytest.MonkeyPatch


@pytest.fixture
def module_folder(tmp_path: Path, monkeypatch: Patch) -> Path:
    """Make an empty folder the module's own, as if the package were not installed."""
    monkeypatch.setattr(native, "__file__", str(tmp_path / "native.py"))
    monkeypatch.setattr(native, "DISTRIBUTION", "a-package-that-nobody-installed")
    return tmp_path


def test_editable_install_is_found_through_its_list_of_files(
    module_folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: Patch
) -> None:
    library = tmp_path_factory.mktemp("site-packages") / native.file_name("some")
    library.touch()
    gone = library.with_name("gone") / library.name
    installed = [SimpleNamespace(locate=lambda path=path: path) for path in (gone, library)]
    monkeypatch.setattr(metadata, "files", lambda _: installed)
    assert native.native_library("some") == library


def test_missing_says_what_to_do(module_folder: Path) -> None:
    with pytest.raises(RuntimeUnavailable, match=r"libsome|some\.dll") as caught:
        native.native_library("some")
    assert "compiler" in caught.value.hint
    assert caught.value.where == str(module_folder)

"""Run the example notebook and check that it shows its results."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

NOTEBOOK = ROOT / "examples/notebook/memory.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning")
def test_the_notebook_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    nbformat, nbclient = (importlib.import_module(name) for name in ("nbformat", "nbclient"))
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [set(o.get("data", {})) for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    assert any("text/html" in data for data in shown)
    assert any("image/svg+xml" in data for data in shown)
    assert (tmp_path / "map.svg").exists()

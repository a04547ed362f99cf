"""Run the example notebook and check that it shows its results."""

from __future__ import annotations

import importlib
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLE, ROOT
from models import Net

import tflm_memopt
from tflm_memopt.errors import UsageError

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


def test_it_is_stored_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    assert all(not cell["outputs"] for cell in cells if cell["cell_type"] == "code")
    assert EXAMPLE.exists()


@pytest.mark.slow
def test_results_show_themselves(tmp_path: Path) -> None:
    net = Net(3)
    x = net.conv2d(net.input((1, 24, 24, 3)), 8, kernel=(3, 3), stride=(2, 2))
    model = net.model(net.conv2d(net.mean(net.depthwise_conv2d(x), (1, 2)), 4))
    result = tflm_memopt.optimize(model, name="<small>")
    assert result.plan
    page = result._repr_html_()
    assert f"{result.report.arena.total:,} B" in page
    assert "&lt;small&gt;" in page
    for shown in (result.plot(), result.plan, tflm_memopt.explore(model, without=["tiles"])):
        assert ET.fromstring(shown._repr_svg_()).tag.endswith("svg")
    result.plot().save(tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match=r"\.png or an \.svg"):
        result.plot().save(tmp_path / "map.gif")

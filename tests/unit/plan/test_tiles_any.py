"""Convert row-wise groups to groups by pixels, which take fewer bytes and pass the checker, and refuse groups for which
this is impossible.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.plan.sketch import Sketch

from tflm_memopt.check.checker import check
from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.plan import Group
from tflm_memopt.plan.planner import Options, plan
from tflm_memopt.plan.search.groups import Candidate, Chain, candidates
from tflm_memopt.plan.search.tiles_any import iterated
from tflm_memopt.plan.search.tiles_plan import Settings
from tflm_memopt.rowgraph.graph import InputSource

UNLIMITED = 1 << 40


def branches() -> tuple[Sketch, TensorId]:
    """Return two branches of stride 2, one of which is a shortcut with a convolution."""
    s = Sketch()
    x = s.conv(s.input(24, 24, 3), 8)
    y = s.conv(s.conv(x, 8), 8)
    return s, s.add(x, y)


def whole(chain: Chain) -> Candidate:
    """Return all operators as one row-wise group."""
    return next(c for c in candidates(chain, len(chain.ops), UNLIMITED, orders=1) if c.first == 0)


def test_such_plans_are_accepted() -> None:
    s, y = branches()
    z = s.dense(s.mean(y), 4)
    found = plan(s.row_graph(z), Options(seconds=0.1))
    check(found, s.row_graph(z))
    assert any(isinstance(step, Group) and step.stripes for step in found.steps)


@pytest.mark.parametrize("why", ["streamed", "no cache", "two outputs"])
def test_groups_without_such_a_form(why: str) -> None:
    s, y = branches()
    chain, settings = s.chain(y), Settings(cache=why != "no cache")
    if why == "streamed":
        source = InputSource(chain.ops[0].inputs[0], 24, 72, 1)
        chain = replace(chain, source=source, spaces={source.tensor: source.space})
    if why == "two outputs":
        chain = replace(chain, outside=frozenset({y, chain.ops[1].output}))
    assert list(iterated(chain, whole(chain), settings)) == []

"""Describes partial groups in the search for tiled groups (tiles_search.py)."""

from typing import NamedTuple

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.search.tiles_bytes import Reader


class Skip(NamedTuple):
    """A skip connection to a later ADD: stripe `m` computes `rows` rows of the tensor, which end before row `m ×
    advance + end`.
    """

    tensor: TensorId
    rows: int
    end: int
    stop: int
    lag: int
    """Number of columns by which the ADD lags behind the operator that the search added last."""


class State(NamedTuple):
    """The loops of an operator (plan/nest.py), with facts about the later operators of the group."""

    rows: int
    end: int
    advance: int
    first: int
    """Index of the first stripe in which the operator computes rows. Stripe 0 computes the first rows of the group's
    output.
    """
    stop: int
    stripe_rows: int
    """Number of rows that a stripe has in the input of the next operator with sums or, without such an operator, in the
    group's output.
    """
    sums: int
    """Size in bytes of the sums and of an output row of the next operator with sums, or -1 if there is none."""
    late: bool
    """Whether the group's last operator adds the results of channel groups, so that it writes a stripe's pixels at the
    end of the stripe.
    """
    skips: tuple[Skip, ...]
    early: bool = False
    """Whether each channel group writes its own channels of all output pixels."""
    by_rows: bool = False
    """Whether tiles must have the full width of the tensor, because rows are streamed or sent only as a whole."""


class Visit(NamedTuple):
    """A search step, which adds one operator, or several operators that share channel groups."""

    position: int
    state: State
    channel_groups: int = 1
    iterative: bool = False
    length: int = 1
    """Number of operators: 3 for expand, depthwise and project; 2 for expand and depthwise; 2 or more for dense layers.
    """
    grouped_sums: bool = True
    """Whether the last operator adds the results of all channel groups."""

    @property
    def sums(self) -> bool:
        return self.channel_groups > 1 and self.grouped_sums

    @property
    def fills(self) -> bool:
        return self.channel_groups > 1 and not self.grouped_sums


Trail = tuple["Trail", Visit] | None
Label = tuple[int, int, Trail]
"""A partial group: its bytes, its multiply-accumulates, and the search steps that led to it."""


class Demand(NamedTuple):
    """The rows of an input that an operator needs, and the operator's cost."""

    visit: Visit
    nbytes: int
    macs: int
    rows: int
    """Stripe `m` needs the `rows` rows just before row `m × advance + end`, including rows for skip connections."""
    end: int
    advance: int
    stripes: tuple[int, int]
    readers: tuple[Reader, ...]
    skips: tuple[Skip, ...]

"""Data that describes a partial group in the search for groups that run in tiles (tiles_search.py)."""

from typing import NamedTuple

from tflm_memopt.model.graph import TensorId
from tflm_memopt.plan.search.tiles_bytes import Reader


class Skip(NamedTuple):
    """A skip connection to a later ADD. Stripe m makes the `rows` rows before row m × advance + end of the tensor."""

    tensor: TensorId
    rows: int
    end: int
    stop: int
    lag: int
    """Number of columns by which the ADD lags behind the operator that the search is adding."""


class State(NamedTuple):
    """An operator's loop nest (plan/nest.py), with facts about the operators after it."""

    rows: int
    end: int
    advance: int
    first: int
    """Only the stripes [first, stop) contain rows. Stripe 0 is the first one in which the group's output has rows."""
    stop: int
    stripe_rows: int
    """Number of rows per stripe: of the group's output, or of the input of the next operator that adds up its input."""
    sums: int
    """Bytes that remain live after the next operator that adds up its input, or -1 if no such operator follows."""
    late: bool
    """True if the group's last operator adds up channel groups, so that it writes all pixels of a stripe together."""
    skips: tuple[Skip, ...]
    early: bool = False
    """True if every channel group writes output: its own channels of all pixels."""
    by_rows: bool = False
    """Whether tiles have the full width, so that the fewest streamed rows are needed at once."""


class Visit(NamedTuple):
    """A search step: one operator with its loop nest, or several operators that share channel groups."""

    position: int
    state: State
    channel_groups: int = 1
    iterative: bool = False
    length: int = 1
    """Number of operators: 3 for expand, depthwise and project, 2 without project, 2 or more for dense layers."""
    grouped_sums: bool = True
    """Whether the last operator adds up channel groups, instead of writing a whole tensor."""

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
    """The part of an input that an operator needs, and the operator's cost."""

    visit: Visit
    nbytes: int
    macs: int
    rows: int
    """Stripe number m needs this number of rows before row m × advance + end, also for the tensor's skip connections.
    """
    end: int
    advance: int
    stripes: tuple[int, int]
    readers: tuple[Reader, ...]
    skips: tuple[Skip, ...]

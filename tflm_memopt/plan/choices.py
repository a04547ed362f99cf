"""Names of the values of planning options."""

from collections.abc import Mapping
from typing import Literal, get_args

Ops = Literal["region", "group", "builtin"]
"""Custom operators to make: one for each region, one for each group, or none ("builtin")."""
OPS: tuple[Ops, ...] = get_args(Ops)
PER_REGION, PER_GROUP, BUILTIN = OPS

MOVES = ("PAD", "SLICE", "CONCATENATION")
"""Operators that `--ops builtin` may add in order to compute another operator in several parts."""

SWITCHES: Mapping[str, str] = {
    "stripes": "stripes of more than one row",
    "windows": "tiles narrower than the map",
    "channel-groups": "channel groups",
    "cache": "keeping the overlap of stripes",
    "recompute": "computing anything again: the overlap of stripes, rematerialised operators",
    "rematerialisation": "operators that run twice, to avoid keeping a whole tensor for its own reduction",
    "overlap": "a group's output in the bytes that its input leaves",
    "reorder": "other orders than the model's own",
    "reverse": "groups that run from the last row to the first",
    "tiles": "tiled groups altogether: row rolling buffers are left",
    "fan-in": "partial sums that several devices send each other",
}

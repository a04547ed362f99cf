"""Compare the simulation of waiting devices with the times of single messages."""

from __future__ import annotations

import pytest

from tflm_memopt.devices.links import Exchange, LinkSpeed, done


def test_messages_queue_on_a_line_while_their_sender_goes_on() -> None:
    """Three messages of 100 bytes, one every half millisecond, go over a link of 100 bytes per millisecond."""
    first = [Exchange(0.5, (0, 1), True, 100)] * 3
    second = [Exchange(0.0, (0, 1), False, 100)] * 3
    assert done([first, second], [0, 1], LinkSpeed(1e5, 2)) == (1.5, 0.5 + 3 + 2 + 1)


@pytest.mark.parametrize("computes", [0.25, 4.0])
def test_both_directions_are_lines_of_their_own(computes: float) -> None:
    """Each device sends before it waits, so the two messages are in transit at once."""
    first = [Exchange(computes, (0, 1), True, 100), Exchange(0, (1, 0), False, 100)]
    second = [Exchange(computes, (1, 0), True, 100), Exchange(0, (0, 1), False, 100)]
    assert done([first, second], [0, 0], LinkSpeed(1e5)) == (computes + 1, computes + 1)

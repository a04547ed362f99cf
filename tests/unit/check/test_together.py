"""The checker refuses programs of several devices if messages do not match, or if a device would wait forever."""

import pytest

from tflm_memopt.check.together import HEAD_BYTES, MessageRow, check_devices
from tflm_memopt.errors import PlanError
from tflm_memopt.ops.rowop import Message


def row(step: int, sender: int, receiver: int, *, sends: bool, y: int = 0, nbytes: int = 8) -> MessageRow:
    return MessageRow(Message(7, step, sender, receiver), sends, y, nbytes)


def there_and_back(rows: int) -> list[list[MessageRow]]:
    first = [row(0, 0, 1, sends=True, y=y) for y in range(rows)] + [row(1, 1, 0, sends=False)]
    return [first, [row(0, 0, 1, sends=False, y=y) for y in range(rows)] + [row(1, 1, 0, sends=True)]]


def test_bytes_are_those_of_messages() -> None:
    found = check_devices(there_and_back(3))
    assert found.sent == (3 * (HEAD_BYTES + 8), HEAD_BYTES + 8) == found.received[::-1]
    assert found.room == HEAD_BYTES + 8
    assert found.room_for_all >= found.room


def test_a_line_holds_what_both_send_before_they_receive() -> None:
    """Each of two devices sends four rows, then receives four rows, so the link must buffer four rows."""
    there = [row(0, 0, 1, sends=True, y=y) for y in range(4)] + [row(1, 1, 0, sends=False, y=y) for y in range(4)]
    back = [row(1, 1, 0, sends=True, y=y) for y in range(4)] + [row(0, 0, 1, sends=False, y=y) for y in range(4)]
    found = check_devices([there, back])
    assert found.room == 4 * (HEAD_BYTES + 8)
    assert found.room_for_all == max(found.sent)


@pytest.mark.parametrize("change", ["order", "missing", "bytes", "identity"])
def test_what_is_sent_is_what_is_received(change: str) -> None:
    first, second = there_and_back(3)
    if change == "order":
        second[0], second[1] = second[1], second[0]
    elif change == "missing":
        del second[1]
    elif change == "bytes":
        second[2] = second[2]._replace(nbytes=9)
    else:
        second[0] = second[0]._replace(message=Message(8, 0, 0, 1))
    with pytest.raises(PlanError, match=r"from device 0 to 1, message.*, received "):
        check_devices([first, second])


def test_nobody_waits_for_ever() -> None:
    first = [row(1, 1, 0, sends=False), row(0, 0, 1, sends=True)]
    second = [row(0, 0, 1, sends=False), row(1, 1, 0, sends=True)]
    with pytest.raises(PlanError, match="deadlock"):
        check_devices([first, second])


@pytest.mark.parametrize("link", [(0, 2), (1, 2), (0, 0)])
def test_a_device_has_its_own_links(link: tuple[int, int]) -> None:
    with pytest.raises(PlanError, match=r"sends or receives on the link.*to which it does not belong"):
        check_devices([[row(0, *link, sends=True)], []])

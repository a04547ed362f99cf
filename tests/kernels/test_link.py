"""Test custom_ops/links/tmo_link.c with messages that are lost, repeated, delayed or damaged."""

import ctypes
import zlib
from collections.abc import Callable
from functools import partial

import pytest

from kernels.links import HEAD, LINK, OK, PATIENCE, PEER, Device, both, drawn, pair


def damaged(device: Device, message: bytes) -> bytes:
    at = device.rng.randrange(len(message))
    return message[:at] + bytes([message[at] ^ 1 << device.rng.randrange(8)]) + message[at + 1 :]


def late(device: Device, message: bytes) -> bytes:
    if device.other:
        device.other.blocked = device.rng.choice((PATIENCE // 2, PATIENCE, 2 * PATIENCE))
    return message


def foreign(device: Device, message: bytes) -> bytes:
    head = message[:4] + device.rng.randbytes(4) + message[8 : HEAD - 2]
    return head + (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little") + message[HEAD:] + message


def starts_again(device: Device, message: bytes) -> bytes:
    device.fails = True
    return message


FAULTS: dict[str, Callable[[Device, bytes], bytes]] = {
    "drop": lambda device, message: b"",
    "delay": late,
    "duplicate": lambda device, message: message + message,
    "damage": damaged,
    "wrong peer": foreign,
    "restart": starts_again,
    "cut": lambda device, message: message[: device.rng.randrange(len(message))],
    "noise": lambda device, message: device.rng.randbytes(device.rng.randrange(40)) + message,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAULTS)
def test_no_fault_leads_to_a_wrong_row(library: ctypes.CDLL, kind: str) -> None:
    for seed in range(4):
        first, second = pair(library, 100 * seed + [*FAULTS].index(kind))
        for _ in range(6):
            for device in (first, second):
                device.pending = b""
                device.fault = partial(FAULTS[kind], device) if device.rng.random() < 0.5 else None
            assert set(both(first, second, drawn(first.rng))) <= {OK, LINK, PEER}
            for device in (first, second):
                device.fault, device.blocked, device.fails = None, 0, False
            ends = [both(first, second, drawn(first.rng)) for _ in range(3)]
            assert (OK, OK) in ends, ends


@pytest.mark.slow
def test_a_restarted_device_is_right_again(library: ctypes.CDLL) -> None:
    for seed in range(20):
        first, second = pair(library, seed)
        assert both(first, second, drawn(first.rng)) == (OK, OK)
        half = first.rows([(0, True), (1, False)], drawn(first.rng))
        next(half)
        device = (first, second)[seed % 2]
        device.restart(first.rng.randrange(1 << 16))
        first.inbox.clear(), second.inbox.clear()
        first.pending = second.pending = b""
        assert (OK, OK) in [both(first, second, drawn(first.rng)) for _ in range(3)]


def test_a_program_of_another_conversion_is_told(library: ctypes.CDLL) -> None:
    first, second = pair(library, 1, identity=8)
    assert PEER in both(first, second, drawn(first.rng))


def test_a_peer_that_says_nothing_is_lost(library: ctypes.CDLL) -> None:
    _, second = pair(library, 2)
    statuses = [*second.rows([(0, False)], drawn(second.rng))]
    assert statuses[-1] == LINK
    assert len(statuses) == PATIENCE + 1

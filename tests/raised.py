"""Codes of the package's errors that this process has met: scripts/codes.py asks whether the tests raise them all.

A module of its own: tests that import conftest get another copy of it than pytest has.
"""

from __future__ import annotations

RAISED: set[str] = set()

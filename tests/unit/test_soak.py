"""`make soak`: what a failure says, and that it is one."""

from __future__ import annotations

import os
import signal

import pytest
from soak import __main__ as soak
from soak.cases import KINDS, Failure


def every_third(cases: range) -> list[Failure]:
    return [Failure(range(case, case + 1), "planted") for case in cases if case % 3 == 0]


def dies(_: range) -> list[Failure]:
    os.kill(os.getpid(), signal.SIGSEGV)
    return []


def test_a_failure_says_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soak, "apart", lambda work, cases: work(cases))
    monkeypatch.setitem(KINDS, "plans", (every_third, 2))
    assert soak.main(["plans", "5", "--first", "7", "--jobs", "2"]) == 1
    said = capsys.readouterr()
    assert "plans, seed 9: planted" in said.err
    assert "-m soak plans 1 --first 9 --jobs 1" in said.err.replace("\n", " ")
    assert said.out == "plans: 5 cases from seed 7, 1 failures\n"
    assert soak.main(["plans", "2", "--first", "7"]) == 0


@pytest.mark.slow
def test_what_ends_a_process_is_a_failure() -> None:
    (failure,) = soak.apart(dies, range(3, 5))
    assert failure.cases == range(3, 5)
    assert "terminated abruptly" in failure.detail
    assert soak.apart(every_third, range(3, 4)) == [Failure(range(3, 4), "planted")]

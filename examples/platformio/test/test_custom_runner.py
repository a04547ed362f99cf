"""Runs `pio test` without a test framework: a program that ends with 0 has passed."""

from __future__ import annotations

from platformio.test.result import TestCase, TestStatus
from platformio.test.runners.base import TestRunnerBase


class CustomTestRunner(TestRunnerBase):  # type: ignore[misc]
    """Adds the only test case. A program that ends with another code or crashes has raised an error before."""

    def stage_testing(self) -> None:
        super().stage_testing()
        if not self.options.without_testing:
            self.test_suite.add_case(TestCase(name=self.test_suite.test_name, status=TestStatus.PASSED))

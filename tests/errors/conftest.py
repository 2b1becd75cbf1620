"""Prints how many of the reliability plan's bad inputs passed."""

from __future__ import annotations

import pytest
from catalogue import ITEMS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.stats.get("passed", [])
    passed = {report.nodeid for report in reports if "::test_bad_input[" in report.nodeid}
    terminalreporter.write_line(f"bad inputs: {len(passed)} of {len(ITEMS)}")

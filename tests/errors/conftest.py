"""Prints how many of the reliability plan's bad inputs passed."""

from __future__ import annotations

import pytest
from catalogue import ITEMS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.stats.get("passed", [])
    names = {f"test_an_input_gets_the_message_of_the_catalogue[{case.name}]" for case in ITEMS}
    passed = {report.nodeid for report in reports if report.nodeid.partition("::")[2] in names}
    terminalreporter.write_line(f"bad inputs: {len(passed)} of {len(ITEMS)}")

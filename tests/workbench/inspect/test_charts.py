"""Charts are well-formed SVG for any numbers, and strings of users stay text."""

from __future__ import annotations

from math import inf
from xml.etree import ElementTree

import pytest

from shadesmith.runtime.workbench.inspect.charts import BLOCKS, Bar, Point, bars, roofline, sparkline, strips
from shadesmith.runtime.workbench.measure.timing import in_words

NAME = "</text><script>alert(1)</script>\x07\u202e"


def texts(chart: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(chart) if element.tag.endswith("text")]


@pytest.mark.parametrize("values", [[1e-6], [0.0, 0.0], [1e-9, 1.0], [2.0] * 100])
def test_all_charts_are_well_formed(values: list[float]) -> None:
    charts = [
        strips("times", [("a", values), (NAME, values)], in_words),
        bars("bars", [Bar(NAME, value, 0.0, 2 * value, "x") for value in values], in_words),
        roofline("roof", [Point(NAME, value, 1e9 * value) for value in values], 1e9, 1e10),
    ]
    for chart in charts:
        assert "script" not in {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(chart).iter()}
        assert "nan" not in chart and str(inf) not in chart


def test_values_and_names_are_shown() -> None:
    shown = texts(bars("T", [Bar("one", 1e-3), Bar("two", 2e-3, mark="(2.00)")], in_words))
    assert shown == ["T", "one", "1 ms", "two", "2 ms (2.00)"]


def test_a_sparkline_shows_where_values_are() -> None:
    assert sparkline([1.0]) == sparkline([2.0, 2.0]) == BLOCKS[-1]
    line = sparkline([1.0] * 90 + [2.0] * 10, 4)
    assert len(line) == 4 and line[0] == BLOCKS[-1] and line[1] == BLOCKS[0] < line[3]

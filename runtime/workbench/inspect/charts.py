"""Charts of what was measured, as SVG without script or style: for files of `--plot` and for the report page.

In: numbers with their labels. Out: SVG, the same for the same numbers; strings of users are escaped. Also sparklines
for terminals. Colours are those of the page: lines and text take its text colour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from .report import visible

WIDTH, LABELS, ROW, HEAD = 720, 230, 24, 44
"""Pixels: of the chart, of its labels, of a row, above the first row."""
BLOCKS = "▁▂▃▄▅▆▇█"
COLOURS = ("#3f6fb5", "#c98a12", "#3d8a57", "#a1457f", "#7a5ab5", "#8a6d3b")
FONT = 'font-family="ui-sans-serif, system-ui, sans-serif" font-size="12"'


@dataclass(frozen=True, slots=True)
class Bar:
    """One row. low, high: an interval, shown if it is one. mark: a word behind the value. group: decides the colour."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    mark: str = ""
    group: int = 0


@dataclass(frozen=True, slots=True)
class Point:
    """One task in a roofline. intensity: operations for each byte. rate: operations in a second."""

    label: str
    intensity: float
    rate: float


def sparkline(values: Sequence[float], width: int = 24) -> str:
    """Return how values are distributed, as a line of blocks; outliers count in the last one."""
    ordered = sorted(values)
    low, high = ordered[0], ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    if high <= low:
        return BLOCKS[-1]
    counts = [0] * width
    for value in ordered:
        counts[min(width - 1, int((value - low) / (high - low) * width))] += 1
    top = max(counts)
    return "".join(BLOCKS[min(len(BLOCKS) - 1, ceil(count / top * (len(BLOCKS) - 1)))] for count in counts)


def bars(title: str, rows: Sequence[Bar], words: Callable[[float], str]) -> str:
    """Return bars from 0, one below the other. words: shows a value with its unit."""
    top = max([row.high or row.value for row in rows] + [row.value for row in rows]) or 1.0
    extent = WIDTH - LABELS - 130
    parts = []
    for n, row in enumerate(rows):
        y, length = HEAD + n * ROW, extent * row.value / top
        colour = COLOURS[row.group % len(COLOURS)]
        parts.append(_text(LABELS - 8, y + 13, _short(row.label), "end"))
        parts.append(f'<rect x="{LABELS}" y="{y}" width="{max(length, 1):.1f}" height="16" rx="2" fill="{colour}"/>')
        end = LABELS + length
        if row.low is not None and row.high is not None and row.high > row.low:
            first, last = LABELS + extent * row.low / top, LABELS + extent * row.high / top
            parts.append(_line(first, y + 8, last, y + 8) + _line(first, y + 4, first, y + 12))
            parts.append(_line(last, y + 4, last, y + 12))
            end = max(end, last)
        parts.append(_text(end + 8, y + 13, " ".join(filter(None, (words(row.value), row.mark)))))
    return _svg(title, HEAD + len(rows) * ROW + 8, parts)


def strips(title: str, rows: Sequence[tuple[str, Sequence[float]]], words: Callable[[float], str]) -> str:
    """Return a row of marks for each name: all values, with the median; what is above the 98th percentile is cut."""
    everything = sorted(value for _, values in rows for value in values)
    low, high = everything[0], everything[min(len(everything) - 1, int(0.98 * len(everything)))]
    span, extent = (high - low) or high or 1.0, WIDTH - LABELS - 30
    parts = []
    for n, (name, values) in enumerate(rows):
        y = HEAD + n * 40
        parts.append(_text(LABELS - 8, y + 16, _short(name), "end"))
        for k, value in enumerate(value for value in values if value <= high):
            x, jitter = LABELS + extent * (value - low) / span, (k * 7919) % 17
            colour = f'fill="{COLOURS[n % len(COLOURS)]}" fill-opacity=".45"'
            parts.append(f'<circle cx="{x:.1f}" cy="{y + 3 + jitter}" r="2" {colour}/>')
        middle = sorted(values)[len(values) // 2]
        at = LABELS + extent * min(1.0, (middle - low) / span)
        parts.append(_line(at, y - 2, at, y + 24))
        parts.append(_text(at, y + 35, words(middle), "middle"))
    return _svg(title, HEAD + len(rows) * 40 + 12, parts)


def roofline(title: str, points: Sequence[Point], bandwidth: float, rate: float) -> str:
    """Return tasks below what the device can do, both axes logarithmic. bandwidth: [B/s], rate: operations [1/s]."""
    left, right, top, bottom = 70, WIDTH - 20, HEAD, 330
    knee = rate / bandwidth
    shown = [max(point.intensity, 1e-3) for point in points]
    first, last = floor(log10(min(shown + [knee / 10]))), ceil(log10(max(shown + [knee * 10])))
    lowest = min([max(point.rate, 1.0) for point in points] + [bandwidth * 10**first])
    low, high = floor(log10(lowest)), ceil(log10(rate))

    def x(intensity: float) -> float:
        return left + (right - left) * (log10(max(intensity, 10**first)) - first) / (last - first)

    def y(value: float) -> float:
        return bottom - (bottom - top) * (log10(max(value, 10**low)) - low) / (high - low or 1)

    parts = [_line(left, bottom, right, bottom), _line(left, top, left, bottom)]
    parts += [_text(x(10.0**k), bottom + 16, f"{10.0**k:g}", "middle") for k in range(first, last + 1)]
    parts += [_text(left - 6, y(10.0**k) + 4, f"{10.0 ** (k - 9):g}", "end") for k in range(low, high + 1)]
    parts.append(_text((left + right) / 2, bottom + 34, "operations for each byte", "middle"))
    parts.append(_text(left - 6, top - 8, "Gflop/s", "end"))
    roof = f"{left},{y(bandwidth * 10**first):.1f} {x(knee):.1f},{y(rate):.1f} {right},{y(rate):.1f}"
    parts.append(f'<polyline points="{roof}" fill="none" stroke="currentColor" stroke-width="1.5"/>')
    for n, point in enumerate(points):
        at, height = x(point.intensity), y(point.rate)
        parts.append(f'<circle cx="{at:.1f}" cy="{height:.1f}" r="5" fill="{COLOURS[n % len(COLOURS)]}"/>')
        side = "end" if at > 0.6 * WIDTH else "start"
        parts.append(_text(at + (-9 if side == "end" else 9), height + 4, _short(point.label), side))
    return _svg(title, bottom + 46, parts)


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    shown = escape(visible(title))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img" aria-label="{shown}" color="#55606e" fill="currentColor" {FONT}>'
    )
    return "\n".join([head, _text(0, 16, title, weight=True), *parts, "</svg>"]) + "\n"


def _text(x: float, y: float, text: str, anchor: str = "start", weight: bool = False) -> str:
    bold = ' font-weight="600"' if weight else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{bold}>{escape(visible(text))}</text>'


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="currentColor"/>'


def _short(label: str) -> str:
    return label if len(label) <= 32 else label[:31] + "…"

"""`ti.examples.patterns`: the shape that Taichi's example programs draw."""

from __future__ import annotations

from ...transpiler.lang.annotations import template
from ...transpiler.lang.decorators import func
from ...transpiler.lang.functions import select
from ...transpiler.lang.matrix import Vector

__all__ = ["taichi_logo"]

RIM, DISC = 0.52, 0.495
"""Radii of the ring's outer and inner edge."""
EYE, HALF = 0.08, 0.25
"""Radii of the two dots and of the two half discs around them."""


@func
def taichi_logo(pos: template(), scale: float = 1 / 1.11):  # type: ignore[no-untyped-def, valid-type]
    """Return 1 where the point `pos` of the unit square is dark in Taichi's logo, else 0."""
    p = (pos - 0.5) / scale + 0.5
    from_center = (p - 0.5).norm_sqr()
    from_lower = (p - Vector([0.5, 0.25])).norm_sqr()
    from_upper = (p - Vector([0.5, 0.75])).norm_sqr()
    light = select(p[0] < 0.5, 1, 0)
    light = select(from_upper <= HALF**2, 1, light)
    light = select(from_lower <= HALF**2, 0, light)
    light = select(from_upper <= EYE**2, 0, light)
    light = select(from_lower <= EYE**2, 1, light)
    light = select(from_center > DISC**2, 1, light)
    light = select(from_center > RIM**2, 0, light)
    return 1 - light

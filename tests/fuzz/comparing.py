"""Compare what two targets computed: integers and exact reals to the bit, other reals within a tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np

Results = list[tuple[str, "np.ndarray[Any, Any]"]]
INEXACT = "~"
"""Ends the names of arrays whose reals are not exact."""
RELATIVE = {2: 2e-2, 4: 2e-4, 8: 2e-4}
"""By bytes of the type; f64 too holds what was computed in f32. Functions are within 4 ulp; their arguments pass through at most a dozen well-conditioned steps."""


def difference(found: Results, expected: Results) -> str | None:
    """Return where two results differ, None if they agree."""
    if [name for name, _ in found] != [name for name, _ in expected]:
        return "other results"
    for (name, a), (_, b) in zip(found, expected):
        if a.shape != b.shape:
            return f"{name}: shape {a.shape} instead of {b.shape}"
        unequal = different(a, b, name.endswith(INEXACT))
        if unequal.any():
            index = tuple(int(i) for i in np.argwhere(unequal)[0])
            where = f"{name}{list(index)}" if index else name
            return f"{where} is {a[index]} instead of {b[index]} ({int(unequal.sum())} of {a.size} differ)"
    return None


def different(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], is_inexact: bool) -> np.ndarray[Any, Any]:
    """Return which elements differ."""
    if not np.issubdtype(a.dtype, np.floating):
        return np.asarray(a != b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if not is_inexact:
        return np.asarray(~same)
    wide, other = a.astype(np.float64), b.astype(np.float64)
    tolerance = RELATIVE[a.dtype.itemsize] * np.maximum(np.abs(other), 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(~(same | (np.abs(wide - other) <= tolerance)))

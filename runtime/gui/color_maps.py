"""Colour maps for numbers from 0 to 1, as used by `contour`.

Source: `plasma` by Nathaniel J. Smith and Stefan van der Walt, in the public domain (CC0), as in Matplotlib.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

PLASMA = (
    "0d088710078813078916078a19068c1b068d1d068e20068f2206902406912605912805922a05932c05942e05952f0596310597330597"
    "35049837049938049a3a049a3c049b3e049c3f049c41049d43039e44039e46039f48039f4903a04b03a14c02a14e02a25002a25102a3"
    "5302a35502a45601a45801a45901a55b01a55c01a65e01a66001a66100a76300a76400a76600a76700a86900a86a00a86c00a86e00a8"
    "6f00a87100a87201a87401a87501a87701a87801a87a02a87b02a87d03a87e03a88004a88104a78305a78405a78606a68707a68808a6"
    "8a09a58b0aa58d0ba58e0ca48f0da4910ea3920fa39410a29511a19613a19814a099159f9a169f9c179e9d189d9e199da01a9ca11b9b"
    "a21d9aa31e9aa51f99a62098a72197a82296aa2395ab2494ac2694ad2793ae2892b02991b12a90b22b8fb32c8eb42e8db52f8cb6308b"
    "b7318ab83289ba3388bb3488bc3587bd3786be3885bf3984c03a83c13b82c23c81c33d80c43e7fc5407ec6417dc7427cc8437bc9447a"
    "ca457acb4679cc4778cc4977cd4a76ce4b75cf4c74d04d73d14e72d24f71d35171d45270d5536fd5546ed6556dd7566cd8576bd9586a"
    "da5a6ada5b69db5c68dc5d67dd5e66de5f65de6164df6263e06363e16462e26561e26660e3685fe4695ee56a5de56b5de66c5ce76e5b"
    "e76f5ae87059e97158e97257ea7457eb7556eb7655ec7754ed7953ed7a52ee7b51ef7c51ef7e50f07f4ff0804ef1814df1834cf2844b"
    "f3854bf3874af48849f48948f58b47f58c46f68d45f68f44f79044f79143f79342f89441f89540f9973ff9983ef99a3efa9b3dfa9c3c"
    "fa9e3bfb9f3afba139fba238fca338fca537fca636fca835fca934fdab33fdac33fdae32fdaf31fdb130fdb22ffdb42ffdb52efeb72d"
    "feb82cfeba2cfebb2bfebd2afebe2afec029fdc229fdc328fdc527fdc627fdc827fdca26fdcb26fccd25fcce25fcd025fcd225fbd324"
    "fbd524fbd724fad824fada24f9dc24f9dd25f8df25f8e125f7e225f7e425f6e626f6e826f5e926f5eb27f4ed27f3ee27f3f027f2f227"
    "f1f426f1f525f0f724f0f921"
)
"""256 colours, six hexadecimal digits each, from the lowest value to the highest."""

COLOR_MAPS = {
    "plasma": np.frombuffer(bytes.fromhex(PLASMA), np.uint8).reshape(256, 3) / np.float32(255),
    "gray": np.repeat(np.arange(256, dtype=np.float32)[:, None] / 255, 3, axis=1),
}


def colors_of(values: Array, name: str = "plasma", normalize: bool = False) -> Array:
    """Return the colours of numbers, shape (*shape, 3); numbers below 0 and above 1 get the first and the last colour.

    normalize: from the least number to the greatest. Raises: ValueError for an unknown name.
    """
    if name not in COLOR_MAPS:
        raise ValueError(f"colour map `{name}` is not known; there are {', '.join(COLOR_MAPS)}")
    if normalize and values.size:
        low, high = values.min(), values.max()
        values = (values - low) / (high - low if high > low else 1)
    steps = np.clip(np.nan_to_num(values) * 256, 0, 255).astype(np.uint8)
    colors: Array = COLOR_MAPS[name][steps]
    return colors


def stretched(values: Array, shape: tuple[int, int]) -> Array:
    """Return a 2-D array resampled to another shape by linear interpolation; the corners are unchanged."""
    if values.shape == shape:
        return values
    for axis in (0, 1):
        have, wanted = values.shape[axis], shape[axis]
        positions = np.arange(wanted) * ((have - 1) / max(wanted - 1, 1))
        below = np.minimum(positions.astype(int), max(have - 2, 0))
        part = np.expand_dims(positions - below, 1 - axis)
        upper = values.take(np.minimum(below + 1, have - 1), axis)
        values = values.take(below, axis) * (1 - part) + upper * part
    return values

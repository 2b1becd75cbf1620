"""What tests of `check_overflow` share: numbers about the ends of each integer type, and the error of a launch."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
SENTINEL = 77
"""The value of an element whose store a failed check prevented."""


def edges(name: str) -> np.ndarray:
    info = np.iinfo(getattr(np, {"i": "int", "u": "uint"}[name[0]] + name[1:]))
    low = [info.min, info.min + 1, -46341, -3, -2, -1] if info.min else []
    root = int(info.max**0.5)
    values = [*low, 0, 1, 2, 3, 7, root, root + 1, info.bits - 1, info.bits, info.max // 2 + 1, info.max - 1, info.max]
    return np.array([v for v in dict.fromkeys(values) if info.min <= v <= info.max], info.dtype)


def failed(call) -> ti.TaichiAssertionError | None:
    try:
        call()
        ti.sync()
    except ti.TaichiAssertionError as error:
        return error
    return None

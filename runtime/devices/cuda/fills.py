"""Set memory of a GPU to a repeated word, in order with launches and without a copy from the host.

CuPy has only the runtime's memset, which repeats one byte; the driver also repeats words of two and four bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

WORDS: dict[int, tuple[str, type[ctypes.c_ushort | ctypes.c_uint]]] = {
    2: ("cuMemsetD16Async", ctypes.c_ushort),
    4: ("cuMemsetD32Async", ctypes.c_uint),
}
"""The driver's function, and the type of its word, by the length of a pattern [bytes]."""


@cache
def _function(length: int) -> Callable[..., int]:
    name, word = WORDS[length]
    function = getattr(ctypes.CDLL("libcuda.so.1"), name)
    function.argtypes, function.restype = (ctypes.c_uint64, word, ctypes.c_size_t, ctypes.c_void_p), ctypes.c_int
    found: Callable[..., int] = function
    return found


def fill_words(address: int, pattern: bytes, size_bytes: int, stream: int) -> int:
    """Repeat a pattern of two or four bytes, of which `size_bytes` is a multiple; return the driver's error or 0."""
    count = size_bytes // len(pattern)
    return _function(len(pattern))(address, int.from_bytes(pattern, "little"), count, stream)

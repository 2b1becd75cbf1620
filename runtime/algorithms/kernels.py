"""The kernels of `ti.algorithms`, in our own language. All arrays are ndarrays with one axis.

A chunk is a run of neighbouring elements that one iteration works on, one after the other. So a scan needs three steps:
the total of each chunk, the scan of these totals, and the scan of each chunk, which begins at its total before. GPUs
read neighbouring elements by neighbouring threads: `tiles.py`.
"""

from functools import cache
from typing import Any

from ...transpiler.ir.types import Scalar, Tensor, Type, f64, i32, u32, u64
from ...transpiler.lang.annotations import matrix, ndarray, template, vector
from ...transpiler.lang.decorators import func
from ...transpiler.lang.functions import atomic_add, atomic_max, atomic_min, bit_cast, cast, grouped, static
from ...transpiler.lang.matrix import Vector
from ...transpiler.lang.operations import max, min  # noqa: A004
from ..launch.kernel import Kernel, kernel

BUCKETS = 16
"""A pass of a sort distributes by 4 bits."""


# --- operations -------------------------------------------------------------------------------------------------------


@func
def add(a: template(), b: template()):
    """Return a + b."""
    return a + b


@func
def multiply(a: template(), b: template()):
    """Return a * b."""
    return a * b


@func
def larger(a: template(), b: template()):
    """Return the larger number."""
    return max(a, b)


@func
def smaller(a: template(), b: template()):
    """Return the smaller number."""
    return min(a, b)


# --- copies -----------------------------------------------------------------------------------------------------------


@kernel
def copy(x: ndarray(), out: ndarray()):
    """Copy an ndarray."""
    for i in range(x.shape[0]):
        out[i] = x[i]


@kernel
def copy_field(field: template(), other: template()):
    """Copy another field to a field of its shape, of any number of axes."""
    for index in grouped(field):
        field[index] = other[index]


@cache
def fill_of(element: Type) -> Kernel:
    """Return the kernel that fills fields of such elements, of any number of axes."""
    kind: Any = element
    if isinstance(element, Tensor):
        kind = (vector if len(element.shape) == 1 else matrix)(*element.shape, element.element)

    @kernel
    def fill(field: template(), value: kind):
        for index in grouped(field):
            field[index] = value

    return fill


@kernel
def load(field: template(), out: ndarray()):
    """Copy a field."""
    for i in range(field.shape[0]):
        out[i] = field[i]


@kernel
def store(x: ndarray(), field: template()):
    """Copy to a field."""
    for i in range(field.shape[0]):
        field[i] = x[i]


# --- reductions -------------------------------------------------------------------------------------------------------


@cache
def reduction(op: str, dtype: Scalar, neutral: int | float) -> Kernel:
    """Return the kernel that combines all elements. The compiler makes it a reduction on each target.

    neutral: what changes no other number; for the extrema of floats a NaN, so that there is no task for `x[0]`.
    """

    @kernel
    def combine(x: ndarray(dtype, 1)) -> dtype:
        total = cast(neutral, dtype)
        for i in range(x.shape[0]):
            if static(op == "add"):
                total += x[i]
            elif static(op == "mul"):
                total *= x[i]
            elif static(op == "max"):
                atomic_max(total, x[i])
            else:
                atomic_min(total, x[i])
        return total

    return combine


# --- scans ------------------------------------------------------------------------------------------------------------


@kernel
def total_of_chunks(x: ndarray(), totals: ndarray(), chunk: i32, op: template()):
    """Combine the elements of each chunk."""
    for c in range(totals.shape[0]):
        total = x[c * chunk]
        for i in range(c * chunk + 1, min(c * chunk + chunk, x.shape[0])):
            total = op(total, x[i])
        totals[c] = total


@kernel
def scan_chunks(x: ndarray(), before: ndarray(), out: ndarray(), chunk: i32, op: template(), inclusive: template()):
    """Scan each chunk, beginning at what comes before it. `out` may be `x`."""
    for c in range(before.shape[0]):
        total = before[c]
        for i in range(c * chunk, min(c * chunk + chunk, x.shape[0])):
            value = x[i]
            if static(inclusive):
                total = op(total, value)
                out[i] = total
            else:
                out[i] = total
                total = op(total, value)


# --- sorting by buckets -----------------------------------------------------------------------------------------------


@func
def encoded(x: template(), kind: template(), bits: template()):
    """Return an unsigned number of `bits` bits whose order is that of the keys; NaNs are last."""
    unsigned = static(u64 if bits == 64 else u32)
    sign = cast(1, unsigned) << (bits - 1)
    code = cast(x, unsigned)
    if static(kind == "signed"):
        code = code ^ sign
    if static(kind == "float"):
        code = bit_cast(x, unsigned)
        infinity = static(0x7FF if bits == 64 else 0xFF)
        if (code & (sign - 1)) == 0:
            code = sign  # -0.0 equals 0.0
        elif (code & (sign - 1)) > (cast(infinity, unsigned) << static(52 if bits == 64 else 23)):
            code = ~cast(0, unsigned)
        elif (code & sign) != 0:
            code = ~code
        else:
            code = code | sign
    return code


@kernel
def encode(x: ndarray(), codes: ndarray(), dtype: template(), kind: template(), bits: template()):
    """Make the codes of all keys. dtype: a type of `bits` bits that holds all keys."""
    for i in range(x.shape[0]):
        codes[i] = encoded(cast(x[i], dtype), kind, bits)


@kernel
def number(order: ndarray(i32, 1)):
    """Number the elements."""
    for i in range(order.shape[0]):
        order[i] = i


@kernel
def find_nan(x: ndarray(), found: ndarray(i32, 1), bits: template()):
    """Store 1 if there is a NaN."""
    unsigned = static(u64 if bits == 64 else u32)
    infinity = static((0x7FF << 52) if bits == 64 else (0xFF << 23))
    for i in range(x.shape[0]):
        if (bit_cast(x[i], unsigned) << 1) > (cast(infinity, unsigned) << 1):
            found[0] = 1


@kernel
def count_buckets(codes: ndarray(), counts: ndarray(i32, 1), chunk: i32, shift: i32):
    """Count in each chunk how many codes fall into each bucket. Counts are stored by bucket, then by chunk."""
    chunks = counts.shape[0] // BUCKETS
    for c in range(chunks):
        found = Vector([0 for _ in static(range(BUCKETS))], i32)
        for i in range(c * chunk, min(c * chunk + chunk, codes.shape[0])):
            found[cast(codes[i] >> shift, i32) & (BUCKETS - 1)] += 1
        for d in range(BUCKETS):
            counts[d * chunks + c] = found[d]


@kernel
def move_by_bucket(
    codes: ndarray(), order: ndarray(i32, 1), starts: ndarray(i32, 1),
    codes_out: ndarray(), order_out: ndarray(i32, 1), chunk: i32, shift: i32,
):  # fmt: skip
    """Move each code to its place. starts: where each chunk's codes of each bucket begin."""
    chunks = starts.shape[0] // BUCKETS
    for c in range(chunks):
        place = Vector([0 for _ in static(range(BUCKETS))], i32)
        for d in range(BUCKETS):
            place[d] = starts[d * chunks + c]
        for i in range(c * chunk, min(c * chunk + chunk, codes.shape[0])):
            bucket = cast(codes[i] >> shift, i32) & (BUCKETS - 1)
            codes_out[place[bucket]] = codes[i]
            order_out[place[bucket]] = order[i]
            place[bucket] += 1


@kernel
def gather(x: ndarray(), order: ndarray(i32, 1), out: ndarray()):
    """Store x[order[i]] in out[i]."""
    for i in range(out.shape[0]):
        out[i] = x[order[i]]


# --- selecting and counting -------------------------------------------------------------------------------------------


@func
def is_marked(value: template(), kind: template(), bits: template()):
    """Return 1 for an element of a mask that is not 0. Floats are compared as bits: devices may flush small ones."""
    found = 0
    if static(kind == "float"):
        found = cast((bit_cast(value, static(u64 if bits == 64 else u32)) << 1) != 0, i32)
    else:
        found = cast(value != 0, i32)
    return found


@kernel
def count_marked(mask: ndarray(), counts: ndarray(i32, 1), chunk: i32, kind: template(), bits: template()):
    """Count the marked elements of each chunk."""
    for c in range(counts.shape[0]):
        found = 0
        for i in range(c * chunk, min(c * chunk + chunk, mask.shape[0])):
            found += is_marked(mask[i], kind, bits)
        counts[c] = found


@kernel
def select_marked(
    x: ndarray(), mask: ndarray(), ends: ndarray(i32, 1), out: ndarray(),
    chunk: i32, kind: template(), bits: template(), positions: template(),
):  # fmt: skip
    """Store marked elements of `x`, or their positions, one after the other. ends: the inclusive scan of the counts."""
    for c in range(ends.shape[0]):
        place = 0 if c == 0 else ends[max(c - 1, 0)]
        for i in range(c * chunk, min(c * chunk + chunk, mask.shape[0])):
            if is_marked(mask[i], kind, bits) != 0:
                if static(positions):
                    out[place] = i
                else:
                    out[place] = x[i]
                place += 1


@kernel
def mark_first(x: ndarray(), marks: ndarray(i32, 1), dtype: template(), kind: template(), bits: template()):
    """Store 1 where an element's code (`encoded`) differs from that of the one before it."""
    for i in range(x.shape[0]):
        code = encoded(cast(x[i], dtype), kind, bits)
        before = encoded(cast(x[max(i - 1, 0)], dtype), kind, bits)
        marks[i] = 1 if i == 0 or before != code else 0


@kernel
def last(x: ndarray(i32, 1)) -> i32:
    """Return the last element. To read it in Python would copy megabytes around it."""
    return x[x.shape[0] - 1]


@kernel
def lengths(positions: ndarray(i32, 1), n: i32, out: ndarray(i32, 1)):
    """Store how far it is from each position to the next one."""
    for i in range(out.shape[0]):
        end = n if i + 1 == out.shape[0] else positions[min(i + 1, out.shape[0] - 1)]
        out[i] = end - positions[i]


@kernel
def count_in_bins(x: ndarray(), edges: ndarray(f64, 1), counts: ndarray(i32, 1)):
    """Count the elements between two edges each. The last bin holds its upper edge, too."""
    bins = counts.shape[0]
    low, high = edges[0], edges[bins]
    for i in range(x.shape[0]):
        value = cast(x[i], f64)
        if low <= value and value <= high:
            k = min(cast((value - low) / (high - low) * bins, i32), bins - 1)
            if value < edges[k]:
                k -= 1
            elif k + 1 < bins and value >= edges[k + 1]:
                k += 1
            atomic_add(counts[k], 1)

"""Edits that are wrong on purpose, and what has to catch each: a table of the ways in which people and machines err.

Sources are written as in C; numbers lose their `f` for GLSL. `old` may be a regular expression after `re:`. What catches
an edit is the answer of `kernel.compare`: a difference, a write outside, a size of the sweep, a remark, or an error that
names the edit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import compared
import numpy as np

import shadesmith as ti

Text = str | dict[str, str]

DIFFERS = r"DIFFERS"
OUTSIDE = r"out of bounds: "
SWEPT = r"(?s) equal .*\nwith \w+ \(.*\): "
"""The call's own sizes agree; another size does not."""
CRASHED = r"`edit` of kernel `\w+` crashed: SIG|failed on copies|DeviceLost|device is lost"
STOPPED = r"`edit` of kernel `\w+` was stopped after [\d.]+ s"
"""Also a fault that NVIDIA's Vulkan driver takes longer than the limit to report."""
ENDED = r"`edit` of kernel `\w+` ended its process"
REFUSED = r"(?s)^\S+\.(?:c|comp|cu):\d+: .*\n *\d+ \| "
DROPPED_ATOMIC = r"DIFFERS|counts\[\d\]: \d+, found|`edit` has \d+ (?:atomic operations|calls for copies that threads add to), the generated source"
DROPPED_BARRIER = r"DIFFERS|`edit` has \d+ (?:barriers|loops over the threads)"
HARMLESS = r"passed$"
"""It changes no result: it must pass."""
ANY = r"DIFFERS|passed$|\): "
"""Undefined: it may give the right result by chance. It must not end or hang the process."""


@dataclass(frozen=True)
class Sabotage:
    """One edit. caught: a regular expression, or one by target. targets: where it can be written."""

    maker: Callable[[], tuple[Any, tuple[Any, ...]]]
    old: Text
    new: Text
    caught: Text
    targets: tuple[str, ...] = ("cpu", "vulkan", "cuda")


def rectified() -> tuple[Any, tuple[Any, ...]]:
    """Return a kernel whose inputs include NaN, infinities and negative numbers."""

    @ti.kernel
    def rectify(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            v = x[i] * 0.5
            if not v <= 0.0:
                y[i] = v
            else:
                y[i] = 0.0

    x = np.random.default_rng(compared.SEED).normal(size=600).astype(np.float32)
    x[::7], x[3::50] = np.nan, np.inf
    return rectify, (x, np.zeros_like(x))


def gathered() -> tuple[Any, tuple[Any, ...]]:
    """Return a kernel that reads by indices, with as many of them as its argument says."""

    @ti.kernel
    def gather(
        x: ti.types.ndarray(ti.i32, 1), k: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1), n: ti.i32
    ):
        for i in range(n):
            y[i] = x[k[i]] + n

    random = np.random.default_rng(compared.SEED)
    order = random.permutation(500).astype(np.int32)
    return gather, (random.integers(-9, 9, 500).astype(np.int32), order, np.zeros(500, np.int32), 500)


C = ("cpu",)
STORE = "y(i) ="
FAR_LOAD = {"cpu": "x((long)i + (1L << 40)) + 3", "vulkan": "x(i + 1500000000) + 3",
            "cuda": "(x((long long)i + (1LL << 40))) + 3"}  # fmt: skip
MIX = {"cpu": "(x(i) + 3) * 5 >> 2", "vulkan": "(x(i) + 3) * 5 >> 2", "cuda": "int((unsigned(x(i)) + 3) * 5) >> 2"}
FAR = {"cpu": "y((long)i + (1L << 40)) =", "vulkan": "y(i + 1500000000) =", "cuda": "y((long long)i + (1LL << 40)) ="}
HALF = {"cpu": "s += (float)(_Float16)(a(i, k) * b(k, j));",
        "vulkan": "s += roundEven(a(i, k) * b(k, j) * 2048.0) / 2048.0;",  # NVIDIA's driver leaves out a conversion and back
        "cuda": "s += rintf(a(i, k) * b(k, j) * 2048.0f) / 2048.0f;"}  # fmt: skip
NARROW = {"cpu": "(short)((x(i) + 3) * 5 * 16) / 16 >> 2", "vulkan": "((((x(i) + 3) * 5 * 16) << 16) >> 20) >> 2",
          "cuda": "(short)((x(i) + 3) * 5 * 16) / 16 >> 2"}  # fmt: skip
SHIFT = {"cpu": "(int)((unsigned)((x(i) + 3) * 5) >> 2)", "vulkan": "int(uint((x(i) + 3) * 5) >> 2)",
         "cuda": "(int)((unsigned)((x(i) + 3) * 5) >> 2)"}  # fmt: skip
SUMMAND = {"cpu": "+= x(i);", "vulkan": "+= x(i);", "cuda": "+= x(i);"}
ATOMIC = {  # on the host each thread has a copy: it is dropped, too
    "cpu": r"re:(?s:counts\(([^\n]*)\) \+= 1;[^\n]*\n(.*?) *own\.counts_data = start_sums[^\n]*\n(.*?) *join_sums[^\n]*\n)",
    "vulkan": r"re:atomicAdd\((counts.*), 1\);",
    "cuda": r"re:atomicAdd\(&(counts.*), 1\);",
}
LOOP_OF_THREADS = r"    for \(int thread = 0; [^\n]*\n        int i = [^\n]*\n        int t = thread;\n"
BARRIER = {  # the second one
    "cpu": rf"re:(?s:(tile\[t\] = x.*?)    \}}\n(?:    //[^\n]*\n)*{LOOP_OF_THREADS})",
    "vulkan": r"re:(?s:(tile\[t\] = x.*?)    barrier\(\);\n)",
    "cuda": r"re:(?s:(tile\[t\] = x.*?)    __syncthreads\(\);\n)",
}
CELL = {"cpu": "args.cells[i]", "vulkan": "args.cells.v[i]", "cuda": "args.cells[i]"}
FALL = "v(i).y -= 9.8f * args.dt;"
RESULT = {"cpu": "args.result->value = s", "vulkan": "args.result.value = s", "cuda": "args.result->value = s"}
HELPER = "re:\n//[^\n]*\n(static inline )?(__device__ )?(inline )?void task\\("


def before_task(code: str) -> str:
    """Return the replacement of `HELPER` that puts code before the function of the task."""
    return f"\n{code}\nstatic inline void task("


def summand(source: str) -> dict[str, str]:
    """Return `SUMMAND` with another number to add."""
    return {name: text.replace("x(i)", source) for name, text in SUMMAND.items()}


def at_start(code: str) -> str:
    """Return the store of `bits` after other code."""
    return f"{code} {STORE}"


SABOTAGED: dict[str, Sabotage] = {
    # --- what ends or hangs a process
    "an endless loop": Sabotage(compared.bits, STORE, {
        "cpu": at_start("for (volatile int q = 1; q; ) { }"),
        "vulkan": at_start("y(i) = 1; while (y(i) != 0) { y(i) = 2; }"),
        "cuda": at_start("while (*(volatile int *)&y(i) != 1 << 30) { }"),  # NVRTC drops a loop over a local volatile
    }, {"cpu": STOPPED, "vulkan": f"{STOPPED}|{ANY}|failed on copies", "cuda": STOPPED}),
    "a loop that is endless for one size": Sabotage(
        compared.bits, STORE, at_start("for (volatile int q = 1; q && args.x_n == 7; ) { }"), f"(?s){STOPPED}.*x \\(7,\\)", C),
    "a wait": Sabotage(compared.bits, STORE, at_start("extern unsigned sleep(unsigned); if (i == 0) sleep(1000);"), STOPPED, C),
    "output without end": Sabotage(
        compared.bits, STORE, at_start('extern int puts(const char *); while (x(0) + puts("sabotage") != -1e9) { }'), STOPPED, C),
    "a far store": Sabotage(compared.bits, STORE, FAR, {"cpu": CRASHED, "vulkan": f"{CRASHED}|{STOPPED}", "cuda": CRASHED}),
    "a far load": Sabotage(compared.bits, {"cpu": "x(i) + 3", "vulkan": "x(i) + 3", "cuda": "(x(i)) + 3"}, FAR_LOAD,
                           {"cpu": CRASHED, "vulkan": f"{CRASHED}|{STOPPED}|DIFFERS", "cuda": CRASHED}),
    "a null pointer": Sabotage(compared.bits, STORE, at_start("*(volatile int *)0 = i;"), CRASHED, ("cpu", "cuda")),
    "a freed pointer": Sabotage(
        compared.bits, STORE,
        at_start("extern void free(void *); if (i == 0) free((void *)args.y_data);"), f"{CRASHED}|{ANY}", C),
    "a trap": Sabotage(compared.bits, STORE, at_start("__builtin_trap();"), CRASHED, C),
    "abort": Sabotage(compared.bits, STORE, at_start("extern void abort(void); abort();"), CRASHED, C),
    "exit with success": Sabotage(compared.bits, STORE, at_start("extern void exit(int); exit(0);"), ENDED, C),
    "exit without clean-up": Sabotage(compared.bits, STORE, at_start("extern void _exit(int); if (i == 999) _exit(0);"), ENDED, C),
    "exit for one size": Sabotage(
        compared.bits, STORE, at_start("extern void _exit(int); if (args.x_n == 1) _exit(0);"), f"(?s){ENDED}.*x \\(1,\\)", C),
    "a signal to itself": Sabotage(
        compared.bits, STORE, at_start("extern int raise(int); raise(9);"), CRASHED, C),
    "a signal to its group": Sabotage(
        compared.bits, STORE, at_start("extern int kill(int, int); kill(0, 9);"), CRASHED, C),
    "closed files": Sabotage(
        compared.bits, STORE, at_start("extern int close(int); for (int q = 0; q < 4096; q++) close(q);"), f"{ENDED}|{CRASHED}", C),
    "a constructor": Sabotage(
        compared.bits, HELPER, before_task(
            "extern void _exit(int);\n__attribute__((constructor)) static void early(void) { _exit(3); }"),
        ENDED, C),
    "endless recursion": Sabotage(
        compared.bits, r"re:static inline void task\(((?s:.*?))y\(i\) =",
        "static int deep(int n) { volatile char pad[4096]; pad[n & 4095] = 1; return deep(n + 1) + pad[7]; }\n\n"
        r"static inline void task(\1y(i) = 0 * deep(i) +", CRASHED, C),
    "a huge array on the stack": Sabotage(
        compared.bits, STORE, at_start("volatile char big[1L << 28]; for (long q = 0; q < 1L << 28; q += 4096) big[q] = 1;"), CRASHED, C),
    "a huge allocation": Sabotage(
        compared.bits, STORE, at_start("extern void *malloc(unsigned long); *(volatile int *)malloc(1UL << 46) = 1;"), CRASHED, C),
    "a division by zero": Sabotage(
        compared.bits, MIX, "x(i) / (x(i) ^ x(i) * 1)", {"cpu": f"{CRASHED}|{DIFFERS}", "vulkan": DIFFERS, "cuda": DIFFERS}),
    "the most negative number by -1": Sabotage(
        compared.bits, STORE, at_start("volatile int q = -2147483647 - 1, r = -1; q /= r;"), CRASHED, C),
    "damage to the heap": Sabotage(
        compared.bits, STORE, at_start("for (int q = 0; q < 40000; q++) y(-20000 + q) = 7;"), f"{OUTSIDE}|{CRASHED}|{DIFFERS}", C),
    # --- writes and reads outside
    "a write behind the end": Sabotage(compared.bits, STORE, "y(i + 1) =", OUTSIDE),
    "a write before the begin": Sabotage(compared.bits, STORE, "y(i - 1) =", OUTSIDE, C),
    "a write one row too far": Sabotage(compared.stencil, "b(i, j) =", "b(i + 2, j) =", f"{OUTSIDE}|{DIFFERS}"),
    "a read behind the end": Sabotage(compared.total, SUMMAND, summand("x(i + 1)"), DIFFERS),
    "a write to an input": Sabotage(
        compared.bits, STORE, {"cpu": at_start("((int *)args.x_data)[i] = 0;"), "vulkan": at_start("x(i) = 0;"),
                               "cuda": at_start("((int *)args.x_data)[i] = 0;")}, f"{REFUSED}|x +i32, read +DIFFERS"),
    "a write to another field": Sabotage(
        compared.particles, FALL, {name: f"{FALL} {cell}.other = 2.0f;" for name, cell in CELL.items()},
        r"field 0 of the tree\[0\]: 1, found 2"),
    "a misaligned store": Sabotage(compared.bits, STORE, "*(int *)((char *)&y(i) + 1) =", f"{DIFFERS}|{CRASHED}", ("cpu", "cuda")),
    # --- threads
    "a dropped atomic": Sabotage(compared.histogram, ATOMIC, {
        "cpu": "counts(\\1) += 1;\n\\2\\3", "vulkan": r"\1 += 1;", "cuda": r"\1 += 1;"}, DROPPED_ATOMIC),
    "a dropped barrier": Sabotage(compared.shared_sum, BARRIER, r"\1", DROPPED_BARRIER),
    "only the first block": Sabotage(compared.bits, STORE, "if (i < 128) y(i) =", DIFFERS),
    # --- sizes
    "wrong beyond 1024": Sabotage(compared.bits, STORE, "if (i < 1024) y(i) =", SWEPT),
    "right for multiples of 8": Sabotage(compared.bits, STORE, "if (i < args.x_n / 8 * 8) y(i) =", SWEPT),
    "an index of 12 bits": Sabotage(compared.bits, STORE, "y(i & 4095) =", SWEPT),
    "wrong for nothing": Sabotage(
        compared.total, RESULT, {k: f"{v} + {n}" for (k, v), n in zip(RESULT.items(), ("(args.x_n == 0)", "int(args.x_n == 0)", "(args.x_n == 0)"))},
        SWEPT.replace(" equal ", " equal ")),
    "wrong for one element": Sabotage(
        compared.bits, MIX, {k: f"({v}) + (args.x_n == 1 ? 1 : 0)" for k, v in MIX.items()}, SWEPT),
    "the call's length of a sum": Sabotage(compared.product, "k < args.a_n1", "k < 40", SWEPT),
    "the call's length of a row": Sabotage(compared.stencil, "args.b_n1 +", "45 +", SWEPT),
    "the call's number of elements": Sabotage(compared.total, SUMMAND, summand("(i < 5000 ? x(i) : 0)"), SWEPT),
    "the call's argument": Sabotage(gathered, "+ args.n", "+ 500", SWEPT),
    # --- arithmetic
    "a wrong constant": Sabotage(compared.stencil, "0.25f", "0.26f", DIFFERS),
    "a slightly wrong constant": Sabotage(compared.particles, "9.8f", "9.801f", DIFFERS),
    "swapped operands": Sabotage(compared.stencil, "0.25f * s - a(i, j)", "a(i, j) - 0.25f * s", DIFFERS),
    "swapped indices": Sabotage(compared.stencil, "b(i, j) = a(i, j)", "b(i, j) = a(j, i)", DIFFERS),
    "precedence": Sabotage(compared.bits, MIX, "(x(i) + 3 * 5) >> 2", DIFFERS),
    "an unsigned shift": Sabotage(compared.bits, MIX, SHIFT, DIFFERS),
    "a quotient for a shift": Sabotage(compared.bits, MIX, "(x(i) + 3) * 5 / 4", DIFFERS),
    "arithmetic in 16 bits": Sabotage(compared.bits, MIX, NARROW, DIFFERS),
    "half precision": Sabotage(compared.product, "s += a(i, k) * b(k, j);", HALF, DIFFERS),
    "a NaN taken for zero": Sabotage(rectified, "v <= 0.0f", "!(v > 0.0f)", DIFFERS),
    "an infinity that is clipped": Sabotage(rectified, "re:y\\(i\\) = v;", "y(i) = v > 1e30f ? 1e30f : v;", DIFFERS),
    # --- statements
    "an uninitialised local variable": Sabotage(compared.product, "float s = 0.0f;", "float s;", ANY),
    "a sum that starts from what was there": Sabotage(compared.product, "float s = 0.0f;", "float s = c(i, j);", DIFFERS),
    "a sum that starts from 1": Sabotage(compared.total, "int s = 0;", "int s = 1;", DIFFERS),
    "one element left alone": Sabotage(compared.bits, STORE, "if (i != 777) y(i) =", r"y\[777\]: .* not written|y\[777\]"),
    "one element twice": Sabotage(compared.total, SUMMAND, summand("(i == 4321 ? 2 * x(i) : x(i))"), DIFFERS),
    "the wrong index of one element": Sabotage(compared.bits, STORE, "y(i == 777 ? 776 : i) =", DIFFERS),
    "an early return": Sabotage(compared.particles, FALL, f"if (i == 299) return; {FALL}", DIFFERS),
    "a store left out": Sabotage(compared.particles, "v(i).y = -0.5f * v(i).y;", "", DIFFERS),
    "an iteration too few": Sabotage(compared.product, "k < args.a_n1", "k < args.a_n1 - 1", DIFFERS),
    "a condition turned round": Sabotage(compared.particles, "x(i).y < 0.0f", "x(i).y > 0.0f", DIFFERS),
    # --- what is right
    "a product as shift": Sabotage(compared.bits, MIX, "((x(i) + 3 << 2) + x(i) + 3) >> 2", HARMLESS),
    "a sum in f64": Sabotage(
        compared.product, "float s = 0.0f;", {"cpu": "double s = 0.0;", "cuda": "double s = 0.0;"}, HARMLESS, ("cpu", "cuda")),
    "an early return that changes nothing": Sabotage(compared.bits, STORE, "if (i < 0) return; y(i) =", HARMLESS),
}  # fmt: skip
"""By name."""

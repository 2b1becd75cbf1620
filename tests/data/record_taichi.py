"""Record what Taichi 1.7.4 gives for every binary operation on every pair of number types.

usage: PYTHON_WITH_TAICHI record_taichi.py binary_ops.json
Each row: [operation, type a, type b, type of the result or "error", [[a, b, value as text], ...]].
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import taichi as ti

TYPES = ["i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]
OPERATIONS = {
    "add": "a + b", "sub": "a - b", "mul": "a * b", "div": "a / b", "floordiv": "a // b", "mod": "a % b",
    "pow": "a ** b", "bit_and": "a & b", "bit_or": "a | b", "bit_xor": "a ^ b", "shl": "a << b", "sar": "a >> b",
    "shr": "ti.bit_shr(a, b)", "lt": "a < b", "le": "a <= b", "gt": "a > b", "ge": "a >= b", "eq": "a == b",
    "ne": "a != b", "min": "ti.min(a, b)", "max": "ti.max(a, b)", "atan2": "ti.atan2(a, b)",
    "raw_div": "ti.raw_div(a, b)", "raw_mod": "ti.raw_mod(a, b)",
}  # fmt: skip
VALUES = {"f": [2.5, -3.25, 7.0, 0.75], "i": [5, -3, 100, 1], "u": [5, 3, 100, 1], "u1": [1, 0, 1, 1]}
OTHERS = {"f": [1.5, 2.0, -2.5, 3.0], "i": [3, 2, 3, 6], "u": [3, 2, 3, 6], "u1": [1, 1, 1, 1]}

SEEN = {}


def note(name, expression):
    SEEN[name] = str(expression.ptr.get_rvalue_type().to_string())


def write_kernels(folder, a, b, operations):
    lines = ["import taichi as ti", "from __main__ import note"]
    for name, expression in operations.items():
        lines += [
            "@ti.kernel",
            f"def k_{name}(a: ti.{a}, b: ti.{b}, real: ti.types.ndarray(), whole: ti.types.ndarray()):",
            "    for _ in range(1):",
            f"        x = {expression}",
            f"        ti.static(note('{name}', x))",
            "        real[0] = ti.cast(x, ti.f64)",
            "        whole[0] = ti.cast(x, ti.i64)",
        ]
    path = Path(folder) / f"kernels_{a}_{b}.py"
    path.write_text("\n".join(lines) + "\n")
    spec = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), spec)
    return spec


def child(a, b, names):
    """Print one row an operation, each as soon as it is known: some operations end the process."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR, offline_cache=False, fast_math=False)
    with tempfile.TemporaryDirectory() as folder:
        kernels = write_kernels(folder, a, b, OPERATIONS)
        for name in names:
            print("ROW" + json.dumps(record(kernels[f"k_{name}"], name, a, b)), flush=True)


def main():
    if len(sys.argv) == 5:
        child(sys.argv[2], sys.argv[3], sys.argv[4].split(","))
        return
    rows = []
    for a in TYPES:
        for b in TYPES:
            left = list(OPERATIONS)
            while left:
                command = [sys.executable, __file__, "child", a, b, ",".join(left)]
                try:
                    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=15)
                    text = done.stdout
                except subprocess.TimeoutExpired as slow:
                    text = (slow.stdout or b"").decode()
                found = [json.loads(line[3:]) for line in text.splitlines() if line.startswith("ROW")]
                rows += found
                left = left[len(found) :]
                if left:
                    rows.append([left.pop(0), a, b, "error", [["", "", "Taichi crashes or hangs"]]])
            print(a, b, len(rows), file=sys.stderr, flush=True)
    body = ",\n".join(json.dumps(row) for row in rows)
    Path(sys.argv[1]).write_text(f"[\n{body}\n]\n")


def record(kernel, name, a, b):
    results = []
    real, whole = np.zeros(1), np.zeros(1, np.int64)
    for x, y in zip(VALUES.get(a, VALUES[a[0]]), OTHERS.get(b, OTHERS[b[0]])):
        if name in ("shl", "sar", "shr") and (y < 0):
            continue
        try:
            kernel(x, y, real, whole)
        except Exception as error:
            return [name, a, b, "error", [[x, y, str(error).strip().splitlines()[-1][:100]]]]
        is_real = SEEN[name].startswith("f")
        value = float(real[0]) if is_real else int(whole[0])
        results.append([x, y, repr(value) if not (is_real and math.isnan(value)) else "nan"])
    return [name, a, b, SEEN[name], results]


main()

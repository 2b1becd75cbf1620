"""Pass `collected_bits`: bits of local integers that conditions set, without branches."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

Words = ti.types.ndarray(ti.i32, 2)
Row = ti.types.ndarray(ti.i32, 1)
BRANCHES = {
    "index": ("if a[i, k] < a[i, k + 1]:\n    bits |= 1 << k", True),
    "variable": ("m = (k * 7) % 32\nif a[i, k] == 3:\n    bits = 1 << m | bits", True),
    "constant": ("if a[i, k] > 3 and k != 5:\n    bits |= 16", True),
    "first": ("if a[i, k] > 7:\n    bits |= 1", True),
    "negative count": ("if a[i, k] > 3:\n    bits |= 1 << (k - 3)", False),
    "of before": ("old = bits\nbits = k\nif a[i, k] > 3:\n    bits = old | 16", False),
    "two bits": ("if a[i, k] > 3:\n    bits |= 6", False),
    "otherwise": ("if a[i, k] > 3:\n    bits |= 2\nelse:\n    bits += 1", False),
    "more": ("if a[i, k] > 3:\n    bits |= 2\n    other += k", False),
    "loads": ("if a[i, k] > 3:\n    bits |= 1 << a[i, k + 1]", False),
}
"""Name -> the body of a loop over `k`, and whether its branch is replaced."""


def kernel_of(tmp_path, body: str) -> ti.Kernel:
    path = tmp_path / "program.py"
    path.write_text(
        "import shadesmith as ti\n"
        "@ti.kernel\n"
        "def run(a: ti.types.ndarray(ti.i32, 2), r: ti.types.ndarray(ti.i32, 1)):\n"
        "    for i in r:\n"
        "        bits = 0\n"
        "        other = 0\n"
        "        for k in range(33):\n"
        + "".join(f"            {line}\n" for line in body.splitlines())
        + "        r[i] = bits + other * 3\n"
    )
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102
    return names["run"]


@pytest.mark.parametrize("name", BRANCHES)
def test_bits_are_those_of_the_interpreter(name, tmp_path) -> None:
    body, is_replaced = BRANCHES[name]
    a, results = np.random.default_rng(0).integers(0, 9, (40, 34)).astype(np.int32), []
    for arch in (ti.python, ti.cpu):
        ti.init(arch=arch, log_level=ti.ERROR)
        kernel, r = kernel_of(tmp_path, body), np.zeros(40, np.int32)
        kernel(a, r)
        results.append(r.tolist())
    assert results[0] == results[1]
    assert ("collected_bits" in kernel.source(a, r, arch=ti.cpu)) == is_replaced
    assert "collected_bits" not in kernel.source(a, r, arch=ti.cuda)

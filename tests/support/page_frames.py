"""What stands around the Python blocks of the pages that are no whole programs: so all of them run.

FRAMES: by page and number of the block, a program in which `# BLOCK` is replaced by the block, indented as that line.
"""

from __future__ import annotations

HEAD = "import numpy as np\nimport shadesmith as ti\n\nti.init(arch=ti.cpu)\n"

FRAMES: dict[tuple[str, int], str] = {
    ("performance", 1): (
        "x, z = ti.field(ti.f32, 4), ti.field(ti.f32, 4)\nz.fill(2)\n@ti.kernel\ndef move():\n    for i in x:\n        # BLOCK\n"
        "move()\nassert x[3] == 2 and z[3] == 0"
    ),
    ("several-devices", 1): "# BLOCK",
    ("several-devices", 2): """from types import SimpleNamespace
sent = []
comm = SimpleNamespace(Isend=lambda data, rank, tag: sent.append((data.size, rank, tag)))
rank, whole = 1, np.ones((512, 512, 512), np.int8)
x = ti.field(ti.i8, ti.tools.halo.Decomposition((512, 512, 512), ranks=4, ghost=1).block(rank).shape)
# BLOCK
assert len(sent) == len(block.exchanges) > 0 and {r for _, r, _ in sent} == {item.rank for item in block.exchanges}""",
    ("README", 0): "# BLOCK\na = np.zeros((4, 4), np.float32)\njacobi(a, a.copy(), 0.5)",
    ("cache", 0): "init = ti.init\nti.init = lambda arch: init(arch=ti.python)\n# BLOCK\nti.init = init",
    ("debugging", 0): (
        "x = ti.field(ti.f32, 4)\n@ti.kernel\ndef check(i: ti.i32):\n    v = ti.math.vec2(1, 2)\n    # BLOCK\ncheck(1)"
    ),
    ("derivatives", 0): "n = 4\n# BLOCK\nassert np.isfinite(x.grad.to_numpy()).all()",
    ("derivatives", 1): """x = ti.field(ti.f32, (), needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)
x[None] = 1.0
@ti.kernel
def substep(t: ti.i32):
    x[None] = x[None] * 0.999
@ti.kernel
def measure():
    loss[None] += x[None]
# BLOCK
assert abs(x.grad[None] - 0.999 ** 1000) < 1e-4""",
    ("derivatives", 2): """import importlib.util
if importlib.util.find_spec("torch"):
    import torch
    x, w = torch.ones(3, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    # BLOCK""",
    ("functions", 0): """n = 4
x = ti.field(ti.f32, (n, n))
# BLOCK
@ti.kernel
def use() -> ti.f32:
    return lerp(sample(x, 1.5, 2.5), 1.0, 0.5)
assert use() == 0.5""",
    ("functions", 1): """# BLOCK
@ti.kernel
def use() -> ti.u32:
    return reversed_bits(ti.u32(1))
assert use() == 1 << 31""",
    (
        "gpu-choices",
        0,
    ): "init = ti.init\nti.init = lambda arch, **options: init(arch=ti.python, **options)\n# BLOCK\nti.init = init",
    ("gpu-choices", 1): "# BLOCK\nassert mass.shape == (128,) * 3",
    ("hand-tuning", 0): "# BLOCK\na = np.zeros((4, 4), np.float32)\njacobi(a, a.copy())",
    ("hand-tuning", 1): (
        "matrix = ti.types.ndarray(ti.f32, ndim=2)\n# BLOCK\na = np.ones((3, 3), np.float32)\nc = a.copy()\n"
        "multiply(a, a, c)\nassert (c == 3).all()"
    ),
    ("inspection", 0): """@ti.kernel
def step(x: ti.types.ndarray(ti.f32, 1), dt: ti.f32):
    for i in x:
        x[i] += dt * x[i] * x[i] + 12.0 * dt
x = np.ones(4, np.float32)
kernel, args = step, (x, 0.1)
# BLOCK""",
    ("layouts", 0): (
        "velocity, mass, total = ti.Vector.field(2, ti.f32), ti.field(ti.f32), ti.field(ti.f32)\n# BLOCK\n"
        "assert mass.shape == (32, 12)"
    ),
    ("layouts", 1): "n, x, y = 4, ti.field(ti.f32), ti.field(ti.f32)\n# BLOCK",
    ("layouts", 2): "# BLOCK\nassert alive.shape == (64, 64)",
    ("memory", 0): "@ti.kernel\ndef increment(x: ti.template()):\n    for i in x:\n        x[i] += 1\n# BLOCK",
    ("memory", 1): "# BLOCK\nassert x[0] == 1",
    ("passes", 0): """from shadesmith.transpiler.ir.statements import Const
def shift(kernel, context):
    return False
args = ()
init = ti.init
ti.init = lambda passes: init(arch=ti.cpu, passes=passes)
# BLOCK""",
    ("passes", 1): """# BLOCK
@ti.kernel(passes=[ti.Pass(shift, after="offload")])
def scale() -> ti.f32:
    return 2.5
assert scale() == 2.75""",
    ("reading-sources", 0): (
        "image = ti.types.ndarray(ti.f32, 2)\n# BLOCK\na = np.zeros((4, 4), np.float32)\njacobi(a, a.copy(), 0.5)"
    ),
    ("reading-sources", 1): "# BLOCK\nx.fill(0.5)\nscatter(1.0)\nassert abs(mass.to_numpy().sum() - 4096) < 1",
    ("reading-sources", 2): "dt = 0.1\n# BLOCK\nadvect()",
    ("reading-sources", 3): "v = ti.Vector.field(2, ti.f32, 4)\nv.fill(1.0)\n# BLOCK\nassert energy(1.0) == 4.0",
    ("reading-sources", 4): "# BLOCK\na = np.ones(256, np.float32)\nsmooth(a, a.copy())",
    ("sparse", 0): "# BLOCK\nsplat(np.array([[1, 2], [2, 2]], np.float32), 9.8)\nassert mass[1, 2] == 1.0",
    ("static-loops", 0): """grid_m, p_mass = ti.field(ti.f32, (4, 4)), 1.0
@ti.kernel
def scatter(x: ti.math.vec2):
    base = int(x - 0.5)
    fx = x - base
    # BLOCK
scatter(ti.math.vec2(1.2, 1.4))
assert abs(grid_m.to_numpy().sum() - 1) < 1e-5""",
    ("static-loops", 1): """x, n, m = ti.field(ti.f32, (3, 4)), 3, 4
x.fill(1.0)
@ti.kernel
def around(i: ti.i32, j: ti.i32) -> ti.f32:
    total = 0.0
    # BLOCK
    return total
assert (around(0, 0), around(1, 1), around(2, 1)) == (2, 4, 3)""",
    ("interop", 0): """x = ti.ndarray(ti.f32, 4)
@ti.kernel
def step(x: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        x[i] += 1.0
# BLOCK
assert (x.to_numpy() == 2).all()""",
    ("templates", 0): 'import os\nos.mkdir("templates")\n# BLOCK',
    ("timing", 0): "# BLOCK\nassert step",
}
EDITED = {
    ("several-devices", 0): ("ti.cuda, device=1,", "ti.python,"),
    ("timing", 0): ("def step(...): ...", "def step(x: ti.types.ndarray(ti.f32, 1)): ..."),
}
"""What a block leaves out by dots, or needs that few have: what stands for it."""

CHECKED_ELSEWHERE = {
    "contributing/add-a-language": "the language is in the tree: tests/backend",
    "contributing/add-a-pass": "tests/passes/test_recipe.py",
    "contributing/add-an-operation": "the operation is in the tree: tests/api/test_docstrings.py",
    "contributing/tour": "tests/golden/test_tour.py",
    "coming-from-taichi": "tests/examples/test_coming_from_taichi.py",
    "hour": "tests/examples/test_hour.py",
}
"""Pages whose blocks other tests run."""


def program(page: str, number: int, block: str) -> str:
    """Return the program of a block."""
    before, after = EDITED.get((page, number), ("", ""))
    if "import shadesmith" in block or "import taichi" in block:
        return block.replace(before, after) if before else block
    lines = []
    for line in FRAMES[page, number].splitlines():
        if line.strip() != "# BLOCK":
            lines.append(line)
            continue
        indent = line[: line.index("#")]
        text = block.replace(before, after) if before else block
        lines += [indent + each if each else "" for each in text.splitlines()]
    return HEAD + "\n".join(lines) + "\n"

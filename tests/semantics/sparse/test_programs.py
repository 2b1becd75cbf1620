"""Whole programs on sparse trees: the examples of Taichi's documentation, a game of life, a material point method."""

import numpy as np
import pytest

import shadesmith as ti

# --- the page of the documentation ------------------------------------------------------------------------------------


def active(node) -> set[tuple[int, ...]]:
    """Return the indices of all that a loop over a field or node runs over."""
    axes = len(node.shape)
    found = ti.field(ti.i32, (4096, axes))
    count = ti.field(ti.i32, ())

    @ti.kernel
    def collect():
        for I in ti.grouped(node):
            place = ti.atomic_add(count[None], 1)
            for axis in ti.static(range(axes)):
                found[place, axis] = I[axis]

    collect()
    seen = [tuple(index) for index in found.to_numpy()[: count[None]].tolist()]
    assert len(set(seen)) == len(seen)
    return set(seen)


@pytest.mark.parametrize("bitmasked", [False, True])
def test_pointer_and_bitmasked_pixels(target: str, bitmasked: bool) -> None:
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, (4, 4))
    pixel = block.bitmasked(ti.ij, (2, 2)) if bitmasked else block.dense(ti.ij, (2, 2))
    pixel.place(x)

    @ti.kernel
    def activate():
        x[2, 3] = 1.0
        x[2, 4] = 2.0

    activate()
    assert active(block) == {(1, 1), (1, 2)}
    pixels = {(2, 3), (2, 4)} if bitmasked else {(i, j) for i in (2, 3) for j in (2, 3, 4, 5)}
    assert active(x) == active(pixel) == pixels
    assert x.to_numpy()[2].tolist() == [0, 0, 0, 1, 2, 0, 0, 0]
    block.deactivate_all()
    assert active(block) == active(x) == set()
    assert not x.to_numpy().any()


def test_a_dynamic_list(target: str) -> None:
    x = ti.field(ti.i32)
    items = ti.root.dynamic(ti.i, 1024, chunk_size=32)
    items.place(x)
    length = ti.field(ti.i32, 4)

    @ti.kernel
    def add():
        for i in range(500):
            x.append(i)
        length[0] = x.length()
        for i in range(500):
            x.append(500 + i)

    @ti.kernel
    def count_and_clear():
        length[1] = x.length()
        x.deactivate()
        length[2] = x.length()

    add()
    assert sorted(x.to_numpy()[:1000].tolist()) == list(range(1000))
    count_and_clear()
    assert length.to_numpy().tolist()[1:] == [1000, 0, 0]
    assert not x.to_numpy().any()


def test_lists_of_different_lengths(target: str) -> None:
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 10).dynamic(ti.j, 64, chunk_size=8).place(x)
    lengths = ti.field(ti.i32, 10)

    @ti.kernel
    def make():
        for i in range(10):
            for j in range(i):
                x[i].append(j * j)
            lengths[i] = x[i].length()

    @ti.kernel
    def clear():
        for i in range(10):
            if i % 2 == 0:
                x[i].deactivate()
            lengths[i] = x[i].length()

    make()
    assert lengths.to_numpy().tolist() == list(range(10))
    assert x.to_numpy()[7].tolist() == [0, 1, 4, 9, 16, 25, 36] + [0] * 57
    clear()
    assert lengths.to_numpy().tolist() == [0, 1, 0, 3, 0, 5, 0, 7, 0, 9]


def test_activity_of_cells(target: str) -> None:
    x = ti.field(ti.i32)
    upper = ti.root.pointer(ti.ij, (4, 4))
    lower = upper.pointer(ti.ij, (2, 2))
    lower.bitmasked(ti.ij, (2, 2)).place(x)
    found = ti.field(ti.i32, 6)

    @ti.kernel
    def change():
        ti.activate(upper, [1, 0])
        x[4, 7] = 5
        ti.deactivate(lower, [2, 3])
        x[9, 9] = 6

    @ti.kernel
    def look(i: ti.i32, j: ti.i32):
        found[0] = ti.is_active(upper, [i // 4, j // 4])
        found[1] = ti.is_active(lower, [i // 2, j // 2])
        found[2] = ti.is_active(x.parent(), [i, j])
        index = ti.rescale_index(x, upper, ti.Vector([i, j]))
        found[3], found[4] = index[0], index[1]
        found[5] = x[i, j]

    def answers(i: int, j: int) -> list[int]:
        look(i, j)
        return found.to_numpy().tolist()

    change()
    assert answers(5, 1) == [1, 0, 0, 1, 0, 0]
    assert answers(4, 7) == [1, 0, 0, 1, 1, 0]
    assert answers(9, 9) == [1, 1, 1, 2, 2, 6]
    assert answers(9, 8) == [1, 1, 0, 2, 2, 0]
    ti.deactivate_all_snodes()
    assert answers(9, 9) == [0, 0, 0, 2, 2, 0]


def test_a_grid_of_structs(target: str) -> None:
    grid = ti.sparse.grid(
        {"pos": ti.math.vec2, "mass": ti.f32, "grid2particles": ti.types.vector(20, ti.i32)}, shape=(10, 10)
    )

    @ti.kernel
    def fill():
        grid[0, 0].pos = ti.math.vec2(1, 2)
        grid[0, 0].mass = 1.0
        grid[0, 0].grid2particles[2] = 123
        grid[2, 8].mass = 3.0

    assert ti.sparse.usage(grid) == 0.0
    fill()
    assert ti.sparse.usage(grid) == pytest.approx(0.02)
    assert grid[0, 0].grid2particles[2] == 123 and grid[0, 0].pos[1] == 2.0
    assert active(grid) == {(0, 0), (2, 8)}


# --- a game of life ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("under", ["nothing", "pointer"])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_game_of_life(target: str, under: str) -> None:
    """Cells that live are active, and nothing else is looked at."""
    size, turns = (24, 6) if target == "python" else (100, 40)
    alive, near = ti.field(ti.u8), ti.field(ti.i32)
    for field in (alive, near):
        if under == "pointer":
            ti.root.pointer(ti.ij, -(-size // 4)).bitmasked(ti.ij, 4).place(field)
        else:
            ti.root.bitmasked(ti.ij, size).place(field)

    @ti.kernel
    def count():
        for i, j in alive:
            for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
                if ti.static(di != 0 or dj != 0):
                    near[(i + di) % size, (j + dj) % size] += 1

    @ti.kernel
    def change():
        for i, j in near:
            n = near[i, j]
            if n == 3:
                alive[i, j] = 1
        for i, j in alive:
            n = near[i, j]
            if n != 2 and n != 3:
                ti.deactivate(alive.parent(), [i, j])

    cells = np.random.default_rng(4).random((size, size)) < 0.3
    for i, j in np.argwhere(cells).tolist():
        alive[i, j] = 1
    for _ in range(turns):
        count()
        change()
        near.parent().deactivate_all() if under == "nothing" else near.parent(2).deactivate_all()
        shifted = [np.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        around = np.sum(shifted, axis=0)
        cells = (around == 3) | (cells & (around == 2))
    assert 0 < cells.sum() < cells.size
    assert np.array_equal(alive.to_numpy()[:size, :size], cells)


# --- a material point method ------------------------------------------------------------------------------------------


class Fluid:
    """The 88 lines of Taichi's MLS-MPM, made small; `sparse`: the grid has memory only around the particles."""

    def __init__(self, sparse: bool, particles: int, grid: int) -> None:
        self.n, self.dx, self.dt = grid, 1 / grid, 2e-4
        self.x, self.v = ti.Vector.field(2, ti.f32, particles), ti.Vector.field(2, ti.f32, particles)
        self.C, self.J = ti.Matrix.field(2, 2, ti.f32, particles), ti.field(ti.f32, particles)
        self.grid_v, self.grid_m = ti.Vector.field(2, ti.f32), ti.field(ti.f32)
        self.block = getattr(ti.root, "pointer" if sparse else "dense")(ti.ij, grid // 4)
        self.block.dense(ti.ij, 4).place(self.grid_v, self.grid_m)
        rng = np.random.default_rng(7)
        self.x.from_numpy((rng.random((particles, 2)) * 0.4 + 0.2).astype(np.float32))
        self.v.from_numpy(np.full((particles, 2), (0.0, -1.0), np.float32))
        self.J.fill(1)

    def step(self) -> None:
        if self.block.node.kind == "pointer":
            self.block.deactivate_all()
        else:
            self.grid_v.fill(0)
            self.grid_m.fill(0)
        to_grid(self.x, self.v, self.C, self.J, self.grid_v, self.grid_m, self.n, self.dx, self.dt)
        on_grid(self.grid_v, self.grid_m, self.n, self.dt)
        to_particles(self.x, self.v, self.C, self.J, self.grid_v, self.dx, self.dt)


@ti.kernel
def to_grid(
    x: ti.template(),
    v: ti.template(),
    C: ti.template(),
    J: ti.template(),
    grid_v: ti.template(),
    grid_m: ti.template(),
    n: ti.i32,
    dx: ti.f32,
    dt: ti.f32,
):
    for p in x:
        base = (x[p] / dx - 0.5).cast(int)
        fx = x[p] / dx - base.cast(ti.f32)
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        volume = (dx * 0.5) ** 2
        stress = -dt * volume * (J[p] - 1) * 4 / dx**2 * 400
        affine = ti.Matrix([[stress, 0], [0, stress]]) + volume * C[p]
        for i, j in ti.static(ti.ndrange(3, 3)):
            offset = ti.Vector([i, j])
            weight = w[i].x * w[j].y
            grid_v[base + offset] += weight * (volume * v[p] + affine @ ((offset - fx) * dx))
            grid_m[base + offset] += weight * volume


@ti.kernel
def on_grid(grid_v: ti.template(), grid_m: ti.template(), n: ti.i32, dt: ti.f32):
    for i, j in grid_m:
        if grid_m[i, j] > 0:
            v = grid_v[i, j] / grid_m[i, j]
            v.y -= dt * 9.8
            if i < 3 and v.x < 0 or i > n - 3 and v.x > 0:
                v.x = 0
            if j < 3 and v.y < 0 or j > n - 3 and v.y > 0:
                v.y = 0
            grid_v[i, j] = v


@ti.kernel
def to_particles(
    x: ti.template(),
    v: ti.template(),
    C: ti.template(),
    J: ti.template(),
    grid_v: ti.template(),
    dx: ti.f32,
    dt: ti.f32,
):
    for p in x:
        base = (x[p] / dx - 0.5).cast(int)
        fx = x[p] / dx - base.cast(ti.f32)
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        new_v, new_C = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
        for i, j in ti.static(ti.ndrange(3, 3)):
            offset = ti.Vector([i, j])
            g_v = grid_v[base + offset]
            weight = w[i].x * w[j].y
            new_v += weight * g_v
            new_C += 4 * weight * g_v.outer_product((offset - fx) * dx) / dx**2
        v[p], C[p] = new_v, new_C
        x[p] += dt * new_v
        J[p] *= 1 + dt * new_C.trace()


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_material_points_on_a_sparse_grid(target: str) -> None:
    particles, steps = (24, 3) if target == "python" else (2000, 60)
    fluids = [Fluid(sparse, particles, 64) for sparse in (False, True)]
    for _ in range(steps):
        for fluid in fluids:
            fluid.step()
    dense, sparse = ([f.x.to_numpy(), f.v.to_numpy(), f.J.to_numpy()] for f in fluids)
    assert 0 < fluids[1].block.num_dynamically_allocated < 16 * 16
    for one, other in zip(dense, sparse, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4)


def test_bits_in_a_known_cell_are_tested_there(target: str) -> None:
    """Where the kernel changes no activity, the number of the cell and its bits are plain loads in C and CUDA."""
    x, n = ti.field(ti.f32), 64
    block = ti.root.pointer(ti.ij, (2, 4)).bitmasked(ti.ij, (32, 16))
    block.place(x)

    @ti.kernel
    def fill():
        for i, j in ti.ndrange(n, n):
            if (i * 7 + j * 13) % 5 == 0 and j < 40:
                x[i, j] = i + j * 0.5

    @ti.kernel
    def double():
        for i, j in x:
            x[i, j] = 2.0 * x[i, j] + 1.0

    @ti.kernel
    def spread():
        for i, j in x:
            if i + 1 < n:
                x[i + 1, j] = -1.0

    fill()
    double()
    i, j = np.mgrid[:n, :n]
    active = ((i * 7 + j * 13) % 5 == 0) & (j < 40)
    assert np.array_equal(x.to_numpy(), np.where(active, 2 * (i + j * 0.5) + 1, 0).astype(np.float32))
    for arch in (ti.cpu, ti.cuda):
        source = double.source(arch=arch)
        assert "x_bits_is_active_in(x_block, i, j)" in source and "fixed_bit_is_set(" in source
        assert "x_block_number(cell / 4, cell % 4)" in source and "restrict" in source.split("x_data;")[0]
        assert "omp simd" not in source
        assert "fixed_bit_is_set(" not in spread.source(arch=arch)
    assert "x_bits_is_active_in(x_block, i, j)" in double.source(arch=ti.vulkan)


def test_iterations_that_look_cells_up_are_no_lanes() -> None:
    """Vectors of elements whose cells are found one by one take gcc longer."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 16).place(x, y)

    @ti.kernel
    def smooth():
        for i in x:
            if i > 0:
                y[i] = x[i - 1] + x[i]

    @ti.kernel
    def scale():
        for i in x:
            y[i] = x[i] * 2.0

    assert "omp simd" not in smooth.source(arch=ti.cpu) and "omp simd" in scale.source(arch=ti.cpu)

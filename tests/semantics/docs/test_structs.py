"""What Taichi's pages on structs teach: struct types, `ti.dataclass` and its methods, fields of structs."""

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm

vec3 = tm.vec3
sphere_type = ti.types.struct(center=vec3, radius=ti.f32)
ray_type = ti.types.struct(origin=vec3, direction=vec3, depth=ti.i32)
scene_type = ti.types.struct(first=sphere_type, count=ti.i32)


@ti.dataclass
class Ball:
    """A ball with functions of its own."""

    center: vec3
    radius: ti.f32

    @ti.func
    def area(self):
        return 4 * self.radius * self.radius

    @ti.func
    def is_inside(self, point):
        return (point - self.center).norm() < self.radius

    @ti.func
    def grow(self, by):
        self.radius += by

    @ti.func
    def grown(self, by):
        bigger = self
        bigger.grow(by)
        return bigger


@ti.dataclass
class Pair:
    """Structs in a struct."""

    first: Ball
    second: Ball
    weight: ti.f64


# --- in Python --------------------------------------------------------------------------------------------------------


def test_struct_types_make_structs(target: str) -> None:
    sphere = sphere_type(center=vec3(1, 2, 3), radius=2)
    assert sphere.radius == 2 and sphere.center.to_list() == [1, 2, 3]
    sphere.radius = 5.5
    sphere.center[1] = 7
    assert sphere.radius == 5.5 and sphere.center.y == 7


def test_members_left_out_are_zero(target: str) -> None:
    assert sphere_type(radius=1).center.to_list() == [0, 0, 0] and Ball().radius == 0
    assert Ball(radius=3).radius == 3 and Pair().second.center.to_list() == [0, 0, 0]


def test_members_by_position(target: str) -> None:
    ball = Ball(vec3(1), 2.0)
    assert ball.center.x == 1 and ball.radius == 2


# --- in kernels -------------------------------------------------------------------------------------------------------


def test_structs_in_kernels(target: str) -> None:
    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        sphere = sphere_type(center=vec3(x, 0, 1), radius=2)
        ray = ray_type(vec3(0), sphere.center * 2, 3)
        sphere.radius += ray.direction.x
        sphere.center.y = 5
        return sphere.radius * 100 + sphere.center.sum() * 10 + ray.depth

    assert run(1.0) == 400 + 70 + 3


def test_assignment_copies(target: str) -> None:
    @ti.kernel
    def run() -> (ti.f32, ti.f32):
        a = sphere_type(radius=1)
        b = a
        b.radius = 7
        b.center.x = 3
        return a.radius + a.center.x, b.radius + b.center.x

    assert tuple(run()) == (1, 10)


def test_nested_structs(target: str) -> None:
    @ti.kernel
    def run() -> ti.f32:
        scene = scene_type(first=sphere_type(center=vec3(1), radius=2), count=3)
        scene.first.center.z += scene.count
        sphere = scene.first
        return sphere.center.z * 10 + scene.first.radius

    assert run() == 42


def test_structs_are_arguments_and_results(target: str) -> None:
    @ti.kernel
    def move(sphere: sphere_type, by: vec3) -> sphere_type:
        return sphere_type(center=sphere.center + by, radius=sphere.radius * 2)

    moved = move(sphere_type(center=vec3(1, 2, 3), radius=0.5), vec3(1, 0, -1))
    assert moved.center.to_list() == [2, 2, 2] and moved.radius == 1.0


def test_structs_go_through_functions(target: str) -> None:
    @ti.func
    def reflect(ray: ray_type) -> ray_type:
        ray.direction = -ray.direction
        ray.depth += 1
        return ray

    @ti.func
    def advance(ray: ti.template(), t):
        ray.origin += ray.direction * t

    @ti.kernel
    def run() -> ray_type:
        ray = ray_type(origin=vec3(0), direction=vec3(1, 0, 0), depth=0)
        back = reflect(ray)
        advance(ray, 2)
        return ray_type(ray.origin, back.direction, back.depth)

    ray = run()
    assert (ray.origin.to_list(), ray.direction.to_list(), ray.depth) == ([2, 0, 0], [-1, 0, 0], 1)


# --- dataclasses ------------------------------------------------------------------------------------------------------


def test_methods_of_dataclasses(target: str) -> None:
    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        ball = Ball(center=vec3(x), radius=2)
        found = ball.area()
        if ball.is_inside(vec3(x, x, x + 1)):
            found += 100
        if ball.is_inside(vec3(x, x, x + 3)):
            found += 1000
        return found

    assert run(1.0) == 116


def test_methods_change_their_struct(target: str) -> None:
    @ti.kernel
    def run() -> (ti.f32, ti.f32):
        ball = Ball(vec3(0), 1)
        ball.grow(0.5)
        bigger = ball.grown(10)
        return ball.radius, bigger.radius

    assert tuple(run()) == (1.5, 11.5)


def test_methods_of_members(target: str) -> None:
    @ti.kernel
    def run() -> ti.f32:
        pair = Pair(first=Ball(vec3(0), 1), second=Ball(vec3(1), 2), weight=0.5)
        pair.first.grow(1)
        return pair.first.area() + pair.second.area() * pair.weight

    assert run() == 16 + 8


def test_dataclasses_are_arguments_and_results(target: str) -> None:
    @ti.kernel
    def run(pair: Pair, by: ti.f32) -> Ball:
        ball = pair.second
        ball.grow(by)
        return ball

    ball = run(Pair(second=Ball(vec3(1, 2, 3), 4)), 0.25)
    assert ball.radius == 4.25 and ball.center.to_list() == [1, 2, 3]


def test_dataclasses_chosen_at_compile_time(target: str) -> None:
    @ti.dataclass
    class Box:
        size: vec3

        @ti.func
        def area(self):
            return 2 * (self.size.x * self.size.y + self.size.y * self.size.z + self.size.z * self.size.x)

    @ti.kernel
    def total(kinds: ti.template()) -> ti.f32:
        found = 0.0
        for kind in ti.static(kinds):
            if ti.static(kind is Box):
                found += kind(vec3(1, 2, 3)).area()
            else:
                found += kind(radius=1).area()
        return found

    assert total((Ball, Box)) == 4 + 22


# --- fields -----------------------------------------------------------------------------------------------------------


def test_fields_of_structs(target: str) -> None:
    balls = Ball.field(shape=(4,))

    @ti.kernel
    def run():
        for i in balls:
            balls[i] = Ball(center=vec3(i), radius=i)
        for i in balls:
            balls[i].radius += 1
            balls[i].center.x *= 2
            balls[i].grow(balls[i].area() * 0)

    run()
    assert [balls[i].radius for i in range(4)] == [1, 2, 3, 4] and balls[3].center.to_list() == [6, 3, 3]
    found = balls.to_numpy()
    assert found["radius"].tolist() == [1, 2, 3, 4] and found["center"].shape == (4, 3)


def test_fields_of_structs_in_python(target: str) -> None:
    spheres = sphere_type.field(shape=(2, 2))
    spheres[0, 1].radius = 3
    spheres[1, 0].center = [1, 2, 3]
    spheres[1, 1] = sphere_type(center=vec3(4), radius=5)
    spheres.radius[0, 0] = 9
    assert spheres.shape == (2, 2)
    assert spheres[0, 1].radius == 3 and spheres[1, 0].center.to_list() == [1, 2, 3]
    assert spheres[1, 1].radius == 5 and spheres[0, 0].radius == 9
    spheres.radius.fill(2)
    assert spheres.radius.to_numpy().tolist() == [[2, 2], [2, 2]]


def test_struct_fields_made_member_by_member(target: str) -> None:
    particles = ti.Struct.field({"pos": vec3, "mass": ti.f32, "id": ti.i32}, shape=8)

    @ti.kernel
    def run() -> ti.f32:
        for i in particles:
            particles[i].pos = vec3(i, 0, 0)
            particles[i].mass = 0.5
            particles.id[i] = i * 10
        total = 0.0
        for i in particles:
            total += particles[i].pos.x * particles.mass[i] + particles[i].id
        return total

    assert run() == 14 + 280


def test_members_are_changed_atomically(target: str) -> None:
    spheres = sphere_type.field(shape=())

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            spheres[None].radius += 1
            spheres[None].center.y += i
            ti.atomic_max(spheres[None].center.z, i)

    run(100)
    assert spheres[None].radius == 100 and spheres[None].center.to_list() == [0, 4950, 99]


def test_structs_from_and_to_numpy(target: str) -> None:
    spheres = sphere_type.field(shape=3)
    given = {"center": np.arange(9, dtype=np.float32).reshape(3, 3), "radius": np.ones(3, np.float32)}
    spheres.from_numpy(given)
    found = spheres.to_numpy()
    assert np.array_equal(found["center"], given["center"]) and np.array_equal(found["radius"], given["radius"])


def test_structs_of_match(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.f32:
        ball = Ball(vec3(n), 2)
        found = 0.0
        match int(ball.radius), n:
            case 2, 0:
                found = ball.area()
            case _, k:
                found = ball.center.x * 10 + k
        return found

    assert [run(0), run(3)] == [16, 33]


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["ball.size", "ball + 1", "ball.area(1)", "Ball(weight=1)", "-ball"])
def test_what_structs_do_not_have(define_kernel, text: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    kernel = define_kernel(f"def run():\n    ball = Ball(vec3(0), 1)\n    x = {text}\n", Ball=Ball, vec3=vec3)
    with pytest.raises(ti.TaichiCompilationError) as caught:
        kernel()
    assert caught.value.location.line == 4 and "fault of shadesmith" not in str(caught.value)

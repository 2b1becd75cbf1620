"""What Taichi's page on `ti.math` teaches: vector types, swizzles, GLSL's functions, transforms, complex numbers."""

import cmath
import math

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm

# --- types and swizzles -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["vec2", "vec3", "vec4", "ivec2", "ivec3", "ivec4", "uvec2", "uvec3", "uvec4"])
def test_vector_types(target: str, name: str) -> None:
    kind, n = getattr(tm, name), int(name[-1])
    dtype = {"v": ti.f32, "i": ti.i32, "u": ti.u32}[name[0]]
    field = kind.field(shape=2)

    @ti.kernel
    def fill(x: ti.f32):
        field[0] = kind(x)
        field[1] = kind(*ti.static(range(n)))

    fill(2.5)
    assert field.dtype == dtype and field.n == n
    assert field.to_numpy().tolist() == [[2.5 if dtype is ti.f32 else 2] * n, list(range(n))]


def test_mat_types(target: str) -> None:
    @ti.kernel
    def make(x: ti.f32) -> tm.mat3:
        a = tm.mat2(1, 2, 3, 4)
        b = tm.mat4(0)
        return tm.mat3([a[0, 0], a[0, 1], x], [a[1, 0], a[1, 1], x], tm.vec3(b[3, 3]))

    assert make(9).to_list() == [[1, 2, 9], [3, 4, 9], [0, 0, 0]]


def test_vectors_are_made_of_parts(target: str) -> None:
    @ti.kernel
    def make(xy: tm.vec2) -> tm.vec4:
        xyz = tm.vec3(xy, 3)
        return tm.vec4(0, xyz.yz, xyz.x) + tm.vec4(xyz, 1) * 0

    assert make([1, 2]).to_list() == [0, 2, 3, 1]


def test_swizzles_are_read(target: str) -> None:
    @ti.kernel
    def read(v: tm.vec4) -> (tm.vec4, tm.vec2, ti.f32):
        return v.wzyx, v.rg + v.st, v.b * 10 + v.q

    a, b, c = read([1, 2, 3, 4])
    assert a.to_list() == [4, 3, 2, 1] and b.to_list() == [2, 4] and c == 34


def test_swizzles_are_written(target: str) -> None:
    @ti.kernel
    def write() -> tm.vec4:
        v = tm.vec4(1, 2, 3, 4)
        v.xy = v.yx
        v.rgb += 10
        v.w = 7
        v.zy = ti.Vector([0.5, 0.25])
        return v

    assert write().to_list() == [12, 0.25, 0.5, 7]


def test_swizzles_in_python() -> None:
    v = tm.vec3(1, 2, 3)
    v.rgb = v.bgr
    v.x += 1
    assert v.to_list() == [4, 2, 1] and v.xxy.to_list() == [4, 4, 2] and v.z == 1


def test_elements_that_a_vector_lacks_are_refused(target: str) -> None:
    @ti.kernel
    def read(v: tm.vec2) -> ti.f32:
        return v.z

    with pytest.raises((ti.TaichiCompilationError, AttributeError)):
        read([1, 2])


# --- functions --------------------------------------------------------------------------------------------------------


CLOSE = {"rel": 1e-5, "abs": 2e-4}
"""How near drivers come without `fast_math=False`; how near they must come is asked elsewhere."""


def _smoothstep(a: float, b: float, x: float) -> float:
    t = min(max((x - a) / (b - a), 0), 1)
    return t * t * (3 - 2 * t)


SCALAR = [
    ("acos(x)", math.acos), ("asin(x)", math.asin), ("atan2(x, 2)", lambda x: math.atan2(x, 2)),
    ("ceil(x * 3)", lambda x: math.ceil(x * 3)), ("clamp(x * 9 - 3, -1, 2)", lambda x: min(max(x * 9 - 3, -1), 2)),
    ("cos(x)", math.cos), ("degrees(x)", math.degrees), ("exp(x)", math.exp), ("floor(-x)", lambda x: -1),
    ("fract(x * 7)", lambda x: x * 7 % 1), ("fract(-x)", lambda x: -x % 1), ("log(x)", math.log),
    ("log2(x)", math.log2), ("max(x, 0.5, 0.1)", lambda x: max(x, 0.5)), ("min(x, 0.5)", lambda x: min(x, 0.5)),
    ("mix(1, 3, x)", lambda x: 1 + 2 * x), ("mod(-x, 0.5)", lambda x: -x % 0.5), ("pow(x, 1.5)", lambda x: x**1.5),
    ("radians(x)", math.radians), ("round(x * 4)", lambda x: round(x * 4)), ("sign(x - 0.6)", lambda x: -1 if x < 0.6 else 1),
    ("sign(x - x)", lambda x: 0), ("sin(x)", math.sin), ("smoothstep(0.2, 0.9, x)", lambda x: _smoothstep(0.2, 0.9, x)),
    ("sqrt(x)", math.sqrt), ("step(0.6, x)", lambda x: float(x >= 0.6)), ("tan(x)", math.tan), ("tanh(x)", math.tanh),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meaning"), SCALAR, ids=[text for text, _ in SCALAR])
def test_functions_of_scalars_and_of_vectors(target: str, define_kernel, text: str, meaning) -> None:
    scalar = define_kernel(f"def compute(x: ti.f32) -> ti.f32:\n    return tm.{text}\n", tm=tm)
    vector = define_kernel(f"def compute(x: tm.vec3) -> tm.vec3:\n    return tm.{text}\n", tm=tm)
    points = [0.25, 0.7, 0.9]
    expected = pytest.approx([meaning(x) for x in points], **CLOSE)
    assert [scalar(x) for x in points] == expected and vector(points).to_list() == expected


def test_functions_go_over_the_elements_of_vectors(target: str) -> None:
    @ti.kernel
    def compute(v: tm.vec3) -> (tm.vec3, tm.vec3, tm.vec3, tm.vec3):
        a = tm.mix(v, tm.vec3(1, 0, 0), 0.5)
        b = tm.clamp(v, 0.5, 2.5)
        c = tm.smoothstep(tm.vec3(0), tm.vec3(4), v)
        d = tm.fract(v * 0.25) + tm.sign(v - 2)
        return a, b, c, d

    a, b, c, d = (item.to_list() for item in compute([1, 2, 3]))
    assert a == [1, 1, 1.5] and b == [1, 2, 2.5] and d == [-0.75, 0.5, 1.75]
    assert c == [_smoothstep(0, 4, x) for x in (1, 2, 3)]


def test_geometry(target: str) -> None:
    @ti.kernel
    def compute(p: tm.vec3, q: tm.vec3) -> (ti.f32, ti.f32, ti.f32, tm.vec3, tm.vec3):
        return tm.length(p), tm.distance(p, q), tm.dot(p, q), tm.cross(p, q), tm.normalize(p)

    p, q = np.array([3.0, 4.0, 12.0]), np.array([1.0, -2.0, 0.5])
    length, distance, dot, cross, unit = compute(p.tolist(), q.tolist())
    assert length == pytest.approx(13, **CLOSE) and dot == p @ q and cross.to_list() == np.cross(p, q).tolist()
    assert distance == pytest.approx(np.linalg.norm(p - q), **CLOSE)
    assert unit.to_list() == pytest.approx((p / 13).tolist(), **CLOSE)


def test_reflect_and_refract(target: str) -> None:
    @ti.kernel
    def compute(i: tm.vec2, n: tm.vec2, eta: ti.f32) -> (tm.vec2, tm.vec2):
        return tm.reflect(i, n), tm.refract(i, n, eta)

    def refract(i: np.ndarray, n: np.ndarray, eta: float) -> np.ndarray:
        k = 1 - eta * eta * (1 - (n @ i) ** 2)
        return np.zeros(2) if k < 0 else eta * i - (eta * (n @ i) + math.sqrt(k)) * n

    i, n = np.array([0.6, -0.8]), np.array([0.0, 1.0])
    for eta in (0.75, 1.0, 2.5):
        reflected, refracted = compute(i.tolist(), n.tolist(), eta)
        assert reflected.to_list() == pytest.approx([0.6, 0.8], **CLOSE)
        assert refracted.to_list() == pytest.approx(refract(i, n, eta).tolist(), **CLOSE)


def test_constants(target: str) -> None:
    @ti.kernel
    def compute() -> (ti.f32, ti.f32, ti.f32):
        return tm.pi, tm.e, tm.inf

    assert tuple(compute()) == (np.float32(math.pi), np.float32(math.e), math.inf)
    assert math.isnan(tm.nan)


def test_nan_and_infinity_are_found(target: str) -> None:
    x = ti.field(ti.f32, 4)
    found = ti.field(ti.i32, (4, 2))

    @ti.kernel
    def ask():
        for i in x:
            found[i, 0] = tm.isnan(x[i])
            found[i, 1] = tm.isinf(x[i])

    x.from_numpy(np.array([1, math.nan, math.inf, -math.inf], np.float32))
    ask()
    assert found.to_numpy().tolist() == [[0, 0], [1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize("value", [0, 1, 2, 0b1011_0000, 2**31 - 1, -1, -(2**31)])
def test_counting_bits(target: str, value: int) -> None:
    @ti.kernel
    def count(n: ti.i32) -> (ti.i32, ti.i32):
        return tm.popcnt(n), tm.clz(n)

    bits = f"{value & 0xFFFFFFFF:032b}"
    assert tuple(count(value)) == (bits.count("1"), len(bits) - len(bits.lstrip("0")))


def test_inverse_determinant_and_eye(target: str) -> None:
    @ti.kernel
    def compute() -> (ti.f32, ti.f32):
        m = tm.mat3([2, 0, 0], [0, 4, 1], [0, 0, 1])
        return tm.determinant(m), (tm.inverse(m) @ m - tm.eye(3)).norm()

    determinant, rest = compute()
    assert determinant == pytest.approx(8) and rest < 1e-5


# --- transforms -------------------------------------------------------------------------------------------------------


def _rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis / np.linalg.norm(axis)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    made = np.eye(4)
    made[:3, :3] = np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * (k @ k)
    return made


def test_translate_and_scale(target: str) -> None:
    @ti.kernel
    def compute(p: tm.vec4) -> tm.vec4:
        return tm.translate(1, 2, 3) @ (tm.scale(2, 3, 4) @ p)

    assert compute([1, 1, 1, 1]).to_list() == [3, 5, 7, 1]


def test_rotations(target: str) -> None:
    @ti.kernel
    def flat(angle: ti.f32) -> tm.vec2:
        return tm.rotation2d(angle) @ tm.vec2(1, 0)

    @ti.kernel
    def around(axis: tm.vec3, angle: ti.f32) -> tm.mat4:
        return tm.rot_by_axis(axis, angle)

    @ti.kernel
    def euler(yaw: ti.f32, pitch: ti.f32, roll: ti.f32) -> (tm.mat4, tm.mat4):
        return tm.rot_yaw_pitch_roll(yaw, pitch, roll), tm.rotation3d(yaw, pitch, roll)

    angle = 0.5
    assert flat(angle).to_list() == pytest.approx([math.cos(angle), math.sin(angle)], **CLOSE)
    made = np.array(around([1, 2, 3], angle).to_list())
    assert np.allclose(made, _rotation(np.array([1.0, 2, 3]), -angle), atol=2e-4)  # clockwise, as measured
    for matrix in euler(0.1, 0.2, 0.3):
        found = np.array(matrix.to_list())
        assert np.allclose(found @ found.T, np.eye(len(found)), atol=2e-4) and np.linalg.det(found) > 0.99


# --- complex numbers --------------------------------------------------------------------------------------------------

COMPLEX = [
    ("cconj(z)", lambda z: z.conjugate()), ("cmul(z, w)", lambda z: z * (0.5 - 2j)), ("csqrt(z)", cmath.sqrt),
    ("cdiv(z, w)", lambda z: z / (0.5 - 2j)), ("cinv(z)", lambda z: 1 / z), ("cpow(z, 3)", lambda z: z**3),
    ("cexp(z)", cmath.exp), ("clog(z)", cmath.log),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meaning"), COMPLEX, ids=[text for text, _ in COMPLEX])
def test_complex_numbers(target: str, define_kernel, text: str, meaning) -> None:
    source = f"def compute(z: tm.vec2) -> tm.vec2:\n    w = tm.vec2(0.5, -2)\n    return tm.{text} + w * 0\n"
    kernel = define_kernel(source, tm=tm)
    for z in (1 + 2j, 0.5 - 1j, 3 + 0.25j):
        expected = meaning(z)
        assert kernel([z.real, z.imag]).to_list() == pytest.approx([expected.real, expected.imag], **CLOSE)


def test_names_of_the_module() -> None:
    names = """acos asin atan2 cconj cdiv ceil cexp cinv clamp clog clz cmul cos cpow cross csqrt degrees determinant
    distance dot e exp eye floor fract inf inverse isinf isnan ivec2 ivec3 ivec4 length log log2 mat2 mat3 mat4 max min
    mix mod nan normalize pi popcnt pow radians reflect refract rot_by_axis rot_yaw_pitch_roll rotation2d rotation3d
    round scale sign sin smoothstep sqrt step tan tanh translate uvec2 uvec3 uvec4 vdir vec2 vec3 vec4""".split()
    assert [name for name in names if not hasattr(ti.math, name)] == []

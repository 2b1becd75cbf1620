"""Record what Taichi 1.7.4 gives for the methods, operators, slices and swizzles of vectors and matrices, and `ti.math`.

usage: PYTHON_WITH_TAICHI record_matrices.py matrix_ops.json
Each row: {"code": statements that set `r`, "kernel": [type, shape, values] or ["error", text], "python": the same}.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import taichi as ti
import taichi.math as tm

ARGUMENTS = {
    "v": ("tm.vec3", [1.5, -2.0, 3.0]),
    "w": ("tm.vec3", [0.5, 4.0, -1.0]),
    "p": ("tm.vec2", [0.6, -0.8]),
    "q": ("tm.vec4", [1.0, 2.0, 3.0, 4.0]),
    "a": ("tm.ivec3", [7, -3, 2]),
    "b": ("tm.ivec3", [2, 5, 3]),
    "m": ("tm.mat3", [[2.0, -1.0, 0.5], [1.0, 3.0, -2.0], [0.25, 1.0, 4.0]]),
    "n": ("ti.types.matrix(2, 3, float)", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]),
    "g": ("ti.types.matrix(2, 2, int)", [[3, 1], [-2, 4]]),
    "f": ("tm.mat4", [[4.0, 1.0, 0.0, 2.0], [0.5, 3.0, 1.0, 0.0], [1.0, 0.0, 5.0, 1.0], [0.0, 2.0, 1.0, 6.0]]),
    "x": ("float", 2.5),
    "h": ("int", 3),
    "i": ("int", 1),
}
OPERATORS = ("+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=")
BITS = ("&", "|", "^", "<<", ">>")
PAIRS = (
    "v, w",
    "v, x",
    "x, v",
    "v, h",
    "a, b",
    "a, h",
    "h, a",
    "a, v",
    "m, m",
    "m, x",
    "h, g",
    "n, n",
    "v, 2",
    "2.0, v",
    "a, 2",
)
METHODS = """
v.norm() v.norm(0.25) v.norm_sqr() v.norm_inv() v.norm_inv(0.25) v.normalized() v.normalized(0.5) a.norm() a.norm_sqr()
m.norm() m.norm_sqr() m.norm_inv() v.dot(w) a.dot(b) a.dot(v) v.cross(w) a.cross(b) p.cross(p.yx) v.outer_product(w)
v.outer_product(p) a.outer_product(b) m.transpose() n.transpose() g.transpose() m.trace() g.trace() m.determinant()
g.determinant() f.determinant() m.inverse() g.inverse() f.inverse() v.sum() a.sum() m.sum() n.sum() (v>0).sum() v.max()
v.min() a.max() m.max() m.min() n.min() v.any() v.all() (v>0).any() (v>0).all() (a>0).any() m.all() (a==b).all() m.any()
v.cast(int) v.cast(ti.i32) a.cast(float) a.cast(ti.f32) m.cast(int) (v>0).cast(int) v.to_list() m.to_list() v.get_shape()
n.get_shape() v.n v.m n.n n.m v.ndim m.ndim len(v) len(m)
ti.Matrix.zero(ti.f32,2,3) ti.Matrix.zero(ti.i32,3) ti.Matrix.one(ti.f32,3) ti.Matrix.one(int,2,2) ti.Vector.zero(ti.i32,3)
ti.Vector.one(float,2) ti.Vector.unit(3,1) ti.Vector.unit(3,1,ti.f32) ti.Matrix.unit(3,0) ti.Matrix.identity(ti.f32,3)
ti.Matrix.identity(int,2) ti.Matrix.diag(2,x) ti.Matrix.diag(3,h) ti.Matrix.rows([v,w]) ti.Matrix.cols([v,w]) ti.Matrix.rows([a,v])
ti.Matrix.rows([v,[1.0,2.0,3.0]]) ti.Matrix([v,w]) ti.Matrix([[h,x],[1,2]]) ti.Matrix([[1,2],[3,4]],ti.f32) ti.Vector([h,x,1])
ti.Vector([h,x],ti.i32) ti.Matrix([[1.0]*3]*2) ti.Vector([1]*3) ti.zero(v) ti.one(v) ti.zero(g) ti.one(m)
tm.vec3(x) tm.vec3(1) tm.vec3(p,x) tm.vec3(x,p) tm.vec4(p,p) tm.vec4(v,1) tm.vec4(1,2,3,4) tm.ivec3(v) tm.ivec2(2.7,-2.7)
tm.uvec2(1,2) tm.vec2(h,x) tm.mat2(1,2,3,4) tm.mat2(p,p) tm.mat3(x) tm.mat2(q) tm.mat3(v,w,v) ti.types.matrix(2,3,int)(1,2,3,4,5,6)
ti.types.matrix(2,3,float)([[1,2,3],[4,5,6]]) ti.types.vector(3,int)(v) ti.types.vector(5,float)(v,p) ti.types.vector(2,float)([1,2])
m@m m@v n@m n@v n.transpose()@n g@g g@ti.Vector([1,2]) m@ti.Matrix.cols([v,w]) v@w f@q a@b
-v +v ~a -m abs(v) abs(a) ti.abs(m) min(v,w) max(v,w) min(v,0) max(v,0.0,w) ti.min(a,b) ti.max(a,1) v**2 v**2.0 a**2 x**v v**w 2**a
ti.select(v>0,v,w) ti.select(a>b,a,b) ti.select(h>2,v,w) ti.select(v>0,1,0) ti.select(v>0,1.0,0.0) ti.select(m>0,m,0.0)
ti.atan2(v,w) ti.raw_div(a,b) ti.raw_mod(a,b) ti.floor(v) ti.ceil(v) ti.round(v) ti.floor(v,int) ti.sin(v) ti.cos(m) ti.sqrt(abs(v))
ti.exp(v) ti.log(abs(v)) ti.tanh(v) ti.rsqrt(abs(v)) ti.pow(abs(v),w) ti.cast(v,int) ti.cast(a,ti.f32) ti.bit_cast(v,ti.i32)
v.x v.y v.z v.r v.g v.b v.s v.t v.p q.w q.a q.q v.xy v.zyx v.xxx v.xxyy v.rgb v.bgr v.stp q.wzyx q.rgba q.stpq p.yx a.xy v.xz.yx
v[0] v[i] v[h-1] m[0,1] m[i,i] m[i,2] m[h-1,0] n[i,h-1] v[0:2] v[1:3] v[1:] v[:2] v[:] v[::2] v[::-1] v[2:0:-1]
m[0,:] m[:,1] m[1,0:2] m[0:2,1] m[0:2,0:2] m[:,:] m[::2,1] m[i,:] m[:,i] m[0:2,i] n[:,2] n[1,:] n[0,::2] m[1:,1:] a[0:2] v[-1] m[-1,0]
tm.acos(p) tm.asin(p) tm.atan2(v,w) tm.ceil(v) tm.clamp(v,0,1) tm.clamp(v,p.x,2.0) tm.clamp(a,0,5) tm.clamp(h,0,1) tm.clamp(x,0.0,1.0)
tm.clz(h) tm.clz(a) tm.cos(v) tm.cross(v,w) tm.degrees(x) tm.degrees(v) tm.determinant(m) tm.determinant(f) tm.distance(v,w)
tm.dot(v,w) tm.e tm.pi tm.exp(v) tm.eye(3) tm.floor(v) tm.fract(v) tm.fract(x) tm.inf tm.inverse(m) tm.isinf(v) tm.isinf(x) tm.isnan(v)
tm.isnan(x) tm.length(v) tm.log(abs(v)) tm.log2(x) tm.log2(abs(v)) tm.max(v,w) tm.min(v,w) tm.mix(v,w,0.25) tm.mix(v,w,v) tm.mix(x,1.0,0.5)
tm.mix(h,5,0.5) tm.mod(v,w) tm.mod(x,2.0) tm.mod(h,2) tm.mod(a,b) tm.normalize(v) tm.popcnt(h) tm.popcnt(a) tm.pow(abs(v),w) tm.pow(x,2)
tm.radians(x) tm.radians(v) tm.reflect(v,w) tm.refract(p,p.yx,0.5) tm.rot_by_axis(v,x) tm.rot_yaw_pitch_roll(x,1.0,0.5)
tm.rotation2d(x) tm.rotation3d(x,1.0,0.5) tm.round(v) tm.scale(1.0,x,3.0) tm.sign(v) tm.sign(x) tm.sign(a) tm.sign(h) tm.sin(v)
tm.smoothstep(0.0,4.0,x) tm.smoothstep(0.0,4.0,v) tm.smoothstep(v,w,x) tm.sqrt(abs(v)) tm.step(1.0,x) tm.step(1.0,v) tm.step(v,w) tm.tan(v)
tm.tanh(v) tm.translate(1.0,x,3.0) tm.vdir(x) tm.cmul(p,p.yx) tm.cconj(p) tm.cdiv(p,p.yx) tm.cinv(p) tm.csqrt(p) tm.cpow(p,3) tm.cpow(p,0.5)
tm.cexp(p) tm.clog(p) tm.vec2(p) tm.vec4(q.xyz,x)
""".split()
STATEMENTS = [
    "r = ti.Vector([k * h for k in range(4)])",
    "r = ti.Matrix([[k * x + l for l in range(3)] for k in range(2)])",
    "r = ti.Vector([k for k in range(6) if k % 2])",
    "r = v + 0.0; r.x = 9.0",
    "r = v + 0.0; r.xy = w.yz",
    "r = v + 0.0; r.zyx = w",
    "r = q + 0.0; r.rgb = v",
    "r = q + 0.0; r.ts = p",
    "r = v + 0.0; r.xy = 1.0",
    "r = v + 0.0; r.xz += p",
    "r = v + 0.0; r.z *= 2",
    "r = v + 0.0; r[0] = 5",
    "r = v + 0.0; r[i] = 5",
    "r = v + 0.0; r[i] += 5",
    "r = m + 0.0; r[i, h - 1] = 5",
    "r = m + 0.0; r[0, 1] = x; r[2, 2] -= 1",
    "r = m + 0.0; r[0, :] = w",
    "r = m + 0.0; r[:, 1] = w",
    "r = v + 0.0; r[0:2] = p",
    "r = v + 0.0; r[::2] = p",
    "r = v + 0.0; r[1:] = 7.0",
    "r = m + 0.0; r[0:2, 1:] = g",
    "r = m + 0.0; r[i, :] = w",
    "r = m + 0.0; r[:, :] = 1.0",
    "r = v + 0.0; r[0:2] += p",
    "r = m + 0.0; r[1, :] *= 2.0",
    "r = v + 0.0; r.fill(4)",
    "r = m + 0.0; r.fill(x)",
    "r = a + 0; r += 1.9",
    "r = a + 0; r *= 2.5",
    "r = v + 0.0; r += w",
    "r = v + 0.0; r -= 1",
    "r = v + 0.0; r /= w",
    "r = m + 0.0; r @= m",
    "r = a + 0; r //= 2",
    "r = a + 0; r %= 4",
    "r = a + 0; r &= 6",
    "r = a + 0; r |= b",
    "r = a + 0; r ^= b",
    "r = a + 0; r <<= 1",
    "r = a + 0; r >>= 1",
    "r = v + 0.0; r **= 2",
    "c, d, e_ = v; r = c + d * 10 + e_ * 100",
    "r = 0.0; r = v.x if v.y > 0 else v.z",
    "r = v if x > 1 else w",
    "r = v > 0 and w > 0",
    "r = v > 0 or w > 0",
    "r = not (v > 0)",
    "r = (v > 0) & (w > 0)",
    "r = v < w < 5.0",
]


def cases():
    found = [f"r = {text}" for text in METHODS]
    for pair in PAIRS:
        left, right = pair.split(", ")
        found += [f"r = {left} {operator} {right}" for operator in OPERATORS]
    for pair in ("a, b", "a, 2", "2, a", "g, g"):
        left, right = pair.split(", ")
        found += [f"r = {left} {operator} {right}" for operator in BITS]
    return list(dict.fromkeys(found + STATEMENTS))


SEEN = []


def note(value):
    """Remember what a value of a kernel is; return the index tuples of its elements."""
    if isinstance(value, ti.lang.expr.Expr):
        kind = value.ptr.get_rvalue_type().to_string()
        shape = list(value.get_shape()) if "Tensor" in kind else []
        SEEN[:] = [kind.split()[-1].rstrip("]"), shape]
    elif isinstance(value, (list, tuple)):
        SEEN[:] = ["list", list(np.shape(value))]
    else:
        SEEN[:] = [type(value).__name__, []]
    return


def write(code, number, folder):
    """Return a kernel that runs `code`, notes what `r` is, and stores it, if the shape is given."""
    arguments = ", ".join(f"{name}: {kind}" for name, (kind, _) in ARGUMENTS.items())
    body = "\n".join(f"        {line.strip()}" for line in code.split(";"))

    def build(store):
        lines = ["import taichi as ti", "import taichi.math as tm", "from __main__ import note", "@ti.kernel"]
        lines += [f"def k({arguments}, out: ti.types.ndarray()):", "    for _ in range(1):", body]
        lines += ["        ti.static(note(r))", *store]
        path = Path(folder) / f"case_{number}_{len(store)}.py"
        path.write_text("\n".join(lines) + "\n")
        space = {"__name__": path.stem}
        exec(compile(path.read_text(), str(path), "exec"), space)
        return space["k"]

    return build


def arguments():
    """Return the arguments as Taichi's values."""
    return {
        name: value if kind in ("float", "int") else ti.Matrix(value) if name in "mngf" else ti.Vector(value)
        for name, (kind, value) in ARGUMENTS.items()
    }


def brief(error):
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return ["error", f"{type(error).__name__}: {lines[-1] if lines else ''}"[:150]]


def in_kernel(code, number, folder):
    values = list(arguments().values())
    build = write(code, number, folder)
    out = np.zeros(64)
    try:
        build([])(*values, out)
        kind, shape = SEEN
        positions = list(np.ndindex(*shape)) if shape else [()]
        texts = []
        for k, position in enumerate(positions):
            index = "".join(f"[{i}]" for i in position) if kind == "list" else f"[{', '.join(map(str, position))}]"
            texts.append(f"        out[{k}] = ti.cast(r{index if position else ''}, ti.f64)")
        build(texts)(*values, out)
        ti.sync()
    except Exception as error:  # noqa: BLE001
        return brief(error)
    return [kind, shape, [float(value) for value in out[: len(positions)]]]


def in_python(code):
    space = {"ti": ti, "tm": tm, "np": np, **arguments()}
    try:
        exec("\n".join(line.strip() for line in code.split(";")), space)
        r = space["r"]
        array = np.array(r.to_numpy() if hasattr(r, "to_numpy") else r)
        return [array.dtype.kind, list(array.shape), [float(value) for value in array.ravel()]]
    except Exception as error:  # noqa: BLE001
        return brief(error)


def main():
    ti.init(arch=ti.cpu, log_level=ti.ERROR, offline_cache=False, fast_math=False)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, code in enumerate(cases()):
            rows.append({"code": code, "kernel": in_kernel(code, number, folder), "python": in_python(code)})
    Path(sys.argv[1]).write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


main()

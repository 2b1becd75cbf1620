import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
rows = ti.field(ti.f32, (8, 4))


def proven(a: ti.types.ndarray(dtype=ti.f32, ndim=1), value: ti.f32):
    for i in range(32):
        v = ti.Vector([value, 2 * value, 3 * value])
        rows[i // 4, i % 4] += v[i % 3]
        rows[i // 4 + 1, 0] = value
    for k in range(a.shape[0]):
        a[k] += a[(k + 1) % a.shape[0]] + a[max(k - 1, 0)]


kernel, arguments = proven, ((ti.f32, 1), ti.f32)
options = {"debug": True, "check_out_of_bound": True, "check_overflow": True}

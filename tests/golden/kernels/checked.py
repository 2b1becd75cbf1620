import shadesmith as ti


def checked(a: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.i32, k: ti.u32):
    first = a[n, n + 1]
    for i in range(n):
        v = ti.Vector([1, 2, i])
        a[i, v[i]] += first
        a[0, k] = v.sum() + n
        assert a[i, 0] >= 0, f"a[{i}, 0] is {a[i, 0]}"


kernel, arguments = checked, ((ti.f32, 2), ti.i32, ti.u32)
options = {"debug": True, "check_out_of_bound": True, "check_overflow": True}

import taichi as ti
import numpy as np
ti.init(arch=ti.cpu)
n = 30
K = ti.linalg.SparseMatrixBuilder(n, n, max_num_triplets=400, dtype=ti.f64)
f = ti.linalg.SparseMatrixBuilder(n, 1, max_num_triplets=100, dtype=ti.f64)
M = ti.linalg.SparseMatrixBuilder(n, n, max_num_triplets=100, dtype=ti.f64)

@ti.kernel
def beam(K: ti.types.sparse_matrix_builder(), M: ti.types.sparse_matrix_builder(), F: ti.types.sparse_matrix_builder(), k: ti.f64):
    for e in range(n - 1):
        for a, b in ti.static(ti.ndrange(2, 2)):
            K[e + a, e + b] += k * (1.0 if ti.static(a == b) else -1.0)
    K[0, 0] += 1e3
    for i in range(n):
        M[i, i] += 0.1 * (i + 1)
        if i > n // 2:
            F[i, 0] += 0.5
            F[i, 0] -= 0.25

beam(K, M, f, 12.5)
A, Ms, F = K.build(), M.build(), f.build()
print(A.shape, F.shape, A[0, 0], A[0, 1], A[3, 9], F[20, 0])
B = ti.linalg.SparseMatrix(n, n, dtype=ti.f64)
B += A
B += Ms
Ct = (B @ Ms).transpose() - A
print(round(Ct[3, 4], 6), round(Ct[4, 3], 6), round((B * Ms)[5, 5], 6))
rhs = np.array([F[i, 0] for i in range(n)])
for kind in ("LLT", "LDLT", "LU"):
    for order in ("AMD", "COLAMD"):
        sol = ti.linalg.SparseSolver(dtype=ti.f64, solver_type=kind, ordering=order)
        sol.analyze_pattern(B)
        sol.factorize(B)
        x = sol.solve(rhs)
        print(kind, order, sol.info(), np.round(x[[0, 7, 15, 29]], 9), np.abs(B @ x - rhs).max() < 1e-12)
cg = ti.linalg.SparseCG(B, rhs, x0=np.zeros(n), max_iter=500, atol=1e-12)
x, ok = cg.solve()
print(ok, np.round(x[[0, 7, 15, 29]], 7))
xf = ti.field(ti.f64, n)
bf = ti.field(ti.f64, n)
bf.from_numpy(rhs)

@ti.kernel
def mul(v: ti.template(), mv: ti.template()):
    for i in v:
        l = v[i - 1] if i > 0 else 0.0
        r = v[i + 1] if i < n - 1 else 0.0
        mv[i] = 30.0 * v[i] - l - r

op = ti.linalg.LinearOperator(mul)
ti.linalg.MatrixFreeCG(op, bf, xf, maxiter=200, tol=1e-10, quiet=True)
print(np.round(xf.to_numpy()[[0, 7, 15, 29]], 8))
S = ti.linalg.SparseMatrix(n=4, m=4, dtype=ti.f32)
tr = ti.Vector.ndarray(n=3, dtype=ti.f32, shape=5)
tr.from_numpy(np.array([[0, 0, 1], [1, 1, 2], [2, 2, 3], [3, 3, 4], [0, 3, -1]], dtype=np.float32))
S.build_from_ndarray(tr)
print(S)
print(S @ np.array([1, 2, 3, 4], dtype=np.float32))
Q = ti.linalg.SparseMatrixBuilder(3, 3, max_num_triplets=9)
@ti.kernel
def eye(q: ti.types.sparse_matrix_builder()):
    for i in range(3):
        q[i, i] += 2
eye(Q)
print(Q.build())

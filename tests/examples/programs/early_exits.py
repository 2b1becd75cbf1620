import taichi as ti
ti.init(arch=ti.cpu)
N = 300
prime = ti.field(ti.i32, N)
steps = ti.field(ti.i32, N)
found = ti.field(ti.i32, (4,))
mat = ti.field(ti.i32, (8, 8))

@ti.func
def is_prime(n):
    r = 1
    if n < 2:
        r = 0
    else:
        k = 2
        while k * k <= n:
            if n % k == 0:
                r = 0
                break
            k += 1
    return r

@ti.func
def collatz(n: ti.i32) -> ti.i32:
    c = 0
    while True:
        if n == 1:
            break
        if n % 2 == 0:
            n = n // 2
            c += 1
            continue
        n = 3 * n + 1
        c += 1
        if c > 200:
            break
    return c

@ti.kernel
def run():
    for i in range(N):
        prime[i] = is_prime(i)
        if i == 0:
            continue
        steps[i] = collatz(i)

@ti.kernel
def nested() -> ti.i32:
    total = 0
    for _ in range(1):
        for i in range(20):
            if i % 3 == 0:
                continue
            for j in range(20):
                if j > i:
                    break
                if (i + j) % 4 == 1:
                    continue
                for k in ti.static(range(3)):
                    if ti.static(k != 1):
                        total += i * j + k
            if i == 15:
                break
    return total

@ti.kernel
def search(v: ti.i32) -> ti.i32:
    r = -1
    ti.loop_config(serialize=True)
    for i in range(N):
        if steps[i] == v:
            r = i
            break
    return r

@ti.kernel
def fill():
    for i, j in ti.ndrange(8, (2, 6)):
        if (i ^ j) & 1:
            continue
        mat[i, j] = i * 10 + j
    for I in ti.grouped(ti.ndrange((1, 3), (0, 2))):
        mat[I] += 1000 + I.sum()

run()
print(prime.to_numpy().sum(), steps.to_numpy()[:30], steps.to_numpy().max())
print(nested(), [search(v) for v in (0, 5, 7, 27, 111, 500)])
fill()
print(mat.to_numpy())

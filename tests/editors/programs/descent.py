"""An optimisation: fields with gradients, a tape, static loops, captured numbers."""

import shadesmith as ti

ti.init(arch=ti.cpu)

ORDER = 3
x = ti.field(ti.f32, shape=16, needs_grad=True)
loss = ti.field(ti.f32, shape=(), needs_grad=True)


@ti.kernel
def energy() -> None:
    for i in x:
        term = 0.0
        for k in ti.static(range(ORDER)):
            term += (x[i] - k) ** 2
        loss[None] += term / ORDER


@ti.kernel
def descend(rate: float) -> None:
    for i in x:
        x[i] -= rate * x.grad[i]


def main() -> None:
    x.fill(5.0)
    for _ in range(40):
        with ti.ad.Tape(loss=loss):
            energy()
        descend(0.2)
    gradient: str = energy.grad.source()
    print(float(loss[None]), x[0], len(gradient))


if __name__ == "__main__":
    main()

"""How commands find a kernel and its arguments: annotations, `--args`, or a launch of the program."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

import shadesmith as ti
from shadesmith.runtime.commands.programs import find_call, find_calls, kernels_in
from shadesmith.runtime.commands.screen import CommandError

LIBRARY = """
    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32):
        for i in x:
            x[i] *= factor
"""
PROGRAM = """
    import sys

    @ti.kernel
    def fill(x: ti.template(), value: ti.i32):
        for i in x:
            x[i] = value

    @ti.kernel
    def other(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] = 1

    def main():
        print("runs", *sys.argv[1:])
        ti.init(arch=ti.cpu, log_level="warn")
        x = ti.field(ti.i32, 4)
        for turn in range(3):
            fill(x, turn * 10)
        raise SystemExit("never reached by a command")

    if __name__ == "__main__":
        main()
"""


def options(program: object, **given: object) -> Namespace:
    return Namespace(
        **{"program": str(program), "arch": None, "args": None, "call": None, "program_arguments": [], **given}
    )


@pytest.fixture(autouse=True)
def _ends():
    yield
    ti.reset()


def test_annotations_suffice_where_nothing_is_launched(program) -> None:
    call = find_call(options(f"{program(LIBRARY)}:scale"), launches=False)
    assert call.arguments == () and call.origin == "annotations"
    assert "factor" in call.kernel.source(arch=ti.cuda)


def test_a_file_with_one_kernel_need_not_name_it(program) -> None:
    assert find_call(options(program(LIBRARY)), launches=False).kernel.definition.name == "scale"


def test_arguments_are_evaluated_in_the_names_of_the_file(program) -> None:
    call = find_call(options(f"{program(LIBRARY)}:scale", args="np.ones(5, np.float32), 2 * 2.5"), launches=True)
    call.kernel(*call.arguments)
    assert call.arguments[0].tolist() == [5.0] * 5


def test_an_array_of_ours_among_the_arguments_gets_a_session(program) -> None:
    call = find_call(options(f"{program(LIBRARY)}:scale", args="ti.ndarray(ti.f32, 3), 2"), launches=False)
    assert call.arguments[0].shape == (3,)


def test_options_that_do_not_count_are_told(program, capsys) -> None:
    file = program(LIBRARY + "\n    def main():\n        ti.init(arch=ti.cpu, fast_math=False)\n")
    find_call(options(f"{file}:scale", args="np.ones(5, np.float32), 2.0"), launches=False)
    assert "an import of program.py does not run its `ti.init`" in capsys.readouterr().err


def test_the_first_launch_of_the_program_gives_arguments(program, capsys) -> None:
    call = find_call(options(f"{program(PROGRAM)}:fill", program_arguments=["-v"]), launches=True)
    assert call.arguments[1] == 0 and call.origin == "launch 1 of the program"
    assert capsys.readouterr().out == "", "what a program prints is no result"
    call.kernel(*call.arguments)
    assert call.arguments[0].to_numpy().tolist() == [0] * 4


def test_a_later_launch_follows_those_before_it(program) -> None:
    call = find_call(options(f"{program(PROGRAM)}:fill", call=3), launches=True)
    assert call.arguments[1] == 20 and call.arguments[0].to_numpy().tolist() == [10] * 4


def test_a_script_stops_at_the_launch_when_it_is_imported(program) -> None:
    script = program("""
        ti.init(arch=ti.cpu, log_level="warn")
        x = ti.field(ti.i32, 4)

        @ti.kernel
        def fill(value: ti.i32):
            for i in x:
                x[i] = value

        fill(7)
        raise AssertionError("never reached")
    """)
    call = find_call(options(f"{script}:fill"), launches=False)
    assert call.arguments == (7,)
    assert call.kernel.inspect(*call.arguments).source


def test_globals_that_main_makes_are_waited_for(program) -> None:
    late = program("""
        x = None

        @ti.kernel
        def fill():
            for i in x:
                x[i] = 1

        if __name__ == "__main__":
            ti.init(arch=ti.cpu, log_level="warn")
            x = ti.field(ti.i32, 4)
            fill()
    """)
    call = find_call(options(f"{late}:fill"), launches=False)
    assert "x(i) = 1" in call.kernel.inspect(*call.arguments).source


def test_methods_are_found_with_their_object(program) -> None:
    method = program("""
        @ti.data_oriented
        class Solver:
            def __init__(self):
                self.x = ti.field(ti.f32, 8)

            @ti.kernel
            def step(self, dt: ti.f32):
                for i in self.x:
                    self.x[i] += dt

        if __name__ == "__main__":
            ti.init(arch=ti.cpu, log_level="warn")
            Solver().step(0.5)
    """)
    for name in ("Solver.step", "step"):
        call = find_call(options(f"{method}:{name}"), launches=True)
        assert type(call.arguments[0]).__name__ == "Solver" and call.arguments[1:] == (0.5,)
    assert kernels_in(Path(method)) == ["Solver.step"]


def test_a_kernel_inside_a_function_is_found_by_running(program) -> None:
    nested = program("""
        def main():
            ti.init(arch=ti.cpu, log_level="warn")
            scale = 3

            @ti.kernel
            def inner(x: ti.types.ndarray(ti.i32, 1)):
                for i in x:
                    x[i] = scale

            inner(np.zeros(4, np.int32))

        if __name__ == "__main__":
            main()
    """)
    call = find_call(options(f"{nested}:inner"), launches=False)
    assert "scale = 3 }" in call.kernel.inspect(*call.arguments).source


def test_all_kernels_of_a_file_each_with_what_it_needs(program, capsys) -> None:
    calls = find_calls(options(program(PROGRAM)))
    assert [call.kernel.definition.name for call in calls] == ["fill", "other"]
    assert [call.origin for call in calls] == ["launch 1 of the program", "annotations"]


def test_a_program_that_draws_for_ever_is_given_up(program) -> None:
    animated = program("""
        @ti.kernel
        def draw(x: ti.template()):
            for i in x:
                x[i] += 1

        @ti.kernel
        def never(x: ti.template()):
            for i in x:
                x[i] = 0

        if __name__ == "__main__":
            ti.init(arch=ti.cpu, log_level="warn")
            x = ti.field(ti.i32, 4)
            while True:
                draw(x)
    """)
    assert [call.kernel.definition.name for call in find_calls(options(animated))] == ["draw"]


def test_kernels_of_a_program_that_fails_are_those_that_need_no_launch(program) -> None:
    failing = program(PROGRAM.replace("x = ti.field(ti.i32, 4)", "raise OSError('no display')"))
    assert [call.kernel.definition.name for call in find_calls(options(failing))] == ["other"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"program": "missing.py:k"}, "There is no file missing.py"),
        ({"program": "{file}"}, "program.py defines 2 kernels\nHint: name one: program.py:fill"),
        ({"program": "{file}:fil"}, "no kernel `fil` in program.py\nHint: did you mean `fill`?"),
        ({"program": "{file}:zzz"}, "no kernel `zzz` in program.py\nHint: its kernels are fill, other"),
        ({"program": "{file}:fill", "args": "x, 1"}, "--args 'x, 1': NameError: name 'x' is not defined"),
        ({"program": "{file}:fill", "args": "1 +"}, "--args '1 +': SyntaxError"),
        ({"program": "{file}:fill", "call": 0}, "launches are counted from 1"),
        ({"program": "{file}:fill", "call": 4}, "Kernel `fill` was not launched 4 times by program.py"),
        ({"program": "{file}:fill", "args": "1", "call": 1}, "`--args` and `--call` exclude each other"),
        ({"program": "{file}:fill", "arch": "cudo"}, "`--arch cudo` is not a target of shadesmith\nHint: did you mean `cuda`?"),
    ],
)  # fmt: skip
def test_mistakes_are_named(program, given, message) -> None:
    file = program(PROGRAM)
    given = {
        key: value.replace("{file}", str(file)) if isinstance(value, str) else value for key, value in given.items()
    }
    with pytest.raises(CommandError) as caught:
        find_call(options(**given), launches=True)
    assert message in str(caught.value)


def test_a_program_that_fails_shows_its_own_frames(program) -> None:
    broken = program("""
        def helper():
            return {}["key"]

        helper()

        @ti.kernel
        def k():
            pass
    """)
    with pytest.raises(CommandError) as caught:
        find_call(options(f"{broken}:k"), launches=False)
    text = str(caught.value)
    assert "program.py failed:" in text and "in helper" in text and "KeyError: 'key'" in text and "commands" not in text


def test_a_kernel_that_nothing_launches_asks_for_arguments(program) -> None:
    unused = program("""
        @ti.kernel
        def fill(x: ti.template()):
            for i in x:
                x[i] = 1
    """)
    with pytest.raises(CommandError, match="add --args"):
        find_call(options(f"{unused}:fill"), launches=False)


def test_arch_overrules_the_program_where_the_kernel_is_launched(program) -> None:
    find_call(options(f"{program(PROGRAM)}:fill", arch="python"), launches=True)
    assert ti.lang.impl.current_cfg().arch == ti.python


def test_a_file_with_relative_imports_runs_as_a_part_of_its_package(tmp_path: Path, program) -> None:
    package = tmp_path / "outer_package" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("from .inner import ops\n")
    (package / "__init__.py").write_text("")
    (package / "constants.py").write_text("GAIN = 2.0\n")
    path = package / "ops.py"
    program(LIBRARY).rename(path)
    path.write_text(f"from .constants import GAIN\nfrom .. import inner\n{path.read_text()}")
    call = find_call(options(f"{path}:scale"), launches=False)
    assert call.origin == "annotations" and call.namespace["GAIN"] == 2.0
    assert call.namespace["inner"].__name__ == "outer_package.inner"

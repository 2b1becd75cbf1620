"""A loop whose threads synchronize may have an index of any name."""

from __future__ import annotations

from pathlib import Path

import pytest
import written_programs


@pytest.mark.sampled(2, each="name")
@pytest.mark.parametrize("name", ["thread", "block", "threads", "count", "has_iteration", "index", "lanes"])
@pytest.mark.all_targets
def test_an_index_may_be_called_as_what_is_printed(name: str, target: str, tmp_path: Path) -> None:
    if target == "python" or (name != "thread" and target != "cpu"):
        pytest.skip("names of the sources that C and GPUs have")
    program = written_programs.write(
        tmp_path / "p.py",
        f"""
        x = ti.field(ti.i32, 64)

        @ti.kernel
        def turn():
            ti.loop_config(block_dim=32)
            for {name} in range(64):
                values = ti.simt.block.SharedArray((32,), ti.i32)
                values[{name} % 32] = {name}
                ti.simt.block.sync()
                x[{name}] = values[31 - {name} % 32]
        """,
    )
    program.turn()
    assert list(program.x.to_numpy()) == [*range(31, -1, -1), *range(63, 31, -1)]

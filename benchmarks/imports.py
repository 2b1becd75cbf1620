"""Compare the time of `import shadesmith` with that of `import numpy`, which it contains.

    python benchmarks/imports.py [--rounds 15]

Each import is a process of its own; the row shows medians of processor time, the ratio of the whole processes, its
range, and the goal. Bytecode is made first, in a folder of its own, as an installed package has it, whatever the
environment says.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

GOAL = 2.5
STATEMENTS = ("import numpy", "import shadesmith")


def seconds(statement: str, environment: dict[str, str]) -> float:
    """Return the processor time of a process that runs one statement."""
    before = os.times()
    subprocess.run([sys.executable, "-c", statement], env=environment, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    """Print the row; return 1 if the goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for statement in STATEMENTS:
            seconds(statement, environment)
        found = [[seconds(statement, environment) for statement in STATEMENTS] for _ in range(rounds)]
    numpy, own_time = (statistics.median(times) * 1e3 for times in zip(*found, strict=True))
    ratios = [mine / other for other, mine in found]
    ratio = statistics.median(ratios)
    print(
        f"import     shadesmith {own_time:8.1f} ms  numpy {numpy:8.1f} ms  ratio {ratio:5.2f} "
        f"({min(ratios):.2f} to {max(ratios):.2f})  goal {GOAL:.2f} {'ok' if ratio <= GOAL else 'MISSED'}"
    )
    return int(ratio > GOAL)


if __name__ == "__main__":
    sys.exit(main())

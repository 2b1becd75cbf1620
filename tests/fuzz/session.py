"""A run of the fuzzer: programs by seed, on all targets, compared with the interpreter; failures by cause."""

from __future__ import annotations

import ast
import re
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .comparing import difference
from .known import cause_of
from .program import Program
from .reducing import reduce
from .workers import OUT_OF_TIME, Worker

REFERENCE = "python"
NAMED = 20
"""Seeds that the report names of each cause."""
PROGRESS_SECONDS = 10.0
"""Between two lines that say how far a run is."""


class Progress:
    """Says on stderr now and then how far a run is: results are on stdout."""

    def __init__(self) -> None:
        self.begun = self.last = time.monotonic()

    def say(self, state: str) -> None:
        """Print a line, unless the last one is recent."""
        now = time.monotonic()
        if now - self.last >= PROGRESS_SECONDS:
            self.last = now
            print(f"# {now - self.begun:.0f} s: {state}", file=sys.stderr, flush=True)


@dataclass
class Failure:
    """What a program did on a target that it should not do. kind: differs, error, died, hung; cause: if it is known."""

    seed: int
    target: str
    kind: str
    what: str
    text: str
    cause: str = ""

    @property
    def signature(self) -> str:
        """What failures of one cause have in common: errors by the first words of their message."""
        if self.kind != "error":
            return self.kind
        return "error " + re.sub("[0-9]+", "", self.what.split(". ")[0][:80])


class Runner:
    """The workers of one thread. end: of the run, by `time.monotonic()`."""

    def __init__(self, targets: Sequence[str], folder: Path, end: float = float("inf")) -> None:
        self.folder, self.end = folder, end
        self.workers: dict[str, Worker] = {}

    def on(self, target: str, text: str) -> tuple[str, Any]:
        """Run a program on one target."""
        if target not in self.workers:
            self.workers[target] = Worker(target, self.folder, end=self.end)
        return self.workers[target].run(text)

    def failures(self, seed: int, text: str, targets: Sequence[str]) -> list[Failure]:
        """Return what fails on each of the targets, as far as the time allows."""
        kind, expected = self.on(REFERENCE, text)
        found = []
        if kind not in ("ok", OUT_OF_TIME[0]):
            found.append(Failure(seed, REFERENCE, kind, str(expected), text))
        for target in targets:
            found += self.failure(seed, text, target, expected if kind == "ok" else None)
        return found

    def failure(self, seed: int, text: str, target: str, expected: Any) -> list[Failure]:
        kind, result = self.on(target, text)
        if kind == OUT_OF_TIME[0]:
            return []
        if kind != "ok":
            return [Failure(seed, target, kind, str(result), text)]
        unequal = difference(result, expected) if expected is not None else None
        return [Failure(seed, target, "differs", unequal, text)] if unequal else []

    def stop(self) -> None:
        """End all processes."""
        for worker in self.workers.values():
            worker.stop()


class Session:
    """A run with its counts."""

    def __init__(
        self, targets: Sequence[str], dialect: str, folder: Path, found: Path | None, reduces: bool, jobs: int
    ) -> None:
        self.targets, self.dialect, self.folder, self.found = list(targets), dialect, folder, found
        self.reduces, self.jobs = reduces, jobs
        self.programs = self.kernels = 0
        self.without_result: Counter[str] = Counter()
        """Kernels of programs that gave no results, by target: these were not compared."""
        self.explained: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        """Seeds by cause and target."""
        self.unexplained: list[Failure] = []
        self.lock = threading.Lock()
        self.progress = Progress()
        self.begun = time.monotonic()

    def run(self, seed: int, count: int, seconds: float) -> None:
        """Run programs from a seed on, until there were so many kernels or it took so long."""
        end = self.begun + seconds
        seeds = iter(range(seed, seed + 10**9))

        def work() -> None:
            runner = Runner(self.targets, self.folder)
            try:
                while time.monotonic() < end and self.kernels < count:
                    with self.lock:
                        number = next(seeds)
                    self.one(runner, number)
            finally:
                runner.stop()

        threads = [threading.Thread(target=work) for _ in range(self.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.monotonic() - self.begun

    def one(self, runner: Runner, seed: int) -> None:
        """Run the program of a seed."""
        program = Program(seed, self.dialect)
        text = program.text()
        failures = runner.failures(seed, text, self.targets)
        for failure in failures:
            failure.cause = cause_of(failure, runner.on) or ""
            self.note(failure, runner)
        with self.lock:
            self.programs += 1
            self.kernels += len(program.kernels)
            for target in {failure.target for failure in failures if failure.kind != "differs"}:
                self.without_result[target] += len(program.kernels)
            explained = sum(map(len, self.explained.values()))
            found = f"{explained} failures explained, {len(self.unexplained)} not"
            self.progress.say(f"{self.kernels} kernels in {self.programs} programs, the last of seed {seed}; {found}")

    def note(self, failure: Failure, runner: Runner) -> None:
        if failure.cause:
            self.explained[failure.cause, failure.target].append(failure.seed)
            return
        print(f"seed {failure.seed} on {failure.target}: {failure.kind}: {failure.what[:600]}")
        if self.reduces:
            failure.text = reduce_failure(failure, [runner])
            failure.cause = cause_of(failure, runner.on) or ""
            if failure.cause:
                self.explained[failure.cause, failure.target].append(failure.seed)
                return
            print(failure.text)
        with self.lock:
            self.unexplained.append(failure)
        if self.found is not None:
            self.found.mkdir(parents=True, exist_ok=True)
            (self.found / f"{self.dialect}_{failure.seed}_{failure.target}.py").write_text(failure.text)


def reduce_failure(failure: Failure, runners: Sequence[Runner]) -> str:
    """Return a shorter program with the same failure; each runner tries programs of its own at the same time.

    What is shortest when the runners' time ends is returned.
    """
    progress, end = Progress(), min(runner.end for runner in runners)

    def fails(text: str, runner: Runner) -> bool:
        if failure.target == REFERENCE:
            kind, what = runner.on(REFERENCE, text)
            return kind == failure.kind and Failure(0, "", kind, str(what), "").signature == failure.signature
        kind, expected = runner.on("checked", text)
        if kind != "ok" and failure.kind != "error":
            return False
        found = runner.failure(failure.seed, text, failure.target, expected if kind == "ok" else None)
        return bool(found) and found[0].signature == failure.signature

    def first_failing(texts: Sequence[str]) -> int | None:
        with ThreadPoolExecutor(len(runners)) as pool:
            return next((n for n, failed in enumerate(pool.map(fails, texts, runners)) if failed), None)

    def may_go_on(attempts: int, tree: ast.Module) -> bool:
        progress.say(f"{len(ast.unparse(tree).splitlines())} lines after {attempts} attempts")
        return time.monotonic() < end

    if not fails(failure.text, runners[0]):
        return failure.text
    return reduce(failure.text, first_failing, len(runners), may_go_on=may_go_on)


def reduced(text: str, targets: Sequence[str], folder: Path, jobs: int = 1, seconds: float = float("inf")) -> str:
    """Return the program of a file, reduced, with the first failure that it has on one of the targets.

    seconds: the time after which the program that is shortest by then is returned.
    """
    end = time.monotonic() + seconds
    runners = [Runner(targets, folder, end) for _ in range(jobs)]
    try:
        failures = runners[0].failures(0, text, targets)
        if not failures:
            return "# it does not fail" + (f" within {seconds:.0f} s" if time.monotonic() >= end else "")
        print(f"# {failures[0].target}: {failures[0].kind}: {failures[0].what[:500]}")
        return reduce_failure(failures[0], runners)
    finally:
        for runner in runners:
            runner.stop()


def report(session: Session) -> str:
    """Return the counts: kernels, mismatches by cause."""
    lines = [
        f"{session.kernels} kernels in {session.programs} programs ({session.dialect}) on "
        f"{', '.join(session.targets)}, compared with the interpreter, in {session.seconds:.0f} s"
    ]
    for target, count in sorted(session.without_result.items()):
        lines.append(
            f"{count:6} kernels on {target} of programs that gave no result; {session.kernels - count} compared"
        )
    for (cause, target), seeds in sorted(session.explained.items()):
        named = " ".join(map(str, sorted(seeds)[:NAMED])) + (" ..." if len(seeds) > NAMED else "")
        lines.append(f"{len(seeds):6} explained on {target}: {cause}: seeds {named}")
    lines.append(f"{len(session.unexplained):6} unexplained")
    for failure in session.unexplained:
        first = failure.what.strip().splitlines()[:1]
        lines.append(f"       seed {failure.seed} on {failure.target}: {failure.kind}: {' '.join(first)[:150]}")
    return "\n".join(lines)

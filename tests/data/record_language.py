"""Record what Taichi 1.7.4 makes of literals, types and operators: the type and value of many short pieces of code.

usage: PYTHON_WITH_TAICHI record_language.py language.json [GROUP ...]
The file: {"arguments": {name: [type, value]}, "defaults": [[default_ip, default_fp], ...], "rows": [...]}. Each row:
[group, code, prelude, results]: code sets `r`, prelude is source above the kernel; a result for each pair of defaults:
[type, value as text, or null if it is not recorded] or ["error", text].
"""

import json
import os
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import taichi as ti
from language_cases import ARGUMENTS, DEFAULTS, VALUED, cases, kernel_source

GROUP = 24
"""Cases a kernel."""
SEEN = {}
NUMBERS, WHOLES = np.zeros(4096), np.zeros(4096, np.int64)


def note(number, value):
    """Remember the type of a value of a kernel."""
    if isinstance(value, ti.lang.expr.Expr):
        kind = value.ptr.get_rvalue_type()
        shape = list(value.get_shape()) if value.is_tensor() else []
        name = (value.element_type() if shape else kind).to_string()
        SEEN[number] = [name, shape]
    elif isinstance(value, (list, tuple)):
        SEEN[number] = ["list", list(np.shape(value))]
    else:
        SEEN[number] = [type(value).__name__, []]


def build(folder, numbered, shapes, stops=False):
    """Return the kernel of some cases. shapes: of the results that are stored, by number. stops: it is not compiled."""
    text = kernel_source(numbered, shapes, "taichi", stops)
    path = Path(folder) / f"k{zlib.crc32(text.encode())}.py"
    path.write_text(text)
    space = {"__name__": path.stem, "note": note, "stop": stop}
    exec(compile(text, str(path), "exec"), space)
    return space["k"]


def brief(error):
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    text = lines[-1].strip() if lines else ""
    return ["error", f"{type(error).__name__}: {text}"[:24]]


def values(folder, numbered, types):
    """Return the results of some cases, all in one kernel. Raises what Taichi raises."""
    arguments = [value for _, value in ARGUMENTS.values()]
    shapes = {number: types[number][1] for number, _, _ in numbered}
    build(folder, numbered, shapes)(*arguments, NUMBERS, WHOLES)
    ti.sync()
    results, position = [], 0
    for number, _, _ in numbered:
        kind, shape = types[number]
        count = int(np.prod(shape))
        is_real = kind.startswith("f")
        found = (NUMBERS if is_real else WHOLES)[position : position + count]
        shown = [repr(float(v)) if is_real else str(int(v)) for v in found]
        results.append([_described(types[number])[0], " ".join(shown)])
        position += count
    return results


class _Stop(Exception):
    """Ends the construction of a kernel whose types are known."""


def stop():
    raise _Stop


def typed(folder, one):
    """Return the type of a case's result, or Taichi's error; nothing is compiled."""
    SEEN.clear()
    try:
        build(folder, [one], {}, stops=True)(*[value for _, value in ARGUMENTS.values()], NUMBERS, WHOLES)
    except Exception as error:  # noqa: BLE001
        if one[0] not in SEEN:
            return brief(error)
    return SEEN[one[0]]


def work(ip, fp, groups, types, send):
    """Send the results of each group of cases; the first look at a case gives only its type."""
    ti.init(
        arch=ti.cpu, log_level=ti.CRITICAL, offline_cache=False, fast_math=False, default_ip=getattr(ti, ip),
        default_fp=getattr(ti, fp), cpu_max_num_threads=1,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for position, group in enumerate(groups):
            if types is None:
                send([position, [typed(folder, one) for one in group]])
                continue
            try:
                send([position, values(folder, group, types)])
            except Exception as error:  # noqa: BLE001
                send([position, [brief(error)] if len(group) == 1 else None])


def _described(type):
    kind, shape = type
    return [kind + (str(shape).replace(" ", "") if shape else ""), None]


def in_children(ip, fp, groups, types):
    """Yield (group, results); results are None for a group that fails as a whole. Taichi may end the process."""
    while groups:
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            os.close(reader)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with os.fdopen(writer, "w") as pipe:

                def send(message):
                    pipe.write(json.dumps(message) + "\n")
                    pipe.flush()

                work(ip, fp, groups[:60], types, send)
            os._exit(0)
        os.close(writer)
        reached = 0
        with os.fdopen(reader) as pipe:
            for line in pipe:
                position, results = json.loads(line)
                yield groups[position], results
                reached = position + 1
        os.waitpid(child, 0)
        if reached < len(groups[:60]):
            group = groups[reached]
            yield group, [["error", "Taichi crashes"]] if len(group) == 1 else None
            reached += 1
        groups = groups[reached:]
        print(ip, fp, "left", len(groups), file=sys.stderr, flush=True)


def results_of(ip, fp, listed):
    """Return the results of all cases under two default types."""
    numbered = [(number, code, prelude) for number, (_, code, prelude) in enumerate(listed)]
    types, found = {}, {}
    todo = [numbered[k : k + GROUP] for k in range(0, len(numbered), GROUP)]
    for _ in range(2):
        failed = []
        for group, results in in_children(ip, fp, todo, None):
            failed += [] if results else [[one] for one in group]
            types |= {one[0]: result for one, result in zip(group, results or [])}
        todo = failed
    found = {number: result for number, result in types.items() if result[0] == "error"}
    good = [one for one in numbered if one[0] not in found and listed[one[0]][0] in VALUED]
    found = {one[0]: _described(types[one[0]]) for one in numbered} | found
    size = GROUP
    while good:
        failed = []
        for group, results in in_children(ip, fp, [good[k : k + size] for k in range(0, len(good), size)], types):
            failed += [] if results else group
            found |= {one[0]: result for one, result in zip(group, results or [])}
        good, size = failed, 1 if size == 4 else 4
    return [found[number] for number in range(len(listed))]


def main():
    listed = cases(sys.argv[2:])
    tables = [results_of(ip, fp, listed) for ip, fp in DEFAULTS]
    rows = [[*case, [table[k] for table in tables]] for k, case in enumerate(listed)]
    for row in rows:
        if all(result == row[3][0] for result in row[3]):
            row[3] = row[3][:1]
    head = f'{{"arguments": {json.dumps(ARGUMENTS)},\n"defaults": {json.dumps(DEFAULTS)},\n"rows": [\n'
    Path(sys.argv[1]).write_text(head + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]}\n")


main()

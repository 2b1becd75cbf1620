"""Record where Taichi 1.7.4 (arch cpu) puts the cells of 200 random trees.

usage: PYTHON_WITH_TAICHI record_trees.py trees.json
A row a tree: [[cell size, offset in the parent's cell] of each node and field, in the order of a walk,
{field: [address of its first element, CRC-32 of the addresses of all its elements, row by row, as 64-bit numbers]}].
Addresses count from the first element of the first field of the tree.
"""

import json
import sys
from pathlib import Path
from zlib import crc32

import numpy as np
import taichi as ti

sys.path.insert(0, str(Path(__file__).parents[1] / "support" / "kernels"))
from random_trees import COUNT, build, places_in, random_trees  # noqa: E402


def addresses(field, place):
    """Return the address of every element (of its first component). `get_addr` counts indices from 0 despite offsets."""
    scalar = field if not place.tensor else field.get_scalar_field(*[0] * max(len(place.tensor), 1))
    out = np.zeros(place.shape, np.uint64)

    @ti.kernel
    def look(out: ti.types.ndarray()):
        for I in ti.grouped(out):
            out[I] = ti.get_addr(scalar, I)

    look(out)
    return out.astype(np.int64)


def record(number):
    ti.init(arch=ti.cpu, log_level=ti.ERROR, offline_cache=False)
    tops = random_trees(number)
    builder, fields, nodes = build(ti, tops)
    builder.finalize()
    sizes = [[node._cell_size_bytes, node._offset_bytes_in_parent_cell] for node in nodes]
    found = {}
    for top in tops:
        first = None
        for place in places_in([top]):
            at = addresses(fields[place.name], place)
            first = at.flat[0] if first is None else first
            at -= first
            found[place.name] = [int(at.flat[0]), crc32(np.ascontiguousarray(at))]
    return [sizes, found]


if __name__ == "__main__":
    rows = [record(number) for number in range(COUNT)]
    Path(sys.argv[1]).write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")

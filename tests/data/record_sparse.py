"""Record what Taichi 1.7.4 gives for the programs of `tests/support/kernels/sparse_programs.py` and
`tests/support/kernels/sparse_edge_programs.py`.

usage: PYTHON_WITH_TAICHI record_sparse.py sparse.json
"""

import json
import sys
from pathlib import Path

import taichi as ti

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support" / "kernels"))
from sparse_edge_programs import EDGE_PROGRAMS  # noqa: E402
from sparse_programs import PROGRAMS  # noqa: E402

found = {}
for program in (*PROGRAMS, *EDGE_PROGRAMS):
    ti.init(arch=ti.cpu, log_level=ti.ERROR, offline_cache=False)
    found[program.__name__] = program(ti)
text = ",\n".join(f'"{name}": {json.dumps(said)}' for name, said in found.items())
Path(sys.argv[1]).write_text(f"{{\n{text}\n}}\n")

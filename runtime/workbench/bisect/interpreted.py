"""The results of a kernel in the interpreter, on a copy of the memory of a recorded call.

In: a module for the interpreter, and a `Recording` of the same kernel on any target. Out: the bytes of each region
after a run. The interpreter shares no code with the printers and runs on no driver, so it is what passes are judged by.
"""

from __future__ import annotations

import contextlib
import io
import struct
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ....transpiler.backend.module.interface import PACK_CODES
from ....transpiler.errors import TaichiRuntimeError
from ...arrays.memory import Array
from ...devices.python.device import PythonProgram
from ..measure.outputs import Outputs
from ..measure.replicas import PATTERNS, Recording, Region

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule, Interface

LARGEST = 256
"""Bytes that no scalar or struct of an array that is not used exceeds, as far as a reader of it could notice."""
OWN = ("temporaries", "result", "report")
"""Members that point to memory of the kernel itself, which has another layout on each target."""


def interpreted(module: BackendModule, recording: Recording) -> dict[Region, Array]:
    """Run a module of the interpreter once; return the memory after it, by region of the recording.

    Raises: TaichiRuntimeError for a check that fails, an access out of bounds, and arguments that only a device has.
    """
    contents = {region: region.new_contents(PATTERNS[0]).copy() for region in recording.regions}
    own: dict[str, Array] = {}
    outputs = Outputs(recording)
    if outputs.trees or recording.textures:
        what = "a sparse tree" if outputs.trees else "a texture"
        raise TaichiRuntimeError(f"the interpreter cannot repeat this call: it uses {what}", "bisect a call on fields")
    shapes = {slot: located.shape for slot, located in enumerate(outputs.located)}
    program = PythonProgram(module)
    for member in module.interface.members:
        value = _value(member.source, module, recording, contents, own, shapes)
        struct.pack_into(f"<{PACK_CODES[member.type]}", program.arguments, member.offset_bytes, value)
    with contextlib.redirect_stdout(io.StringIO()):
        program.submit(())
    for region, after in contents.items():
        if region.role == "result" and "result" in own:
            size = min(after.size, own["result"].size)
            after[:size] = own["result"][:size]
    return contents


def _size_of(interface: Interface, slot: int, shapes: dict[int, tuple[int, ...]]) -> int:
    """Return bytes that hold all elements which are reached by the pointer of an array."""
    size = 1 << 12
    for number, array in enumerate(interface.arrays):
        element = LARGEST * max(1, prod(array.element_shape))
        place = array.place
        if place is not None and place.slot == slot:
            cells = place.cells[0] * place.cells[1] if place.cells else 0
            size = max(size, place.begin_bytes + cells + sum(d[1] * d[3] for d in place.digits) + element)
        elif number == slot:
            size = max(size, element * prod(array.shape if array.shape is not None else shapes.get(slot, (0,))))
    return size


def _value(
    source: tuple[Any, ...],
    module: BackendModule,
    recording: Recording,
    contents: dict[Region, Array],
    own: dict[str, Array],
    shapes: dict[int, tuple[int, ...]],
) -> Any:
    """Return what is packed for a member of the argument block."""
    kind = source[0]
    if kind in OWN:
        interface = module.interface
        size = {"temporaries": interface.temporaries_size_bytes, "result": interface.result_size_bytes}.get(
            kind, 1 << 16
        )
        return own.setdefault(kind, np.zeros(max(16, size), np.uint8)).ctypes.data
    if kind in ("pointer", "gradient") and source in recording.values:
        address = recording.values[source]
        for region, copied in contents.items():
            if region.begin <= address < max(region.end, region.begin + 1):
                return copied.ctypes.data + address - region.begin
    if source in recording.values and kind not in ("pointer", "gradient", "texture", "texels"):
        return recording.values[source]
    if kind in ("seed", "begin"):
        return 0
    if kind in ("pointer", "gradient"):  # of an array that no statement uses: nothing is read there
        size = _size_of(module.interface, source[1], shapes)
        return own.setdefault(f"{kind} {source[1]}", np.zeros(size, np.uint8)).ctypes.data
    if kind in ("shape", "stride") and source[1] in shapes:
        shape = shapes[source[1]]
        return shape[source[2]] if kind == "shape" else prod(shape[source[2] + 1 :])
    raise TaichiRuntimeError(f"the interpreter cannot repeat this call: it takes a {kind.replace('_', ' ')}")

"""`ti.tools.write_vtk`: a field as a rectilinear grid, which ParaView opens."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.dense_array import DenseArray
from ..gui.images import look_at

Array = np.ndarray[Any, Any]

TEMPLATE = """<?xml version="1.0"?>
<VTKFile type="RectilinearGrid" version="1.0" byte_order="LittleEndian" header_type="UInt64">
<RectilinearGrid WholeExtent="{extent}">
<Piece Extent="{extent}">
<Coordinates>
{coordinates}
</Coordinates>
<PointData Scalars="{name}">
{values}
</PointData>
</Piece>
</RectilinearGrid>
<AppendedData encoding="raw">
_"""
ARRAY = '<DataArray Name="{name}" NumberOfComponents="1" type="{kind}" format="appended" offset="{offset}"/>'
KINDS = {"f": "Float", "i": "Int", "u": "UInt"}


def write_vtk(scalar_field: Any, filename: str | os.PathLike[str]) -> None:
    """Write a 2-D or 3-D field of numbers to `<filename>.vtr`: a value for each point of the grid 0, 1, 2, ...

    Taichi 1.7.4 declares its values to be those of cells, of which there are fewer: ParaView refuses its files.

    scalar_field: the field, or a NumPy array.
    Raises: ValueError for fields of vectors, and for another number of axes.
    Source: VTK file formats, XML, rectilinear grids with appended data.

    Example:
        >>> ti.tools.write_vtk(ti.field(ti.f32, (4, 4)), "density")
    """
    values = look_at(scalar_field)
    is_scalar = not (isinstance(scalar_field, DenseArray) and scalar_field.element_shape)
    if values is None or values.ndim not in (2, 3) or not is_scalar:
        raise ValueError("The input field must be a 2D or 3D scalar field.")
    if values.dtype.kind not in KINDS:
        values = values.astype(np.uint8)
    path = Path(f"{os.fspath(filename)}.vtr")
    name = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in Path(filename).name)
    axes = [np.arange(extent) for extent in (*values.shape, 1)[:3]]
    arrays = {**dict(zip(("x_coordinates", "y_coordinates", "z_coordinates"), axes)), name: values}
    lines, blocks, offset = [], [], 0
    for title, array in arrays.items():
        block = np.asarray(array, array.dtype.newbyteorder("<")).tobytes(order="F")  # x changes fastest
        kind = f"{KINDS[array.dtype.kind]}{array.dtype.itemsize * 8}"
        lines.append(ARRAY.format(name=title, kind=kind, offset=offset))
        blocks.append(len(block).to_bytes(8, "little") + block)
        offset += len(blocks[-1])
    extent = " ".join(f"0 {len(axis) - 1}" for axis in axes)
    header = TEMPLATE.format(extent=extent, name=name, coordinates="\n".join(lines[:3]), values=lines[3])
    path.write_bytes(header.encode() + b"".join(blocks) + b"\n</AppendedData>\n</VTKFile>")

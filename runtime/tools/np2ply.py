"""`ti.tools.PLYWriter`: points and meshes as PLY files.

Source: G. Turk, "The PLY Polygon File Format" (1994).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ..gui.images import look_at
from ..session.logging_levels import LOGGER

Array = np.ndarray[Any, Any]

TYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "float": np.float32, "double": np.float64,
}  # fmt: skip
CORNERS = {"tri": 3, "quad": 4}


class PLYWriter:
    """Collects channels of vertices and faces, one number per vertex or face, and writes them to files.

    face_type: "tri" or "quad". Raises: ValueError for no vertices, or another type of face.
    num_vertices, num_faces: how many. comment: a line of the file's header.

    Example:
        >>> writer = ti.tools.PLYWriter(num_vertices=2)
        >>> writer.add_vertex_pos(np.zeros(2), np.ones(2), np.zeros(2))
        >>> writer.export("points.ply")
    """

    def __init__(self, num_vertices: int, num_faces: int = 0, face_type: str = "tri",
                 comment: str = "created by PLYWriter") -> None:  # fmt: skip
        if num_vertices <= 0:
            raise ValueError(f"num_vertices should be greater than 0; found {num_vertices}")
        if face_type not in CORNERS:
            raise ValueError(f"Only tri and quad faces are supported for now; found `{face_type}`")
        self.num_vertices = num_vertices
        self.num_faces = num_faces
        self.face_type = face_type
        self.comment = comment
        self.vertex_channels: list[str] = []
        self.vertex_data_type: list[str] = []
        self.vertex_data: list[Array] = []
        self.face_channels: list[str] = []
        self.face_data_type: list[str] = []
        self.face_data: list[Array] = []
        self.face_indices: Array = np.zeros((0, CORNERS[face_type]), np.int32)

    @property
    def num_vertex_channels(self) -> int:
        """How many channels the vertices have."""
        return len(self.vertex_channels)

    @property
    def num_face_channels(self) -> int:
        """How many channels the faces have."""
        return len(self.face_channels)

    def add_vertex_channel(self, key: str, data_type: str, data: Any) -> None:
        """Add one number for each vertex; data_type: `char` to `uint`, `float` or `double`.

        A channel of another type is left out with a warning, as by Taichi. Raises: ValueError for another number of
        them.
        """
        values = _channel(key, data_type, data, self.num_vertices, "vertex", self.vertex_channels)
        if values is not None:
            self.vertex_channels.append(key)
            self.vertex_data_type.append(data_type)
            self.vertex_data.append(values)

    def add_vertex_pos(self, x: Any, y: Any, z: Any) -> None:
        """Add the positions of the vertices, which every file needs."""
        self._add_floats(x=x, y=y, z=z)

    def add_vertex_normal(self, nx: Any, ny: Any, nz: Any) -> None:
        """Add normals."""
        self._add_floats(nx=nx, ny=ny, nz=nz)

    def add_vertex_color(self, r: Any, g: Any, b: Any) -> None:
        """Add colours from 0 to 1."""
        self._add_floats(red=r, green=g, blue=b)

    def add_vertex_alpha(self, alpha: Any) -> None:
        """Add alpha from 0 to 1."""
        self._add_floats(Alpha=alpha)

    def add_vertex_rgba(self, r: Any, g: Any, b: Any, a: Any) -> None:
        """Add colours and alpha from 0 to 1."""
        self._add_floats(red=r, green=g, blue=b, Alpha=a)

    def add_vertex_vel(self, vx: Any, vy: Any, vz: Any) -> None:
        """Add velocities."""
        self._add_floats(vx=vx, vy=vy, vz=vz)

    def add_vertex_id(self) -> None:
        """Add the number of each vertex."""
        self.add_vertex_channel("id", "int", np.arange(self.num_vertices))

    def add_vertex_piece(self, piece: Any) -> None:
        """Add the number of the piece that each vertex belongs to."""
        self.add_vertex_channel("piece", "int", piece)

    def add_faces(self, indices: Any) -> None:
        """Set the corners of the faces: numbers of vertices, as many as all faces have together, in any shape.

        Raises: ValueError for another number of them.
        """
        corners = _array(indices)
        shape = (self.num_faces, CORNERS[self.face_type])
        if not self.num_faces or corners.size != shape[0] * shape[1]:
            raise ValueError(
                f"The dimension of the face vertices is not correct: {shape[0]} faces of {shape[1]} corners, "
                f"and {corners.size} indices"
            )
        self.face_indices = corners.reshape(shape).astype(np.int32)

    def add_face_channel(self, key: str, data_type: str, data: Any) -> None:
        """Add one number for each face; see `add_vertex_channel`."""
        values = _channel(key, data_type, data, self.num_faces, "face", self.face_channels)
        if values is not None:
            self.face_channels.append(key)
            self.face_data_type.append(data_type)
            self.face_data.append(values)

    def add_face_id(self) -> None:
        """Add the number of each face."""
        self.add_face_channel("id", "int", np.arange(self.num_faces))

    def add_face_piece(self, piece: Any) -> None:
        """Add the number of the piece that each face belongs to."""
        self.add_face_channel("piece", "int", piece)

    def sanity_check(self) -> None:
        """Check that all data of a file are there. Raises: ValueError if the positions or the faces are missing."""
        if not {"x", "y", "z"} <= set(self.vertex_channels):
            raise ValueError("The vertex pos channel is missing. Hint: call `add_vertex_pos(x, y, z)`")
        if len(self.face_indices) != self.num_faces:
            raise ValueError(f"The face indices are invalid: {self.num_faces} faces. Hint: call `add_faces(indices)`")
        outside = (self.face_indices < 0) | (self.face_indices >= self.num_vertices)
        if outside.any():
            raise ValueError(f"The face indices are invalid: {self.face_indices[outside][0]} is no vertex")

    def print_header(self, path: str | os.PathLike[str], _format: str) -> None:
        """Start a file with the header of a format: `ascii`, `binary_little_endian` or `binary_big_endian`."""
        Path(path).write_bytes(self._header(_format))

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write a binary file. Raises: ValueError as `sanity_check`."""
        self.sanity_check()
        vertices = _table(dict(enumerate(self.vertex_data)), self.num_vertices)
        corners: dict[Any, Array] = {"count": np.full(self.num_faces, self.face_indices.shape[1], np.uint8)}
        corners |= {f"corner {k}": column for k, column in enumerate(self.face_indices.T)}
        faces = _table({**corners, **dict(enumerate(self.face_data))}, self.num_faces)
        Path(path).write_bytes(self._header(f"binary_{sys.byteorder}_endian") + vertices.tobytes() + faces.tobytes())

    def export_ascii(self, path: str | os.PathLike[str]) -> None:
        """Write an ASCII file. Raises: ValueError as `sanity_check`."""
        self.sanity_check()
        count = [np.full(self.num_faces, self.face_indices.shape[1])]
        rows = [*zip(*self.vertex_data), *zip(*count, *self.face_indices.T, *self.face_data)]
        lines = ["".join(f"{value!s} " for value in row) + "\n" for row in rows]
        Path(path).write_bytes(self._header("ascii") + "".join(lines).encode())

    def export_frame(self, series_num: int, path: str) -> None:
        """Write a binary file of a series: `<path>_000007.ply`."""
        self.export(_frame_path(path, series_num))

    def export_frame_ascii(self, series_num: int, path: str) -> None:
        """Write an ASCII file of a series: `<path>_000007.ply`."""
        self.export_ascii(_frame_path(path, series_num))

    def _add_floats(self, **channels: Any) -> None:
        for key, data in channels.items():
            self.add_vertex_channel(key, "float", data)

    def _header(self, kind: str) -> bytes:
        vertices = [f"property {kind} {key}" for kind, key in zip(self.vertex_data_type, self.vertex_channels)]
        faces = [f"property {kind} {key}" for kind, key in zip(self.face_data_type, self.face_channels)]
        if self.num_faces:
            faces = [f"element face {self.num_faces}", "property list uchar int vertex_indices", *faces]
        lines = ["ply", f"format {kind} 1.0", f"comment {self.comment}", f"element vertex {self.num_vertices}"]
        return "\n".join([*lines, *vertices, *faces, "end_header", ""]).encode()


def _channel(key: str, data_type: str, data: Any, count: int, owner: str, known: list[str]) -> Array | None:
    """Return the numbers of a channel; None, with a warning, if its type is unknown."""
    if data_type not in TYPES:
        names = ", ".join(TYPES)
        LOGGER.warning("Unknown type %s of channel `%s` detected, skipping it. Known are: %s", data_type, key, names)
        return None
    values = _array(data)
    if values.shape != (count,):
        raise ValueError(
            f"The dimension of the {owner} channel is not correct: `{key}` takes shape ({count},); found {values.shape}"
        )
    if key in known:
        LOGGER.warning("duplicate key %s detected", key)
    return values.astype(TYPES[data_type])


def _array(values: Any) -> Array:
    found = look_at(values)
    return np.asarray(values) if found is None else found


def _table(columns: dict[Any, Array], count: int) -> Array:
    """Return columns as packed rows."""
    table = np.empty(count, [(str(key), column.dtype) for key, column in columns.items()])
    for key, column in columns.items():
        table[str(key)] = column
    return table


def _frame_path(path: str, number: int) -> str:
    return f"{path.removesuffix('.ply')}_{number:06d}.ply"

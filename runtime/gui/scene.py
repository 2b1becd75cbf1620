"""Scenes in three dimensions of `ti.ui`: particles, meshes and lines with lights, drawn by NumPy with a depth buffer.

In: positions in world coordinates, a camera, lights. Out: colours of the pixels of a canvas, nearest first. A surface
of colour `c` looks `c * (ambient + the sum over lights of their colour times the cosine of the angle)`, as in Taichi.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from ...transpiler.lang.matrix import Vector
from .images import look_at

Array = np.ndarray[Any, Any]
GREY = (0.5, 0.5, 0.5)
LARGE = 24
"""Radius [pixels] from which a particle is drawn by itself."""
EULER_LIMIT = math.pi / 2 * 0.99


class ProjectionMode(Enum):
    """How a camera projects."""

    Perspective = 0
    Orthogonal = 1


def euler_to_vec(yaw: float, pitch: float) -> Any:
    """Return the unit vector at an angle to the axis z, about y, and at another above that plane [rad]."""
    return Vector([math.sin(yaw) * math.cos(pitch), math.sin(pitch), math.cos(yaw) * math.cos(pitch)])


def vec_to_euler(v: Any, eps: float = 1e-6) -> tuple[float, float]:
    """Return yaw and pitch [rad] of a vector of any length but 0. One within `eps` of the axis y has the yaw 0."""
    x, y, z = _unit(np.array(v, float))
    return math.atan2(x, z) if math.hypot(x, z) > eps else 0.0, math.asin(max(-1.0, min(1.0, y)))


class Camera:
    """A camera: where it is, where it looks, and its angle of view [degrees] between bottom and top.

    Example:
        >>> camera = ti.ui.Camera()
        >>> camera.position(0, 0, 3)
        >>> camera.lookat(0, 0, 0)
        >>> camera.get_view_matrix()[3].tolist()
        [-0.0, -0.0, -3.0, 1.0]
    """

    def __init__(self) -> None:
        self.position(0.0, 0.0, 0.0)
        self.lookat(0.0, 0.0, 1.0)
        self.up(0.0, 1.0, 0.0)
        self._mode, self._fov, self._near, self._far = ProjectionMode.Perspective, 45.0, 0.1, 1000.0
        self._left, self._right, self._top, self._bottom = -1.0, 1.0, 1.0, -1.0
        self._last: tuple[float, float, float] | None = None

    def position(self, x: float, y: float, z: float) -> None:
        """Put the camera there."""
        self.curr_position = _vector((x, y, z))

    def lookat(self, x: float, y: float, z: float) -> None:
        """Point the camera at that position."""
        self.curr_lookat = _vector((x, y, z))

    def up(self, x: float, y: float, z: float) -> None:
        """Set the direction that is upwards in the picture."""
        self.curr_up = _vector((x, y, z))

    def projection_mode(self, mode: ProjectionMode) -> None:
        """Choose `ti.ui.ProjectionMode.Perspective` or `Orthogonal`."""
        self._mode = mode

    def fov(self, fov: float) -> None:
        """Set the angle of view of a perspective camera [degrees]."""
        self._fov = float(fov)

    def left(self, left: float) -> None:
        """Set the left plane of an orthogonal camera."""
        self._left = float(left)

    def right(self, right: float) -> None:
        """Set the right plane of an orthogonal camera."""
        self._right = float(right)

    def top(self, top: float) -> None:
        """Set the top plane of an orthogonal camera."""
        self._top = float(top)

    def bottom(self, bottom: float) -> None:
        """Set the bottom plane of an orthogonal camera."""
        self._bottom = float(bottom)

    def z_near(self, z_near: float) -> None:
        """Set the distance before which nothing is drawn."""
        self._near = float(z_near)

    def z_far(self, z_far: float) -> None:
        """Set the distance beyond which nothing is drawn."""
        self._far = float(z_far)

    def get_view_matrix(self) -> Array:
        """Return the matrix by which a row vector (x, y, z, 1) is multiplied: the camera then looks along -z."""
        eye = np.array(self.curr_position, float)
        front = _unit(np.array(self.curr_lookat, float) - eye)
        side = _unit(np.cross(front, np.array(self.curr_up, float)))
        above = np.cross(side, front)
        matrix = np.eye(4)
        matrix[:3, 0], matrix[:3, 1], matrix[:3, 2] = side, above, -front
        matrix[3, :3] = -eye @ matrix[:3, :3]
        return matrix.astype(np.float32)

    def get_projection_matrix(self, aspect: float) -> Array:
        """Return the matrix for row vectors from the camera's coordinates to the clip space, depth 1 to 0.

        aspect: width of the picture by its height.
        """
        matrix, near, far = np.zeros((4, 4)), self._near, self._far
        if self._mode is ProjectionMode.Perspective:
            scale = 1 / math.tan(math.radians(self._fov) / 2)
            matrix[0, 0], matrix[1, 1], matrix[2, 3] = scale / aspect, scale, -1
            matrix[2, 2], matrix[3, 2] = near / (far - near), near * far / (far - near)
        else:
            width, height = self._right - self._left, self._top - self._bottom
            matrix[0, 0], matrix[1, 1], matrix[2, 2], matrix[3, 3] = 2 / width, 2 / height, 1 / (far - near), 1
            matrix[3, :3] = (
                -(self._right + self._left) / width,
                -(self._top + self._bottom) / height,
                far / (far - near),
            )
        return matrix.astype(np.float32)

    def track_user_inputs(self, window: Any, movement_speed: float = 1.0, yaw_speed: float = 2.0,
                          pitch_speed: float = 2.0, hold_key: Any = None) -> None:  # fmt: skip
        """Move by the keys w, s, a, d, e, q, and look around by the mouse while `hold_key` is down.

        Speeds are for a sixtieth of a second.
        """
        now, (x, y) = time.perf_counter(), window.get_cursor_pos()
        last = self._last or (now, x, y)
        frames = (now - last[0]) * 60
        position, up = np.array(self.curr_position, float), np.array(self.curr_up, float)
        front = _unit(np.array(self.curr_lookat, float) - position)
        directions = {"w": front, "s": -front, "a": np.cross(up, front), "d": -np.cross(up, front), "e": up, "q": -up}
        for key, direction in directions.items():
            if window.is_pressed(key):
                position = position + direction * movement_speed * frames
        if hold_key is None or window.is_pressed(hold_key):
            yaw, pitch = vec_to_euler(front)
            yaw -= (x - last[1]) * yaw_speed * frames
            pitch = max(-EULER_LIMIT, min(EULER_LIMIT, pitch + (y - last[2]) * pitch_speed * frames))
            front = euler_to_vec(yaw, pitch).to_numpy()
        self.position(*position)
        self.lookat(*(position + front))
        self._last = now, x, y


class Scene:
    """What a camera sees: surfaces and lights, until the canvas shows them (`canvas.scene(scene)`).

    Example:
        >>> window = ti.ui.Window("ball", (64, 32), show_window=False)
        >>> scene, camera = window.get_scene(), ti.ui.Camera()
        >>> camera.position(0, 0, 3)
        >>> camera.lookat(0, 0, 0)
        >>> scene.set_camera(camera)
        >>> scene.ambient_light((1, 1, 1))
        >>> scene.particles(np.zeros((1, 3), np.float32), radius=0.5, color=(1, 0, 0))
        >>> window.get_canvas().scene(scene)
        >>> window.get_image_buffer_as_numpy()[32, 16, :3].tolist()
        [1.0, 0.0, 0.0]
    """

    def __init__(self) -> None:
        self._camera = Camera()
        self.clear()

    def clear(self) -> None:
        """Forget surfaces and lights; the camera stays."""
        self._ambient = np.zeros(3)
        self._lights: list[tuple[Array, Array]] = []
        self._surfaces: list[Callable[[Raster], None]] = []

    def set_camera(self, camera: Camera) -> None:
        """Look through this camera."""
        self._camera = camera

    def ambient_light(self, color: Any) -> None:
        """Set the light that is everywhere."""
        self._ambient = np.array(color, float)[:3]

    def point_light(self, pos: Any, color: Any) -> None:
        """Add a light at a position."""
        self._lights.append((np.array(pos, float)[:3], np.array(color, float)[:3]))

    def particles(self, centers: Any, radius: float, color: Any = GREY, per_vertex_color: Any = None,
                  per_vertex_radius: Any = None, index_offset: int = 0,
                  index_count: int | None = None) -> None:  # fmt: skip
        """Draw balls at `centers`, (n, 3); colours and radii one for all or one each.

        index_offset, index_count: which of them, all without a count.
        """
        chosen = slice(index_offset, None if index_count is None else index_offset + index_count)
        points = _points(centers)[chosen]
        radii: Any = radius
        if per_vertex_radius is not None:
            radii = np.asarray(_array(per_vertex_radius), float).reshape(-1)[chosen]
        colors = _colors(color, per_vertex_color, slice(None) if per_vertex_color is None else chosen)
        sizes, shades = np.broadcast_to(radii, len(points)), np.broadcast_to(colors, points.shape)
        self._surfaces.append(lambda raster: raster.balls(points, sizes, shades))

    def mesh(self, vertices: Any, indices: Any = None, normals: Any = None, color: Any = GREY,
             per_vertex_color: Any = None, two_sided: bool = False, vertex_offset: int = 0,
             vertex_count: int | None = None, index_offset: int = 0, index_count: int | None = None,
             show_wireframe: bool = False) -> None:  # fmt: skip
        """Draw triangles of each three vertices, by `indices` if given.

        Args:
            vertices: positions, (n, 3).
            indices: numbers of vertices.
            normals: of the vertices; means of the triangles' if not given.
            color, per_vertex_color: one for all, or one each.
            two_sided: light reaches both sides.
            vertex_offset, vertex_count, index_offset, index_count: which of them.
            show_wireframe: only the edges.
        """
        points = _points(vertices)
        chosen = _indices(indices, len(points), vertex_offset, vertex_count, index_offset, index_count)
        corners = chosen[: len(chosen) // 3 * 3].reshape(-1, 3)
        up = _normals(points, corners) if normals is None else _points(normals)
        shades = np.broadcast_to(_colors(color, per_vertex_color, slice(None)), points.shape)
        if show_wireframe:
            pairs = corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
            self._surfaces.append(lambda raster: raster.lines(points, pairs, shades, 1.0))
        else:
            self._surfaces.append(lambda raster: raster.triangles(points, corners, up, shades, two_sided))

    def mesh_instance(self, vertices: Any, indices: Any = None, normals: Any = None, color: Any = GREY,
                      per_vertex_color: Any = None, two_sided: bool = False, transforms: Any = None,
                      instance_offset: int = 0, instance_count: int | None = None, vertex_offset: int = 0,
                      vertex_count: int | None = None, index_offset: int = 0, index_count: int | None = None,
                      show_wireframe: bool = False) -> None:  # fmt: skip
        """Draw a mesh once for each matrix of 4 x 4 in `transforms`, which multiplies column vectors (x, y, z, 1).

        instance_offset, instance_count: which of the matrices. The other arguments are those of `mesh`:
        vertices, indices, normals, color, per_vertex_color, two_sided, vertex_offset, vertex_count, index_offset,
        index_count, show_wireframe.
        """
        every = np.eye(4)[None] if transforms is None else np.asarray(_array(transforms), float).reshape(-1, 4, 4)
        chosen = slice(instance_offset, None if instance_count is None else instance_offset + instance_count)
        points, colors = _points(vertices), _colors(color, per_vertex_color, slice(None))
        given = _indices(indices, len(points), vertex_offset, vertex_count, index_offset, index_count)
        for matrix in every[chosen]:
            moved = points @ matrix[:3, :3].T + matrix[:3, 3]
            turned = None if normals is None else _points(normals) @ np.linalg.inv(matrix[:3, :3])
            self.mesh(moved, given, turned, GREY, np.broadcast_to(colors, points.shape), two_sided,
                      show_wireframe=show_wireframe)  # fmt: skip

    def lines(self, vertices: Any, width: float, indices: Any = None, color: Any = GREY, per_vertex_color: Any = None,
              vertex_offset: int = 0, vertex_count: int | None = None, index_offset: int = 0,
              index_count: int | None = None) -> None:  # fmt: skip
        """Draw lines between each two vertices, by `indices` if given.

        width: of a line [pixels]. color, per_vertex_color: one for all, or one each.
        vertex_offset, vertex_count, index_offset, index_count: which of them.
        """
        points = _points(vertices)
        chosen = _indices(indices, len(points), vertex_offset, vertex_count, index_offset, index_count)
        pairs = chosen[: len(chosen) // 2 * 2].reshape(-1, 2)
        shades = np.broadcast_to(_colors(color, per_vertex_color, slice(None)), points.shape)
        self._surfaces.append(lambda raster: raster.lines(points, pairs, shades, float(width)))

    def draw(self, pixels: Array) -> Array:
        """Draw the scene over an image of shape (width, height, 3 or more), floats from 0 to 1, and forget it.

        Return the depths of the pixels in the clip space: 1 for the nearest, 0 where nothing is.
        """
        raster = Raster(self._camera, pixels, self._ambient, self._lights)
        for surface in self._surfaces:
            surface(raster)
        self.clear()
        return raster.clip_depths()


class Raster:
    """Pixels with depths, a camera and lights. pixels: (width, height, ...), which is changed."""

    def __init__(self, camera: Camera, pixels: Array, ambient: Array, lights: list[tuple[Array, Array]]) -> None:
        self.pixels, self.ambient, self.lights = pixels, ambient, lights
        self.width, self.height = pixels.shape[:2]
        self.depth = np.full(pixels.shape[:2], np.inf)
        self.near, self.far = camera._near, camera._far
        self.view = camera.get_view_matrix().astype(float)
        self.projection = camera.get_projection_matrix(self.width / self.height).astype(float)
        self.is_perspective = camera._mode is ProjectionMode.Perspective

    def seen(self, points: Array) -> tuple[Array, Array, Array]:
        """Return the pixels (n, 2) and distances (n,) of points, and their coordinates for the camera, (n, 3)."""
        local = points @ self.view[:3, :3] + self.view[3, :3]
        scale = np.array([self.projection[0, 0], self.projection[1, 1]])
        flat = local[:, :2] * scale + self.projection[3, :2]
        if self.is_perspective:
            with np.errstate(divide="ignore", invalid="ignore"):
                flat = flat / -local[:, 2:]
        place = (flat + 1) / 2 * np.array([self.width, self.height])
        return np.clip(np.nan_to_num(place, nan=-1e9), -1e9, 1e9), -local[:, 2], local

    def lit(self, positions: Array, normals: Array, colors: Array) -> Array:
        """Return the colours of surfaces at positions of the world with unit normals."""
        light = np.broadcast_to(self.ambient, positions.shape).copy()
        for place, color in self.lights:
            towards = place - positions
            towards /= np.maximum(np.linalg.norm(towards, axis=-1, keepdims=True), 1e-12)
            light += np.maximum((towards * normals).sum(-1, keepdims=True), 0) * color
        result: Array = np.clip(light * colors, 0, 1)
        return result

    def is_free(self, x: Array, y: Array, depth: Array) -> Array:
        """Return which of some pixels are in the picture, and nothing nearer covers them."""
        inside: Array = (
            (x >= 0) & (x < self.width) & (y >= 0) & (y < self.height) & (depth >= self.near) & (depth <= self.far)
        )
        inside[inside] = depth[inside] < self.depth[x[inside], y[inside]]
        return inside

    def put(self, x: Array, y: Array, depth: Array, colors: Array) -> None:
        """Set those of the pixels that nothing nearer covers. Of equal pixels the last is taken."""
        inside = self.is_free(x, y, depth)
        self.depth[x[inside], y[inside]] = depth[inside]
        self.pixels[x[inside], y[inside], :3] = colors[inside]

    def clip_depths(self) -> Array:
        """Return the depth of each pixel after the projection, 0 where nothing is drawn."""
        is_drawn = np.isfinite(self.depth)
        distance = np.where(is_drawn, self.depth, 1)
        depths = self.projection[3, 2] - distance * self.projection[2, 2]
        found = np.where(is_drawn, depths / distance if self.is_perspective else depths, 0)
        return found.astype(np.float32)

    def balls(self, centers: Array, radii: Array, colors: Array) -> None:
        """Draw balls."""
        place, distance, _ = self.seen(centers)
        scale = self.projection[1, 1] * self.width / 2  # of the width, as in Taichi: balls are round in square windows
        size = radii * scale / (np.maximum(distance, 1e-9) if self.is_perspective else 1)
        is_drawn = (distance > self.near) & (distance < self.far) & np.isfinite(centers).all(1) & (size > 0)
        small = np.flatnonzero(is_drawn & (size < LARGE))
        small = small[np.argsort(-distance[small], kind="stable")]  # the nearest last
        reach = math.ceil(size[small].max(initial=0)) + 1
        first = np.floor(place[small]).astype(int)
        across, limit = first + 0.5 - place[small], size[small] ** 2 * (1 + 1e-9)
        for dx in range(-reach, reach + 1):
            rest = limit - (across[:, 0] + dx) ** 2
            for dy in range(-reach, reach + 1):
                near = np.flatnonzero((across[:, 1] + dy) ** 2 <= rest)  # most balls are far from most pixels
                cells = first[near] + [dx, dy]
                self._ball_pixels(small[near], cells, place, size, distance, centers, radii, colors)
        for k in np.flatnonzero(is_drawn & (size >= LARGE)):
            low = np.maximum(np.floor(place[k] - size[k]), 0).astype(int)
            high = np.minimum(np.ceil(place[k] + size[k]), [self.width, self.height]).astype(int)
            if (low < high).all():
                grid = np.stack(np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1]), indexing="ij"), -1)
                cells = grid.reshape(-1, 2)
                self._ball_pixels(np.full(len(cells), k), cells, place, size, distance, centers, radii, colors)

    def _ball_pixels(self, which: Array, cells: Array, place: Array, size: Array, distance: Array, centers: Array,
                     radii: Array, colors: Array) -> None:  # fmt: skip
        """Draw one pixel of each of some balls; only those that nothing nearer covers are lit."""
        across = (cells + 0.5 - place[which]) / size[which, None]
        square = (across**2).sum(1)
        is_on = square <= 1
        which, cells, across = which[is_on], cells[is_on], across[is_on]
        facing = np.sqrt(1 - square[is_on])
        depth = distance[which] - facing * radii[which]
        is_seen = self.is_free(cells[:, 0], cells[:, 1], depth)
        which, cells, across, facing, depth = (part[is_seen] for part in (which, cells, across, facing, depth))
        normals = np.concatenate([across, facing[:, None]], 1) @ self.view[:3, :3].T
        positions = centers[which] + normals * radii[which, None]
        self.put(cells[:, 0], cells[:, 1], depth, self.lit(positions, normals, colors[which]))

    def triangles(self, points: Array, corners: Array, normals: Array, colors: Array, two_sided: bool) -> None:
        """Draw triangles."""
        place, distance, local = self.seen(points)
        is_drawn = (distance[corners] > self.near).all(1) & np.isfinite(points[corners]).all((1, 2))
        for a, b, c in corners[is_drawn]:
            shape = place[[a, b, c]]
            low = np.maximum(np.floor(shape.min(0)), 0).astype(int)
            high = np.minimum(np.ceil(shape.max(0)) + 1, [self.width, self.height]).astype(int)
            (ax, ay), (bx, by), (cx, cy) = shape
            area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
            if (low >= high).any() or abs(area) < 1e-12:
                continue
            x, y = (grid.reshape(-1) for grid in np.meshgrid(np.arange(low[0], high[0]), np.arange(low[1], high[1])))
            px, py = x + 0.5, y + 0.5
            v = ((px - ax) * (cy - ay) - (py - ay) * (cx - ax)) / area
            w = ((bx - ax) * (py - ay) - (by - ay) * (px - ax)) / area
            parts = np.stack([1 - v - w, v, w], 1)
            is_on = (parts >= 0).all(1)
            if not is_on.any():
                continue
            x, y, parts = x[is_on], y[is_on], parts[is_on]
            if self.is_perspective:
                parts = parts / distance[[a, b, c]]
                parts /= parts.sum(1, keepdims=True)
            positions, normal = parts @ points[[a, b, c]], parts @ normals[[a, b, c]]
            normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
            if two_sided:
                eye = -self.view[3, :3] @ self.view[:3, :3].T
                normal *= np.where(((eye - positions) * normal).sum(1) < 0, -1.0, 1.0)[:, None]
            shades = self.lit(positions, normal, parts @ colors[[a, b, c]])
            self.put(x, y, parts @ distance[[a, b, c]], shades)

    def lines(self, points: Array, pairs: Array, colors: Array, width: float) -> None:
        """Draw lines, without light."""
        place, distance, _ = self.seen(points)
        reach = max(0, round((width - 1) / 2))
        for a, b in pairs[(distance[pairs] > self.near).all(1)]:
            steps = int(min(np.abs(place[b] - place[a]).max(), 4 * (self.width + self.height))) + 1
            part = np.linspace(0, 1, steps + 1)[:, None]
            cells = np.floor(place[a] + (place[b] - place[a]) * part).astype(int)
            depth, shades = (
                distance[a] + (distance[b] - distance[a]) * part[:, 0],
                colors[a] + (colors[b] - colors[a]) * part,
            )
            for dx in range(-reach, reach + 1):
                for dy in range(-reach, reach + 1):
                    self.put(cells[:, 0] + dx, cells[:, 1] + dy, depth, shades)


# --- arguments ------------------------------------------------------------------------------------------------------


def _vector(values: Any) -> Any:
    return Vector([float(value) for value in values])


def _unit(vector: Array) -> Array:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


def _array(values: Any) -> Array:
    found = look_at(values)
    return np.asarray(values) if found is None else np.asarray(found)


def _points(values: Any) -> Array:
    points = np.asarray(_array(values), float)
    if points.ndim < 2 or points.shape[-1] < 3:
        raise ValueError(f"a scene takes positions of three numbers, (n, 3); found the shape {points.shape}")
    return points.reshape(-1, points.shape[-1])[:, :3]


def _colors(color: Any, each: Any, chosen: slice) -> Array:
    if each is None:
        return np.array(color, float)[:3]
    colors = np.asarray(_array(each), float)
    return colors.reshape(-1, colors.shape[-1])[chosen, :3]


def _indices(
    indices: Any, number: int, vertex_offset: int, vertex_count: int | None, index_offset: int, index_count: int | None
) -> Array:
    """Return the numbers of vertices in the order of drawing."""
    if indices is None:
        return np.arange(number)[vertex_offset : None if vertex_count is None else vertex_offset + vertex_count]
    every = np.asarray(_array(indices)).reshape(-1).astype(int)
    chosen = every[index_offset : None if index_count is None else index_offset + index_count] + vertex_offset
    if len(chosen) and (chosen.min() < 0 or chosen.max() >= number):
        raise ValueError(f"an index of a scene is {chosen.max()}, and there are {number} vertices")
    return chosen


def _normals(points: Array, corners: Array) -> Array:
    """Return a unit normal for each vertex: the mean of those of its triangles."""
    a, b, c = (points[corners[:, k]] for k in range(3))
    faces = np.cross(a - b, a - c)
    faces /= np.maximum(np.linalg.norm(faces, axis=1, keepdims=True), 1e-12)
    total = np.zeros_like(points)
    for k in range(3):
        np.add.at(total, corners[:, k], faces)
    result: Array = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
    return result

"""`ti.tools.PLYWriter`, `write_vtk` and `VideoManager`: texts recorded on Taichi 1.7.4, videos looked at by ffprobe."""

from __future__ import annotations

import logging
import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import shadesmith as ti

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")

MESH = """ply
format ascii 1.0
comment hello there
element vertex 4
property float x
property float y
property float z
property float red
property float green
property float blue
property float Alpha
property int id
property double pressure
property uchar k
element face 2
property list uchar int vertex_indices
property int piece
end_header
0.33 0.134 0.75 0.0 0.1 0.2 0.3 0 0.836 0 
0.788 0.403 0.28 0.1 0.2 0.3 0.4 1 0.282 1 
0.303 0.203 0.485 0.2 0.3 0.4 0.5 2 0.215 2 
0.453 0.262 0.981 0.3 0.4 0.5 0.6 3 0.639 3 
3 0 1 2 0 
3 1 2 3 1 
"""  # noqa: W291 - as Taichi writes it


def mesh() -> ti.tools.PLYWriter:
    writer = ti.tools.PLYWriter(num_vertices=4, num_faces=2, comment="hello there")
    writer.add_vertex_pos(np.array([0.33, 0.788, 0.303, 0.453]), np.array([0.134, 0.403, 0.203, 0.262]),
                          np.array([0.75, 0.28, 0.485, 0.981]))  # fmt: skip
    writer.add_vertex_rgba(*(np.array([0.0, 0.1, 0.2, 0.3]) + k / 10 for k in range(4)))
    writer.add_vertex_id()
    writer.add_vertex_channel("pressure", "double", np.array([0.836, 0.282, 0.215, 0.639]))
    writer.add_vertex_channel("k", "uchar", np.arange(4))
    writer.add_faces(np.array([0, 1, 2, 1, 2, 3]))
    writer.add_face_piece(np.arange(2))
    return writer


def test_a_mesh_as_text(tmp_path: Path) -> None:
    mesh().export_ascii(tmp_path / "a.ply")
    assert (tmp_path / "a.ply").read_text() == MESH


def test_a_mesh_as_bytes(tmp_path: Path) -> None:
    mesh().export(tmp_path / "a.ply")
    header, body = (tmp_path / "a.ply").read_bytes().split(b"end_header\n")
    assert header.decode() == MESH.split("end_header")[0].replace("ascii", "binary_little_endian")
    assert len(body) == 4 * (7 * 4 + 4 + 8 + 1) + 2 * (1 + 3 * 4 + 4)
    assert struct.unpack("<7fidB", body[41:82])[:3] == tuple(np.float32([0.788, 0.403, 0.28]))
    assert struct.unpack("<7fidB", body[41:82])[7:] == (1, 0.282, 1) and struct.unpack("<Biiii", body[-17:]) == (
        3,
        1,
        2,
        3,
        1,
    )


def test_points_and_series(target: str, tmp_path: Path) -> None:
    x = ti.field(ti.f32, 3)
    x.from_numpy(np.array([1, 2.5, -3], np.float32))
    writer = ti.tools.PLYWriter(3)
    writer.add_vertex_pos(x, x, x)
    writer.export_frame_ascii(7, str(tmp_path / "a"))
    writer.export_frame(12, str(tmp_path / "a.ply"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a_000007.ply", "a_000012.ply"]
    assert (tmp_path / "a_000007.ply").read_text().endswith("end_header\n1.0 1.0 1.0 \n2.5 2.5 2.5 \n-3.0 -3.0 -3.0 \n")


@pytest.mark.parametrize(
    "use, sentence",
    [
        (lambda w: w.export("a"), "The vertex pos channel is missing. Hint: call `add_vertex_pos"),
        (lambda w: w.add_vertex_piece(np.zeros(3)), "`piece` takes shape \\(4,\\); found \\(3,\\)"),
        (lambda w: w.add_faces(np.arange(5)), "2 faces of 4 corners, and 5 indices"),
        (lambda w: (w.add_vertex_pos(*np.zeros((3, 4))), w.export("a")), "2 faces. Hint: call `add_faces"),
        (lambda w: (w.add_vertex_pos(*np.zeros((3, 4))), w.add_faces(np.arange(8)), w.export("a")), "4 is no vertex"),
        (lambda w: ti.tools.PLYWriter(0), "should be greater than 0"),
        (lambda w: ti.tools.PLYWriter(1, 1, "hex"), "Only tri and quad faces"),
    ],
)
def test_mistakes_with_ply_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use, sentence: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=sentence):
        use(ti.tools.PLYWriter(4, 2, "quad"))
    assert not list(tmp_path.iterdir())


def test_channels_of_unknown_types_are_left_out_with_a_warning(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.WARNING, logger="shadesmith")  # a session before may have set another one
    writer = mesh()
    writer.add_vertex_channel("a", "float32", np.zeros(4))
    writer.add_face_channel("b", "no type", np.zeros(2))
    writer.export_ascii(tmp_path / "a.ply")
    assert (tmp_path / "a.ply").read_text() == MESH
    assert "Unknown type float32 of channel `a` detected, skipping it. Known are: char, uchar" in caplog.text


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (1, 1)])
def test_a_grid_for_paraview(target: str, tmp_path: Path, shape: tuple[int, ...]) -> None:
    x = ti.field(ti.f32, shape)
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x.from_numpy(values)
    ti.tools.write_vtk(x, str(tmp_path / "grid"))
    text, _, data = (tmp_path / "grid.vtr").read_bytes().partition(b'<AppendedData encoding="raw">\n_')
    extent = " ".join(f"0 {n - 1}" for n in (*shape, 1)[:3])
    assert f'<Piece Extent="{extent}">' in text.decode() and '<PointData Scalars="grid">' in text.decode()
    offsets = [int(offset) for offset in re.findall(r'offset="(\d+)"', text.decode())]
    (size,) = struct.unpack("<Q", data[offsets[3] : offsets[3] + 8])
    found = np.frombuffer(data[offsets[3] + 8 : offsets[3] + 8 + size], np.float32)
    assert (found.reshape(shape, order="F") == values).all()
    assert data[offsets[3] + 8 + size :] == b"\n</AppendedData>\n</VTKFile>"


def test_grids_of_other_axes_are_refused(target: str, tmp_path: Path) -> None:
    for x in (ti.field(ti.f32, 3), ti.Vector.field(3, ti.f32, (2, 2)), np.zeros((1, 1, 1, 1))):
        with pytest.raises(ValueError, match="The input field must be a 2D or 3D scalar field"):
            ti.tools.write_vtk(x, str(tmp_path / "grid"))


def test_frames_are_numbered_pictures_of_even_sizes(target: str, tmp_path: Path) -> None:
    video = ti.tools.VideoManager(str(tmp_path), automatic_build=False)
    x = ti.Vector.field(3, ti.f32, (17, 13))
    x.fill(0.5)
    video.write_frame(x)
    video.write_frames([np.zeros((17, 13), np.uint8), np.ones((17, 13, 3), np.float32)])
    files = sorted(Path(video.get_frame_directory()).iterdir())
    assert [file.name for file in files] == ["000000.png", "000001.png", "000002.png"] == video.frame_fns
    picture = np.array(Image.open(files[0]))
    assert picture.shape == (12, 16, 3) and (video.width, video.height) == (16, 12) and picture.min() == 127
    video.clean_frames()
    assert not list(Path(video.get_frame_directory()).iterdir()) and video.frame_counter == 0


def test_a_post_processor_changes_frames(tmp_path: Path) -> None:
    class Negative:
        def process(self, image: np.ndarray) -> np.ndarray:
            return 1 - image

    video = ti.tools.VideoManager(str(tmp_path), "clip.mp4", post_processor=Negative(), automatic_build=False)
    video.write_frame(np.zeros((4, 4), np.float32))
    assert np.array(Image.open(tmp_path / "frames" / "000000.png")).min() == 255
    assert video.get_output_filename(".gif") == str(tmp_path / "clip.gif")


def probe(path: Path, entries: str = "width,height,nb_frames") -> list[str]:
    command = ["ffprobe", "-v", "error", "-show_entries", f"stream={entries}", "-of", "csv=p=0", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().split(",")


@needs_ffmpeg
def test_videos_of_the_frames(tmp_path: Path) -> None:
    video = ti.tools.VideoManager(str(tmp_path), framerate=10, automatic_build=False)
    video.write_frames(np.random.default_rng(0).random((20, 32, 24, 3), np.float32))
    video.make_video()
    assert probe(tmp_path / "video.mp4") == ["32", "24", "20"] and probe(tmp_path / "video.gif") == ["32", "24", "20"]
    tools = ti.tools.video
    tools.scale_video(str(tmp_path / "video.mp4"), str(tmp_path / "large.mp4"), 2, 0.5)
    tools.crop_video(str(tmp_path / "video.mp4"), str(tmp_path / "part.mp4"), 0, 0.5, 0.25, 1)
    tools.accelerate_video(str(tmp_path / "video.mp4"), str(tmp_path / "fast.mp4"), 2.0)
    tools.mp4_to_gif(str(tmp_path / "video.mp4"), str(tmp_path / "copy.gif"), 10)
    assert probe(tmp_path / "large.mp4")[:2] == ["64", "12"] and probe(tmp_path / "part.mp4")[:2] == ["16", "18"]
    assert probe(tmp_path / "video.mp4", "duration") == ["2.000000"] and probe(tmp_path / "copy.gif")[:2] == [
        "32",
        "24",
    ]
    assert float(probe(tmp_path / "fast.mp4", "duration")[0]) <= 1.2


@needs_ffmpeg
def test_a_video_follows_after_4_frames_and_after_8(tmp_path: Path) -> None:
    video = ti.tools.VideoManager(str(tmp_path))
    for count in range(1, 9):
        video.write_frame(np.full((16, 16, 3), count / 8, np.float32))
        assert (tmp_path / "video.mp4").exists() == (count >= 4)
        if count >= 4:
            assert probe(tmp_path / "video.mp4")[2] == str(8 if count == 8 else 4)


@needs_ffmpeg
def test_a_video_of_files(tmp_path: Path) -> None:
    names = [str(tmp_path / f"{name}.png") for name in "ba"]
    for name in names:
        ti.tools.imwrite(np.zeros((10, 8, 3), np.uint8), name)
    ti.tools.video.make_video(names, output_path=str(tmp_path / "out.mp4"))
    assert probe(tmp_path / "out.mp4") == ["10", "8", "2"]
    with pytest.raises(RuntimeError, match="ffmpeg made no .*out.xyz`"):
        ti.tools.video.make_video(names, output_path=str(tmp_path / "out.xyz"))


def test_videos_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = ti.tools.VideoManager(str(tmp_path))
    with pytest.raises(RuntimeError, match="no frame was written to .*Hint: call `write_frame\\(img\\)` first"):
        video.make_video()
    monkeypatch.setenv("PATH", str(tmp_path))
    video.write_frames([np.zeros((4, 4), np.uint8)] * 5)
    with pytest.raises(RuntimeError, match="ffmpeg, which is not installed. Hint: `apt install ffmpeg`"):
        video.make_video()
    with pytest.raises(ValueError, match="is a list of the names of picture files; found 'a.png'"):
        ti.tools.video.make_video("a.png")

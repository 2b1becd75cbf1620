"""Messages between the program and the process that runs edited sources: JSON, then the bytes of arrays.

In: a socket. Out: one message. Both sides read plain data only: memory of the child may be damaged, so nothing that it
sends is executed. An array that was allocated lazily is sent by the parts that were touched.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....arrays.memory import Array
from ....devices.host_memory import touched_parts

MAX_HEADER_BYTES = 1 << 28
MAX_ARRAY_BYTES = 1 << 46

Message = dict[str, Any]


class Closed(Exception):  # noqa: N818 - it ends a conversation
    """The other side has ended."""


def send(connection: socket.socket, message: Message, arrays: Sequence[tuple[Array, bool]] = ()) -> None:
    """Send a message. arrays: of bytes, and whether only touched parts of it take memory.

    Raises: Closed; TimeoutError under the connection's time limit.
    """
    parts = [touched_parts(array.ctypes.data, array.size) if lazy else [(0, array.size)] for array, lazy in arrays]
    entries = [[array.size, pieces] for (array, _), pieces in zip(arrays, parts, strict=True)]
    header = json.dumps({**message, "arrays": entries}).encode()
    try:
        connection.sendall(struct.pack("<Q", len(header)) + header)
        for (array, _), pieces in zip(arrays, parts, strict=True):
            for begin, end in pieces:
                if end > begin:
                    connection.sendall(array[begin:end].data)
    except TimeoutError:
        raise
    except OSError as error:
        raise Closed from error


def receive(connection: socket.socket, limit: float | None = None) -> tuple[Message, list[Array]]:
    """Return the next message and its arrays. limit: time for all of it [s].

    Raises: Closed; TimeoutError; ValueError for what is no message.
    """
    end = None if limit is None else time.monotonic() + limit
    prefix = bytearray(8)
    _fill(connection, memoryview(prefix), end)
    (size,) = struct.unpack("<Q", prefix)
    if size > MAX_HEADER_BYTES:
        raise ValueError(f"a message of {size} bytes")
    header = bytearray(size)
    _fill(connection, memoryview(header), end)
    message: Message = json.loads(header)
    arrays = []
    for size_bytes, pieces in message.pop("arrays"):
        if not 0 <= size_bytes <= MAX_ARRAY_BYTES:
            raise ValueError(f"an array of {size_bytes} bytes")
        array = np.zeros(size_bytes, np.uint8)
        for begin, stop in pieces:
            if not 0 <= begin <= stop <= size_bytes:
                raise ValueError(f"bytes {begin} to {stop} of {size_bytes}")
            if stop > begin:
                _fill(connection, array[begin:stop].data, end)
        arrays.append(array)
    return message, arrays


def _fill(connection: socket.socket, buffer: memoryview, end: float | None) -> None:
    filled = 0
    while filled < len(buffer):
        if end is not None:
            connection.settimeout(max(1e-3, end - time.monotonic()))
        try:
            count = connection.recv_into(buffer[filled:])
        except TimeoutError:
            raise
        except OSError as error:
            raise Closed from error
        if count == 0:
            raise Closed
        filled += count

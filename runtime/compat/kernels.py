"""`ti._kernels`: the copies and fills that programs call by their inner names, through methods of arrays.

An `arr` is an array of NumPy or a tensor on the host; a `tensor`, `mat` or `field` is a field.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "blit_from_field_to_field", "clear_gradients", "ext_arr_to_matrix", "ext_arr_to_ndarray",
    "ext_arr_to_ndarray_matrix", "ext_arr_to_tensor", "field_fill_python_scope", "fill_field", "fill_ndarray",
    "fill_ndarray_matrix", "matrix_to_ext_arr", "ndarray_matrix_to_ext_arr", "ndarray_to_ext_arr",
    "ndarray_to_ndarray", "tensor_to_ext_arr", "tensor_to_image", "tensor_to_tensor", "vector_to_image",
]  # fmt: skip


def blit_from_field_to_field(dst: Any, src: Any, offset: int, size: int) -> None:
    """Copy the first `size` elements of a field of numbers to another, from element `offset` on."""
    values = dst.to_numpy()
    values[offset : offset + size] = src.to_numpy()[:size]
    dst.from_numpy(values)


def fill_field(field: Any, val: Any) -> None:
    """Store one value in all elements of a field."""
    field.fill(val)


def field_fill_python_scope(F: Any, val: Any) -> None:
    """Store one value in all elements of a field."""
    F.fill(val)


def fill_ndarray(ndarray: Any, val: Any) -> None:
    """Store one number in all elements of an ndarray."""
    ndarray.fill(val)


def fill_ndarray_matrix(ndarray: Any, val: Any) -> None:
    """Store one number or matrix in all elements of an ndarray of matrices."""
    ndarray.fill(val)


def _store(arr: Any, values: Any) -> None:
    if hasattr(arr, "detach"):  # a tensor of PyTorch
        arr.copy_(arr.new_tensor(values.reshape(tuple(arr.shape))))
    else:
        arr[...] = values.reshape(arr.shape)


def _host(arr: Any) -> Any:
    return arr.detach().cpu().numpy() if hasattr(arr, "detach") else arr


def tensor_to_ext_arr(tensor: Any, arr: Any) -> None:
    """Copy a field of numbers to an array of its shape."""
    _store(arr, tensor.to_numpy())


def matrix_to_ext_arr(mat: Any, arr: Any, as_vector: Any) -> None:
    """Copy a field of vectors or matrices to an array that has their axes last."""
    _store(arr, mat.to_numpy())


def ndarray_to_ext_arr(ndarray: Any, arr: Any) -> None:
    """Copy an ndarray of numbers to an array."""
    _store(arr, ndarray.to_numpy())


def ndarray_matrix_to_ext_arr(ndarray: Any, arr: Any, layout_is_aos: Any, as_vector: Any) -> None:
    """Copy an ndarray of vectors or matrices to an array that has their axes last, or first if not `layout_is_aos`."""
    values = ndarray.to_numpy()
    if not layout_is_aos:
        inner = len(ndarray.element_shape)
        values = values.transpose(*range(values.ndim - inner, values.ndim), *range(values.ndim - inner))
    _store(arr, values)


def ext_arr_to_tensor(arr: Any, tensor: Any) -> None:
    """Copy an array to a field of numbers."""
    tensor.from_numpy(_host(arr))


def ext_arr_to_matrix(arr: Any, mat: Any, as_vector: Any) -> None:
    """Copy an array that has their axes last to a field of vectors or matrices."""
    mat.from_numpy(_host(arr))


def ext_arr_to_ndarray(arr: Any, ndarray: Any) -> None:
    """Copy an array to an ndarray of numbers."""
    ndarray.from_numpy(_host(arr))


def ext_arr_to_ndarray_matrix(arr: Any, ndarray: Any, layout_is_aos: Any, as_vector: Any) -> None:
    """Copy an array that has their axes last, or first if not `layout_is_aos`, to an ndarray of vectors or matrices."""
    values = _host(arr)
    if not layout_is_aos:
        inner = len(ndarray.element_shape)
        values = values.transpose(*range(inner, values.ndim), *range(inner))
    ndarray.from_numpy(values)


def ndarray_to_ndarray(ndarray: Any, other: Any) -> None:
    """Copy the elements of `other` to `ndarray`."""
    ndarray.copy_from(other)


def tensor_to_tensor(tensor: Any, other: Any) -> None:
    """Copy the elements of `other` to `tensor`, a field of its shape."""
    tensor.copy_from(other)


def tensor_to_image(tensor: Any, arr: Any) -> None:
    """Copy a field of grey values to an array with three equal channels, or more."""
    arr[...] = tensor.to_numpy()[..., None]


def vector_to_image(mat: Any, arr: Any) -> None:
    """Copy a field of colours to an array of at least three channels; a missing channel is 0."""
    values = mat.to_numpy()
    arr[..., : values.shape[-1]] = values
    arr[..., values.shape[-1] :] = 0


def clear_gradients(_vars: Any) -> None:
    """Store 0 in all given fields."""
    for field in _vars:
        field.fill(0)

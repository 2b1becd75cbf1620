"""Words that no name of a user may be in HIP: those of CUDA C, and what HIP's own header declares.

Source: the names that `hip/hip_runtime.h` of ROCm 6 documents; the header was not tried name by name.
"""

from __future__ import annotations

from ..common.reserved import words
from ..cuda import reserved

RESERVED = reserved.RESERVED.union(
    words("""
    hipTextureObject_t hipSurfaceObject_t hipBoundaryModeZero hipBoundaryModeTrap hipBoundaryModeClamp hipError_t
    hipStream_t hipEvent_t hipSuccess hipBlockDim_x hipBlockIdx_x hipGridDim_x hipThreadIdx_x _Float16 warpSize
    """)
)

"""Reserved names of HIP: those of CUDA C, and the names that HIP's header declares.

Source: the names that `hip/hip_runtime.h` of ROCm 6 documents; the header was not tried name by name.
"""

from __future__ import annotations

from ..common.reserved import names
from ..cuda import reserved

RESERVED = reserved.RESERVED.union(
    names("""
    hipTextureObject_t hipSurfaceObject_t hipBoundaryModeZero hipBoundaryModeTrap hipBoundaryModeClamp hipError_t
    hipStream_t hipEvent_t hipSuccess hipBlockDim_x hipBlockIdx_x hipGridDim_x hipThreadIdx_x _Float16 warpSize
    """)
)

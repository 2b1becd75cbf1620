"""The numbers of SPIR-V that the workbench reads, by name.

Source: SPIR-V Specification 1.6, section 3 (binary form), and the registry's extensions.
"""

from __future__ import annotations

from enum import IntEnum


class Op(IntEnum):
    """Instructions."""

    UNDEF = 1
    NAME = 5
    MEMBER_NAME = 6
    LINE = 8
    EXTENSION = 10
    ENTRY_POINT = 15
    EXECUTION_MODE = 16
    CAPABILITY = 17
    TYPE_VOID = 19
    TYPE_BOOL = 20
    TYPE_INT = 21
    TYPE_FLOAT = 22
    TYPE_VECTOR = 23
    TYPE_MATRIX = 24
    TYPE_IMAGE = 25
    TYPE_SAMPLER = 26
    TYPE_SAMPLED_IMAGE = 27
    TYPE_ARRAY = 28
    TYPE_RUNTIME_ARRAY = 29
    TYPE_STRUCT = 30
    TYPE_OPAQUE = 31
    TYPE_POINTER = 32
    TYPE_FORWARD_POINTER = 39
    CONSTANT_TRUE = 41
    CONSTANT = 43
    CONSTANT_COMPOSITE = 44
    SPEC_CONSTANT = 50
    SPEC_CONSTANT_COMPOSITE = 51
    SPEC_CONSTANT_OP = 52
    FUNCTION = 54
    FUNCTION_PARAMETER = 55
    FUNCTION_END = 56
    FUNCTION_CALL = 57
    VARIABLE = 59
    LOAD = 61
    STORE = 62
    COPY_MEMORY = 63
    COPY_MEMORY_SIZED = 64
    ACCESS_CHAIN = 65
    IN_BOUNDS_ACCESS_CHAIN = 66
    PTR_ACCESS_CHAIN = 67
    IN_BOUNDS_PTR_ACCESS_CHAIN = 70
    DECORATE = 71
    MEMBER_DECORATE = 72
    VECTOR_SHUFFLE = 79
    COMPOSITE_CONSTRUCT = 80
    COMPOSITE_EXTRACT = 81
    COMPOSITE_INSERT = 82
    COPY_OBJECT = 83
    CONVERT_S_TO_F = 111
    CONVERT_U_TO_F = 112
    U_CONVERT = 113
    S_CONVERT = 114
    CONVERT_PTR_TO_U = 117
    CONVERT_U_TO_PTR = 120
    BITCAST = 124
    F_NEGATE = 127
    I_ADD = 128
    F_ADD = 129
    I_SUB = 130
    F_SUB = 131
    I_MUL = 132
    F_MUL = 133
    F_DIV = 136
    F_REM = 140
    F_MOD = 141
    VECTOR_TIMES_SCALAR = 142
    MATRIX_TIMES_SCALAR = 143
    VECTOR_TIMES_MATRIX = 144
    MATRIX_TIMES_VECTOR = 145
    MATRIX_TIMES_MATRIX = 146
    OUTER_PRODUCT = 147
    DOT = 148
    LOGICAL_NOT_EQUAL = 165
    SELECT = 169
    I_EQUAL = 170
    I_NOT_EQUAL = 171
    U_LESS_THAN = 176
    SHIFT_RIGHT_ARITHMETIC = 195
    SHIFT_LEFT_LOGICAL = 196
    BITWISE_OR = 197
    BITWISE_AND = 199
    ATOMIC_STORE = 228
    ATOMIC_EXCHANGE = 229
    ATOMIC_COMPARE_EXCHANGE = 230
    ATOMIC_COMPARE_EXCHANGE_WEAK = 231
    ATOMIC_I_INCREMENT = 232
    ATOMIC_I_DECREMENT = 233
    ATOMIC_I_ADD = 234
    ATOMIC_I_SUB = 235
    ATOMIC_S_MIN = 236
    ATOMIC_U_MIN = 237
    ATOMIC_S_MAX = 238
    ATOMIC_U_MAX = 239
    ATOMIC_AND = 240
    ATOMIC_OR = 241
    ATOMIC_XOR = 242
    PHI = 245
    LOOP_MERGE = 246
    SELECTION_MERGE = 247
    LABEL = 248
    BRANCH = 249
    BRANCH_CONDITIONAL = 250
    RETURN = 253
    RETURN_VALUE = 254
    NO_LINE = 317
    EXECUTION_MODE_ID = 331
    COPY_LOGICAL = 400
    TYPE_ACCELERATION_STRUCTURE = 5341
    ATOMIC_F_MIN = 5614
    ATOMIC_F_MAX = 5615
    ATOMIC_F_ADD = 6035


class Decoration(IntEnum):
    """Decorations of an id or a member."""

    BLOCK = 2
    ROW_MAJOR = 4
    ARRAY_STRIDE = 6
    MATRIX_STRIDE = 7
    BUILT_IN = 11
    RESTRICT = 19
    VOLATILE = 21
    COHERENT = 23
    NON_WRITABLE = 24
    NON_READABLE = 25
    BINDING = 33
    DESCRIPTOR_SET = 34
    OFFSET = 35
    NO_CONTRACTION = 42


BUILT_IN_WORKGROUP_SIZE = 25

MODES = {
    "LocalSize": 17,
    "LocalSizeId": 38,
    "DenormPreserve": 4459,
    "DenormFlushToZero": 4460,
    "SignedZeroInfNanPreserve": 4461,
    "RoundingModeRTE": 4462,
    "RoundingModeRTZ": 4463,
}

STORAGE = {
    0: "UniformConstant",
    1: "Input",
    2: "Uniform",
    3: "Output",
    4: "Workgroup",
    5: "CrossWorkgroup",
    6: "Private",
    7: "Function",
    8: "Generic",
    9: "PushConstant",
    10: "AtomicCounter",
    11: "Image",
    12: "StorageBuffer",
    5349: "PhysicalStorageBuffer",
}

CAPABILITIES = {
    0: "Matrix",
    1: "Shader",
    2: "Geometry",
    3: "Tessellation",
    4: "Addresses",
    5: "Linkage",
    6: "Kernel",
    9: "Float16",
    10: "Float64",
    11: "Int64",
    12: "Int64Atomics",
    21: "AtomicStorage",
    22: "Int16",
    25: "ImageGatherExtended",
    27: "StorageImageMultisample",
    28: "UniformBufferArrayDynamicIndexing",
    29: "SampledImageArrayDynamicIndexing",
    30: "StorageBufferArrayDynamicIndexing",
    31: "StorageImageArrayDynamicIndexing",
    39: "Int8",
    41: "SparseResidency",
    42: "MinLod",
    43: "Sampled1D",
    44: "Image1D",
    46: "SampledBuffer",
    47: "ImageBuffer",
    49: "StorageImageExtendedFormats",
    50: "ImageQuery",
    51: "DerivativeControl",
    55: "StorageImageReadWithoutFormat",
    56: "StorageImageWriteWithoutFormat",
    61: "GroupNonUniform",
    62: "GroupNonUniformVote",
    63: "GroupNonUniformArithmetic",
    64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle",
    66: "GroupNonUniformShuffleRelative",
    67: "GroupNonUniformClustered",
    68: "GroupNonUniformQuad",
    4423: "SubgroupBallotKHR",
    4431: "SubgroupVoteKHR",
    4433: "StorageBuffer16BitAccess",
    4434: "UniformAndStorageBuffer16BitAccess",
    4435: "StoragePushConstant16",
    4441: "VariablePointersStorageBuffer",
    4442: "VariablePointers",
    4448: "StorageBuffer8BitAccess",
    4449: "UniformAndStorageBuffer8BitAccess",
    4450: "StoragePushConstant8",
    4464: "DenormPreserve",
    4465: "DenormFlushToZero",
    4466: "SignedZeroInfNanPreserve",
    4467: "RoundingModeRTE",
    4468: "RoundingModeRTZ",
    4472: "RayQueryKHR",
    4479: "RayTracingKHR",
    5016: "Int64ImageEXT",
    5055: "ShaderClockKHR",
    5297: "GroupNonUniformPartitionedNV",
    5301: "ShaderNonUniform",
    5302: "RuntimeDescriptorArray",
    5345: "VulkanMemoryModel",
    5346: "VulkanMemoryModelDeviceScope",
    5347: "PhysicalStorageBufferAddresses",
    5357: "CooperativeMatrixNV",
    5612: "AtomicFloat32MinMaxEXT",
    5613: "AtomicFloat64MinMaxEXT",
    5616: "AtomicFloat16MinMaxEXT",
    6016: "DotProductInputAll",
    6017: "DotProductInput4x8Bit",
    6018: "DotProductInput4x8BitPacked",
    6019: "DotProduct",
    6022: "CooperativeMatrixKHR",
    6033: "AtomicFloat32AddEXT",
    6034: "AtomicFloat64AddEXT",
    6095: "AtomicFloat16AddEXT",
}

IMAGE_FORMATS = dict(
    enumerate(
        (
            "", "rgba32f", "rgba16f", "r32f", "rgba8", "rgba8_snorm", "rg32f", "rg16f", "r11f_g11f_b10f", "r16f",
            "rgba16", "rgb10_a2", "rg16", "rg8", "r16", "r8", "rgba16_snorm", "rg16_snorm", "rg8_snorm", "r16_snorm",
            "r8_snorm", "rgba32i", "rgba16i", "rgba8i", "r32i", "rg32i", "rg16i", "rg8i", "r16i", "r8i", "rgba32ui",
            "rgba16ui", "rgba8ui", "r32ui", "rgb10_a2ui", "rg32ui", "rg16ui", "rg8ui", "r16ui", "r8ui", "r64ui", "r64i",
        )
    )
)  # fmt: skip
"""GLSL's names of image formats by SPIR-V's numbers."""

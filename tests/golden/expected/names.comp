// shadesmith 0.1.0, vulkan 67414d2f, names.py:5:
// names(ψ: ndarray[f32[3], 1], float: ndarray[i32, 1], step: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32x3 { vec3 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32x3 psi_data;  // ψ: ndarray[f32[3], 1]
    I32 float_data;  // float: ndarray[i32, 1]
    float step;      // step: f32
    int psi_n;       // ψ.shape[0]
} args;

#define psi(i) args.psi_data.v[i]
#define float_(i) args.float_data.v[i]

// names.py:6  for i in ψ:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint(args.psi_n)) return;
    int i = int(index);
    // names.py:7  λ = ψ[i] * step
    vec3 lambda = psi(i) * args.step;
    // names.py:8  length = λ.norm()
    float length_ = length(lambda);
    // names.py:9  distance = step - length
    float distance = args.step - length_;
    if (distance > 0.0) {  // :10
        // names.py:11  float[i] = ti.atomic_add(float[0], 1)
        float_(i) = atomicAdd(float_(0), 1);
    }
    // names.py:12  ψ[i] += λ.zyx / max(distance, 1e-9)
    // not atomic: no other iteration writes it (demote_atomics)
    psi(i) += lambda.zyx / max(distance, 1e-9);
}

// report(a: ndarray[f32, 1]), task 0 of 1: range_for over a
// from report.py:4, interface 4a533081
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Report {
    uint words[];
};

// Begin a record of `size` words; gives where its first word goes, or 0 if there is no room.
uint report_start(Report report, uint site, uint thread, uint size) {
    uint start = atomicAdd(report.words[0], 3u + size);
    if (start > report.words[1] || report.words[1] - start < 3u + size) {
        return 0u;
    }
    report.words[start + 2u] = site;
    report.words[start + 3u] = thread;
    report.words[start + 4u] = size;
    return start + 5u;
}

// Write one word; gives where the next one goes.
uint report_u32(Report report, uint cursor, uint value) {
    if (cursor == 0u) {
        return 0u;
    }
    report.words[cursor] = value;
    return cursor + 1u;
}

uint report_i32(Report report, uint cursor, int value) {
    return report_u32(report, cursor, uint(value));
}

uint report_f32(Report report, uint cursor, float value) {
    return report_u32(report, cursor, floatBitsToUint(value));
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;     // a: ndarray[f32, 1]
    Report report;  // records of print and assert
    int a_n;        // a.shape[0]
} args;
#define a(i) args.a_data.v[i]

void task(int i, uint index) {
    // report.py:6  if a[i] < 0:
    if (a(i) < 0.0) {
        // report.py:7  print("negative:", i, a[i])
        {
            uint record = report_start(args.report, 0u, index, 2u);
            record = report_i32(args.report, record, i);
            report_f32(args.report, record, a(i));
        }
    }
}

void main() {
    uint index = gl_GlobalInvocationID.x;
    for (uint count = uint(args.a_n); index < count; index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index), index);
    }
}

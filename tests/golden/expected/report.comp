// shadesmith 0.1.0, vulkan 0d860a9d, report.py:4: report(a: ndarray[f32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Report {
    uint words[];
};

// In place of the site of a record: no records follow.
#define EMPTY_SITE 0xffffffffu

// Start a record of `size` words in the section with its header at words[section]; returns the
// index of its first word, or 0 if the section is full.
uint report_start(Report report, uint section, uint site, uint thread, uint size) {
    uint end = report.words[section + 1u];
    if (report.words[section] < end) {
        uint start = atomicAdd(report.words[section], 3u + size);
        if (start + 3u + size <= end) {
            report.words[start] = site;
            report.words[start + 1u] = thread;
            report.words[start + 2u] = size;
            return start + 3u;
        }
        if (start < end) {
            report.words[start] = EMPTY_SITE;
        }
    }
    atomicAdd(report.words[section + 2u], 1u);
    return 0u;
}

uint report_print(Report report, uint site, uint thread, uint size) {
    return report_start(report, 0u, site, thread, size);
}

// Write one word; returns the index of the next.
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

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    ReadF32 a_data;  // a: ndarray[f32, 1]
    Report report;   // records of print and of checks
    int a_n;         // a.shape[0]
} args;

#define a(i) args.a_data.v[i]

// report.py:5  for i in a:
void task(int i, uint index) {
    if (a(i) < 0.0) {  // :6
        // report.py:7  print("negative:", i, a[i])
        uint record = report_print(args.report, 0u, index, 2u);
        record = report_i32(args.report, record, i);
        report_f32(args.report, record, a(i));
    }
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.a_n);
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index), index);
    }
}

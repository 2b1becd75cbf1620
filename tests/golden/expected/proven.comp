// ===== proven_0.comp
// shadesmith 0.1.0, vulkan 96874ee0, proven.py:7: proven(a: ndarray[f32, 1], value: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int rows_n1 = 4;  // shape of rows

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

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
uint report_failure(Report report, uint site, uint thread, uint size) {
    atomicAdd(report.words[6], 1u);
    atomicMin(report.words[8], site);
    return thread < atomicMin(report.words[7], thread)
        ? report_start(report, 3u, site, thread, size)
        : 0u;
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

bool outside_2(Report report, uint site, uint thread, int i, int j, int ni, int nj) {
    if (i >= 0 && i < ni && j >= 0 && j < nj) {
        return false;
    }
    uint record = report_failure(report, site, thread, 4u);
    record = report_i32(report, record, i);
    record = report_i32(report, record, j);
    record = report_i32(report, record, ni);
    report_i32(report, record, nj);
    return true;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) restrict buffer F32x4 { vec4 v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;     // a: ndarray[f32, 1]
    F32 rows_data;  // rows: field[f32, 8x4]
    Report report;  // records of print and of checks
    float value;    // value: f32
    int a_n;        // a.shape[0]
} args;

#define rows(i, j) args.rows_data.v[(i) * rows_n1 + (j)]

// task 0 of 2: range_for over i
// proven.py:8  for i in range(32):
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= 32) return;
    int i = int(index);
    // proven.py:9  v = ti.Vector([value, 2 * value, 3 * value])
    vec3 v = vec3(args.value, 2.0 * args.value, 3.0 * args.value);
    // proven.py:10  rows[i // 4, i % 4] += v[i % 3]
    atomicAdd(rows(i >> 2, i & 3), v[i % 3]);
    // proven.py:11  rows[i // 4 + 1, 0] = value
    int sum = (i >> 2) + 1;
    if (outside_2(args.report, 0u, index, sum, 0, 8, 4)) return;
    rows(sum, 0) = args.value;
}

// ===== proven_1.comp
// shadesmith 0.1.0, vulkan 2d8e1537, proven.py:7: proven(a: ndarray[f32, 1], value: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference_uvec2 : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// Python's % for a number from -b to 2 * b - 1, without a division.
int mod_near_i32(int a, int b) { return a < 0 ? a + b : a < b ? a : a - b; }

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

// Return whether a check failed in a task before the one whose first site is `site`.
bool report_stopped(Report report, uint site) { return report.words[8] < site; }

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) restrict buffer F32x4 { vec4 v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;     // a: ndarray[f32, 1]
    F32 rows_data;  // rows: field[f32, 8x4]
    Report report;  // records of print and of checks
    float value;    // value: f32
    int a_n;        // a.shape[0]
} args;

#define a(i) args.a_data.v[i]
#define a4(i) F32x4(args.a_data).v[(i) / 4]

// task 1 of 2: range_for over a
// proven.py:12  for k in range(a.shape[0]):
void main() {
    if (report_stopped(args.report, 1u)) return;
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= (uint(args.a_n) + 3u) / 4u) return;
    int k = int(index) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if (uvec2(args.a_data).x % 16u == 0u && k <= args.a_n - 4) {
        // proven.py:13  a[k] += a[(k + 1) % a.shape[0]] + a[max(k - 1, 0)]
        vec4 a_k = a4(k);
        // not atomic: no other iteration writes it (demote_atomics)
        a4(k) = a_k + (vec4(a_k.y, a_k.z, a_k.w, a(mod_near_i32(k + 4, args.a_n)))
            + vec4(a(max(k - 1, 0)), a_k.x, a_k.y, a_k.z));
    } else {
        // one by one; k + 4 might overflow
        int end = k + min(args.a_n - k, 4);
        for (int kk = k; kk < end; kk++) {
            a(kk) += a(mod_near_i32(kk + 1, args.a_n)) + a(max(kk - 1, 0));
        }
    }
}

// shadesmith 0.1.0, vulkan a96fc29f, hand_tuning.py:28:
// multiply(a: ndarray[f32, 2], b: ndarray[f32, 2], c: ndarray[f32, 2])
// @base c5bc443e3ab935ad  digest of the generated source that was edited; keep this line
// @for options.disabled_passes = ['lower_access', 'register_tiles']
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 256
#define ITEMS 64  // results that an invocation computes: 8 x 8
#define TILE 128  // a work group computes TILE x TILE results,
#define DEPTH 16  // from DEPTH columns of a and rows of b at a time
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 a_data;  // a: ndarray[f32, 2]
    F32 b_data;  // b: ndarray[f32, 2]
    F32 c_data;  // c: ndarray[f32, 2]
    int a_n1;    // a.shape[1]
    int b_n1;    // b.shape[1]
    int c_n0;    // c.shape[0]
    int c_n1;    // c.shape[1]
} args;

#define a(i, j) args.a_data.v[(i) * args.a_n1 + (j)]
#define b(i, j) args.b_data.v[(i) * args.b_n1 + (j)]
#define c(i, j) args.c_data.v[(i) * args.c_n1 + (j)]

shared vec4 left[DEPTH][TILE / 4 + 1];  // a column each; one more, so that its stores meet other banks
shared vec4 right[DEPTH][TILE / 4];

void main() {
    const int thread = int(gl_LocalInvocationID.x), x = thread % 16, y = thread / 16;
    const int columns = (args.c_n1 + TILE - 1) / TILE, tiles = (args.c_n0 + TILE - 1) / TILE * columns;
    const int first = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);
    for (int tile = first; tile < tiles; tile += int(gl_NumWorkGroups.y * gl_NumWorkGroups.x)) {
        const int i0 = tile / columns * TILE, j0 = tile % columns * TILE;
        vec4 total[8][2];
        for (int r = 0; r < 8; r++) {
            total[r][0] = total[r][1] = vec4(0.0);
        }
        for (int k0 = 0; k0 < args.a_n1; k0 += DEPTH) {
            for (int t = thread; t < TILE * DEPTH; t += BLOCK) {
                int i = t / DEPTH, k = t % DEPTH;
                bool inside = i0 + i < args.c_n0 && k0 + k < args.a_n1;
                left[k][i / 4][i % 4] = inside ? a(i0 + i, k0 + k) : 0.0;
            }
            for (int t = thread; t < TILE * DEPTH; t += BLOCK) {
                int k = t / TILE, j = t % TILE;
                bool inside = k0 + k < args.a_n1 && j0 + j < args.c_n1;
                right[k][j / 4][j % 4] = inside ? b(k0 + k, j0 + j) : 0.0;
            }
            barrier();
            for (int k = 0; k < DEPTH; k++) {
                vec4 rows[2] = vec4[](left[k][y], left[k][16 + y]);
                vec4 cells[2] = vec4[](right[k][x], right[k][16 + x]);
                for (int r = 0; r < 8; r++) {
                    total[r][0] += rows[r / 4][r % 4] * cells[0];
                    total[r][1] += rows[r / 4][r % 4] * cells[1];
                }
            }
            barrier();
        }
        for (int r = 0; r < 8; r++) {
            for (int s = 0; s < 8; s++) {
                int i = i0 + r / 4 * 64 + y * 4 + r % 4, j = j0 + s / 4 * 64 + x * 4 + s % 4;
                if (i < args.c_n0 && j < args.c_n1) {
                    c(i, j) = total[r][s / 4][s % 4];
                }
            }
        }
    }
}

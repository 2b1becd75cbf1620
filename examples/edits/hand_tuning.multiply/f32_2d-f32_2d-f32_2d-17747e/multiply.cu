// shadesmith 0.1.0, cuda 750079da, hand_tuning.py:28:
// multiply(a: ndarray[f32, 2], b: ndarray[f32, 2], c: ndarray[f32, 2])
// @base b8fe1d1bcc22ad0b  digest of the generated source that was edited; keep this line
// @for options.disabled_passes = ['lower_access', 'register_tiles']

#define BLOCK 256
#define ITEMS 64  // results that a thread computes: 8 x 8
#define TILE 128  // a block computes TILE x TILE results,
#define DEPTH 16  // from DEPTH columns of a and rows of b at a time

struct Args {
    const float *a_data;  // a: ndarray[f32, 2]
    const float *b_data;  // b: ndarray[f32, 2]
    float *c_data;        // c: ndarray[f32, 2]
    int a_n1;             // a.shape[1]
    int b_n1;             // b.shape[1]
    int c_n0;             // c.shape[0]
    int c_n1;             // c.shape[1]
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]
#define b(i, j) args.b_data[(long long)(i) * args.b_n1 + (j)]
#define c(i, j) args.c_data[(long long)(i) * args.c_n1 + (j)]

// Four numbers of shared memory at once.
__device__ inline void load4(float *to, const float *from) {
    *(float4 *)to = *(const float4 *)from;
}

extern "C" __global__ void __launch_bounds__(BLOCK) multiply_0(const Args args) {
    __shared__ float left[DEPTH][TILE + 4];  // a column each; four more, so that its stores meet other banks
    __shared__ float right[DEPTH][TILE];
    const int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;  // of four of this thread's columns, rows
    const int columns = (args.c_n1 + TILE - 1) / TILE, tiles = (args.c_n0 + TILE - 1) / TILE * columns;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int i0 = tile / columns * TILE, j0 = tile % columns * TILE;
        alignas(16) float total[8][8] = {};
        for (int k0 = 0; k0 < args.a_n1; k0 += DEPTH) {
            for (int t = threadIdx.x; t < TILE * DEPTH; t += BLOCK) {
                int i = i0 + t / DEPTH, k = k0 + t % DEPTH;
                left[t % DEPTH][t / DEPTH] = i < args.c_n0 && k < args.a_n1 ? a(i, k) : 0.0f;
            }
            for (int t = threadIdx.x; t < TILE * DEPTH; t += BLOCK) {
                int k = k0 + t / TILE, j = j0 + t % TILE;
                right[t / TILE][t % TILE] = k < args.a_n1 && j < args.c_n1 ? b(k, j) : 0.0f;
            }
            __syncthreads();
            #pragma unroll
            for (int k = 0; k < DEPTH; k++) {
                alignas(16) float rows[8], cells[8];
                load4(rows, &left[k][y]), load4(rows + 4, &left[k][64 + y]);
                load4(cells, &right[k][x]), load4(cells + 4, &right[k][64 + x]);
                #pragma unroll
                for (int r = 0; r < 8; r++) {
                    #pragma unroll
                    for (int s = 0; s < 8; s++) {
                        total[r][s] += rows[r] * cells[s];
                    }
                }
            }
            __syncthreads();
        }
        #pragma unroll
        for (int r = 0; r < 8; r++) {
            #pragma unroll
            for (int s = 0; s < 8; s++) {
                int i = i0 + r / 4 * 64 + y + r % 4, j = j0 + s / 4 * 64 + x + s % 4;
                if (i < args.c_n0 && j < args.c_n1) {
                    c(i, j) = total[r][s];
                }
            }
        }
    }
}

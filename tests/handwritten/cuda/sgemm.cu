// C = A * B: tiles of 64 x 64 in shared memory, 4 x 4 results in the registers of each thread.

constexpr int n = 512;
constexpr int TILE = 64;
constexpr int DEPTH = 16;
constexpr int THREADS = 256;

extern "C" __global__ void sgemm(
    const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C
) {
    __shared__ float sa[DEPTH][TILE];
    __shared__ float sb[DEPTH][TILE];
    int row = blockIdx.y * TILE;
    int col = blockIdx.x * TILE;
    int ty = threadIdx.x / 16;
    int tx = threadIdx.x % 16;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < n; k0 += DEPTH) {
        #pragma unroll
        for (int r = 0; r < DEPTH * TILE / THREADS; r++) {
            int e = threadIdx.x + r * THREADS;
            sa[e % DEPTH][e / DEPTH] = A[(row + e / DEPTH) * n + k0 + e % DEPTH];
            sb[e / TILE][e % TILE] = B[(k0 + e / TILE) * n + col + e % TILE];
        }
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            #pragma unroll
            for (int i = 0; i < 4; i++) {
                #pragma unroll
                for (int j = 0; j < 4; j++) {
                    acc[i][j] += sa[k][ty + 16 * i] * sb[k][tx + 16 * j];
                }
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
            C[(row + ty + 16 * i) * n + col + tx + 16 * j] = acc[i][j];
        }
    }
}

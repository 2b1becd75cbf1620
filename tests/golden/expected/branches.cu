// shadesmith 0.1.0, cuda 55174797, branches.py:4: branches(a: ndarray[i32, 1], n: i32)

#define BLOCK 128

struct Args {
    int *__restrict__ a_data;  // a: ndarray[i32, 1]
    int n;                     // n: i32
};

#define a(i) args.a_data[i]

// a launch of up to 32,768 iterations has blocks of 32 threads (few_threads)
// branches.py:5  for i in range(n):
extern "C" __global__ void __launch_bounds__(BLOCK) branches_0(const Args args) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= unsigned(max(args.n, 0))) return;
    int i = index;
    int x = a(i);  // :6
    if (x < 0) {  // :7
        return;  // :8
    }
    if (x == 0) {  // :9
        x = 7;  // :10
    } else if ((x & 1) == 0) {  // branches.py:11  elif x % 2 == 0:
        // branches.py:12  x //= 2
        x >>= 1;
    } else {
        x = x > 1 ? int(3u * x + 1) : 0;  // :14
    }
    for (int k = 2; k < args.n; k += 3) {  // :15
        if (a(k) == x || k > x) {  // :16
            break;  // :17
        }
        x += unsigned(a(k));  // :18
    }
    a(i) = x;  // :19
}

// shadesmith 0.1.0, cuda 1b89224f, branches.py:4: branches(a: ndarray[i32, 1], n: i32)

#define BLOCK 128

// Quotient rounded toward zero; 0 if the divisor is 0.
__device__ inline int div_i32(int a, int b) {
    // x / 0 is undefined, and so is the lowest number / -1
    return b == 0 ? 0 : b == -1 ? -a : a / b;
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
__device__ inline int rem_i32(int a, int b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
__device__ inline int floor_div_i32(int a, int b) {
    int quotient = div_i32(a, b);
    return rem_i32(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 if the divisor is 0.
__device__ inline int mod_i32(int a, int b) {
    int remainder = rem_i32(a, b);
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

struct Args {
    int *a_data;  // a: ndarray[i32, 1]
    int n;        // n: i32
};

#define a(i) args.a_data[i]

// branches.py:5  for i in range(n):
__device__ inline void task(const Args &args, int i) {
    int x = a(i);  // :6
    if (x < 0) {  // :7
        return;  // :8
    }
    if (x == 0) {  // :9
        x = 7;  // :10
    } else if (mod_i32(x, 2) == 0) {  // branches.py:11  elif x % 2 == 0:
        // branches.py:12  x //= 2
        x = floor_div_i32(x, 2);
    } else {
        x = x > 1 ? 3 * x + 1 : 0;  // :14
    }
    for (int k = 2; k < args.n; k += 3) {  // :15
        if (a(k) == x || k > x) {  // :16
            break;  // :17
        }
        x += a(k);  // :18
    }
    a(i) = x;  // :19
}

extern "C" __global__ void __launch_bounds__(BLOCK) branches_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < unsigned(max(args.n, 0))) {
        task(args, int(index));
    }
}

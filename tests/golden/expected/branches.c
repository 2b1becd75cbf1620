// shadesmith 0.1.0, c 7cbbf509, branches.py:4: branches(a: ndarray[i32, 1], n: i32)

// Quotient rounded toward zero; 0 if the divisor is 0.
static inline int div_i32(int a, int b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 and the lowest number / -1 trap on x86
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
static inline int rem_i32(int a, int b) {
    return b == 0 || b == -1 ? 0 : a % b;
}

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
static inline int floor_div_i32(int a, int b) {
    int quotient = div_i32(a, b);
    return rem_i32(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

// Python's %: remainder with the sign of the divisor; 0 if the divisor is 0.
static inline int mod_i32(int a, int b) {
    int remainder = rem_i32(a, b);
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

struct Args {
    int *a_data;  // a: ndarray[i32, 1]
    int n;        // n: i32
};

#define a(i) args.a_data[i]

// branches.py:5  for i in range(n):
static inline void task(const struct Args args, int i) {
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

void branches_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.n >= 64)
    for (int i = 0; i < args.n; i++) {
        task(args, i);
    }
}

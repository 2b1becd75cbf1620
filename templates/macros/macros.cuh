// What SM_PRINT, SM_ASSERT and SM_TRAP_NAN become in an edited CUDA C source; see `macros.h`.

#define SM_REPORT ((unsigned *)@ADDRESS@ull)
#define SM_SIZE(...) (1u + (unsigned(sizeof(__VA_ARGS__)) + 3u) / 4u)

// Start a record of `size` words in a section of the buffer; returns its first word, 0 if there is no space.
__device__ inline unsigned *sm_start(unsigned section, unsigned site, unsigned thread, unsigned size) {
    unsigned *report = SM_REPORT, end = report[section + 1];
    if (*(volatile unsigned *)&report[section] < end) {
        unsigned start = atomicAdd(&report[section], 3 + size);
        if (start + 3 + size <= end) {
            report[start] = site;
            report[start + 1] = thread;
            report[start + 2] = size;
            return &report[start + 3];
        }
        if (start < end)
            report[start] = 0xffffffffu;
    }
    atomicAdd(&report[section + 2], 1u);
    return nullptr;
}

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
__device__ inline unsigned *sm_fail(unsigned site, unsigned thread, unsigned size) {
    atomicAdd(&SM_REPORT[6], 1u);
    return thread < atomicMin(&SM_REPORT[7], thread) ? sm_start(3, site, thread, size) : nullptr;
}

// The type of a value by the numbers of `macro_records.py`, and the rows of a matrix in bits 8 to 15: of a
// number, of a vector (its members are x and y, or an array e), of a matrix (an array m), of an array.
// 0: of anything else, such as `half`, which is written as float.
template <unsigned n> struct sm_tag { static constexpr unsigned type = n; };
template <class T> struct sm_number : sm_tag<0> {};
#define SM_NUMBER(T, n) template <> struct sm_number<T> : sm_tag<n> {};
SM_NUMBER(bool, 1) SM_NUMBER(char, 2) SM_NUMBER(signed char, 2) SM_NUMBER(unsigned char, 3) SM_NUMBER(short, 4)
SM_NUMBER(unsigned short, 5) SM_NUMBER(int, 6) SM_NUMBER(unsigned, 7) SM_NUMBER(long, sizeof(long) == 8 ? 8 : 6)
SM_NUMBER(unsigned long, sizeof(long) == 8 ? 9 : 7) SM_NUMBER(long long, 8) SM_NUMBER(unsigned long long, 9)
SM_NUMBER(float, 11) SM_NUMBER(double, 12)
template <class N, unsigned n> __device__ sm_number<N> sm_element(const N (&)[n]);
template <class N, unsigned k, unsigned n> __device__ sm_tag<sm_number<N>::type | k << 8> sm_element(const N (&)[k][n]);
template <class T> __device__ auto sm_type(const T *v, int) -> sm_number<decltype(v->x)>;
template <class T> __device__ auto sm_type(const T *v, int) -> decltype(sm_element(v->e));
template <class T> __device__ auto sm_type(const T *v, int) -> decltype(sm_element(v->m));
template <class T> __device__ sm_number<T> sm_type(const T *v, long);
template <class N, unsigned n> __device__ sm_number<N> sm_type(const N (*v)[n], long);
template <class T> struct sm_type_of : sm_tag<decltype(sm_type((const T *)nullptr, 0))::type> {};

// Write bytes whose type is `type` at `at`.
__device__ inline void sm_write(unsigned *&at, unsigned type, const void *value, unsigned size) {
    if (!at)
        return;
    const unsigned char *bytes = (const unsigned char *)value;
    *at++ = type | size << 16;
    for (unsigned k = 0; k < size; k += 4) {
        unsigned word = 0;
        for (unsigned j = 0; j < 4 && k + j < size; j++)
            word |= unsigned(bytes[k + j]) << 8 * j;
        *at++ = word;
    }
}

template <class T> __device__ inline void sm_put(unsigned *&at, const T &v) {
    if constexpr (sm_type_of<T>::type != 0) {
        sm_write(at, sm_type_of<T>::type, &v, sizeof v);
    } else {
        float number = v;
        sm_write(at, 11, &number, sizeof number);
    }
}

// Return whether bytes have a NaN: compilers may take `x != x` for false.
__device__ inline bool sm_is_nan(unsigned type, const void *value, unsigned size) {
    const unsigned char *bytes = (const unsigned char *)value;
    unsigned width = (type & 255) == 12 ? 8 : (type & 255) == 11 ? 4 : 0;
    for (unsigned k = 0; width && k < size; k += width) {
        unsigned long long bits = 0, infinity = width == 8 ? 0x7ffull << 52 : 0x7f800000u;
        for (unsigned j = 0; j < width; j++)
            bits |= (unsigned long long)bytes[k + j] << 8 * j;
        if ((bits & ~(1ull << (8 * width - 1))) > infinity)
            return true;
    }
    return false;
}
template <class T> __device__ inline bool sm_has_nan(const T &v) {
    if constexpr (sm_type_of<T>::type != 0) {
        return sm_is_nan(sm_type_of<T>::type, &v, sizeof v);
    } else {
        float number = v;
        return sm_is_nan(11, &number, sizeof number);
    }
}

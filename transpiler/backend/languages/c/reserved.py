"""Reserved names of C: keywords, types and macros; functions that a local variable may hide."""

from __future__ import annotations

from ..common.reserved import TENSORS, names

_C = names("""
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true false
main size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t NULL
INFINITY NAN asm typeof linux unix defined collapse schedule num_threads simdlen safelen reduction firstprivate
_Accum _Alignas _Alignof _Atomic _Bool _Complex _Decimal32 _Decimal64 _Decimal128 _Float16 _Float32 _Float32x _Float64
_Float64x _Float128 _Fract _Generic _Imaginary _Noreturn _Pragma _Sat _Static_assert _Thread_local
HUGE_VAL HUGE_VALF HUGE_VALL FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO math_errhandling
MATH_ERREXCEPT MATH_ERRNO M_1_PI M_2_PI M_2_SQRTPI M_E M_LN10 M_LN2 M_LOG10E M_LOG2E M_PI M_PI_2 M_PI_4 M_SQRT1_2
M_SQRT2 PTRDIFF_MAX PTRDIFF_MIN SIG_ATOMIC_MAX SIG_ATOMIC_MIN SIZE_MAX WCHAR_MAX WCHAR_MIN WINT_MAX WINT_MIN
_ATFILE_SOURCE _BITS_FLOATN_COMMON_H _BITS_FLOATN_H _BITS_LIBM_SIMD_DECL_STUBS_H _BITS_STDINT_INTN_H _BITS_TIME64_H
_BITS_STDINT_UINTN_H _BITS_TYPESIZES_H _BITS_TYPES_H _BITS_WCHAR_H _DEFAULT_SOURCE _FEATURES_H _GCC_WRAP_STDINT_H _LP64
_MATH_H _OPENMP _POSIX_C_SOURCE _POSIX_SOURCE _REENTRANT _STDBOOL_H _STDC_PREDEF_H _STDINT_H _SYS_CDEFS_H
""")
_WIDTHS = (
    "8",
    "16",
    "32",
    "64",
    "_FAST8",
    "_FAST16",
    "_FAST32",
    "_FAST64",
    "_LEAST8",
    "_LEAST16",
    "_LEAST32",
    "_LEAST64",
)
_C += [
    f"{kind}{width}_{end}" for kind in ("INT", "UINT") for width in (*_WIDTHS, "MAX", "PTR") for end in ("MAX", "MIN")
]

_MATHS = names("""
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem erf erfc exp exp2 expm1 fabs fdim finite floor
fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb
lrint lround modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalb scalbln scalbn significand
sin sinh sqrt tan tanh tgamma trunc y0 y1 yn
""")
_C_FUNCTIONS = names("""
signbit isfinite isnormal isgreater isgreaterequal isless islessequal islessgreater isunordered fpclassify signgam abs
labs div ldiv lgamma_r lgammaf_r lgammal_r double_t float_t wchar_t intmax_t uintmax_t offsetof malloc free calloc
realloc memcpy memset memmove memcmp exit abort atexit printf puts rand srand
""")
_OTHER_MATHS = names("""
cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog clog10 conj cpow cproj creal csin csinh
csqrt ctan ctanh exp10 pow10 roundeven sincos
""")
_KNOWN_TO_GCC = names("""
alloca aligned_alloc bcmp bcopy bzero ffs ffsl ffsll fork execl execle execlp execv execve execvp index rindex gettext
isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit toascii tolower
toupper iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint iswpunct iswspace iswupper iswxdigit
towlower towupper fprintf fputc fputs fscanf fwrite memchr mempcpy putc putchar scanf snprintf sprintf sscanf vfprintf
vfscanf vprintf vscanf vsnprintf vsprintf vsscanf stpcpy stpncpy strcasecmp strcat strchr strcmp strcpy strcspn strdup
strfmon strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strspn strstr posix_memalign
feclearexcept fegetenv fegetround feholdexcept feraiseexcept fesetenv fesetround fetestexcept feupdateenv
gamma_r gammaf_r gammal_r signbitf signbitl
""")
"""Functions of other headers: gcc knows their types without them, and warns of a function of that name with others."""
_C_FUNCTIONS += _KNOWN_TO_GCC
_C_FUNCTIONS += [f"{name}{suffix}" for name in (*_MATHS, *_OTHER_MATHS) for suffix in ("", "f", "l")]
_C_FUNCTIONS += [f"{kind}{width.lower()}_t" for kind in ("int", "uint") for width in _WIDTHS if "_" in width]
_C_FUNCTIONS += [f"{kind}{width}_C" for kind in ("INT", "UINT") for width in ("8", "16", "32", "64", "MAX")]

RESERVED = frozenset(_C) | TENSORS
"""Keywords and types."""
FUNCTIONS = frozenset(_C_FUNCTIONS)
"""Functions that a local variable may hide if its function does not call them."""

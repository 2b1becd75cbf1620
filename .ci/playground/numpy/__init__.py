"""What the compiler needs of NumPy, in plain Python: for the playground, where NumPy's own wheel is not at hand.

Scalars have NumPy's names, ranges and rounding: sums of float32 are rounded once, integers wrap. Arrays exist as types
and as shapes only: the playground compiles, and computes nothing.
"""
# ruff: noqa

from __future__ import annotations

import contextlib
import math
import operator
import struct
from itertools import product

__version__ = "2.0.0"
inf, nan, pi, newaxis = math.inf, math.nan, math.pi, None


class generic:
    """A number of a fixed type. value: a Python number that the type holds exactly."""

    def __class_getitem__(cls, _):
        return cls

    __slots__ = ("value",)
    shape, ndim, size = (), 0, 1

    def __new__(cls, value=0, *_):
        made = object.__new__(cls)
        made.value = cls._held(value.value if isinstance(value, generic) else value)
        return made

    @property
    def dtype(self):
        return dtype(_plain(type(self)))

    def item(self):
        return self.value

    def __int__(self):
        return int(self.value)

    def __index__(self):
        return operator.index(self.value)

    def __float__(self):
        return float(self.value)

    def __bool__(self):
        return bool(self.value)

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"np.{_plain(type(self)).__name__}({self})"

    def __str__(self):
        return str(self.value)

    def __format__(self, spec):
        return format(self.value, spec)

    def __neg__(self):
        return _plain(type(self))(-self.value)

    def __abs__(self):
        return _plain(type(self))(abs(self.value))

    def __invert__(self):
        return _plain(type(self))(~self.value)

    def is_integer(self):
        return float(self.value).is_integer()

    def as_integer_ratio(self):
        return self.value.as_integer_ratio()

    def hex(self):
        return float(self.value).hex()

    def bit_length(self):
        return int(self.value).bit_length()

    def bit_count(self):
        return int(self.value).bit_count()

    def astype(self, kind, **_):
        return dtype(kind).type(self.value)

    def view(self, kind):
        code, bits = _CODES[_plain(type(self))], struct.calcsize(_CODES[_plain(type(self))])
        target = dtype(kind).type
        assert struct.calcsize(_CODES[target]) == bits
        return target(struct.unpack("<" + _CODES[target], struct.pack("<" + code, self.value))[0])


class number(generic):
    __slots__ = ()


class integer(number):
    __slots__ = ()
    bits, signed = 64, True

    @classmethod
    def _held(cls, value):
        number_ = int(value)
        wrapped = number_ & ((1 << cls.bits) - 1)
        return wrapped - (1 << cls.bits) if cls.signed and wrapped >> (cls.bits - 1) else wrapped


class signedinteger(integer):
    __slots__ = ()


class unsignedinteger(integer):
    __slots__ = ()
    signed = False


class inexact(number):
    __slots__ = ()


class floating(inexact):
    __slots__ = ()

    @classmethod
    def _held(cls, value):
        value = float(value)
        try:
            return struct.unpack("<" + cls.code, struct.pack("<" + cls.code, value))[0]
        except OverflowError:
            return math.copysign(inf, value)

    def __str__(self):
        if self.bits == 64 or not math.isfinite(self.value):
            return repr(self.value)
        kind = _plain(type(self))
        digits = (f"{self.value:.{count}g}" for count in range(1, 10))
        return repr(float(next(text for text in digits if kind._held(float(text)) == self.value)))


class complexfloating(inexact):
    __slots__ = ()


class bool_(generic):
    __slots__ = ()

    @classmethod
    def _held(cls, value):
        return bool(value)

    def __invert__(self):
        return bool_(not self.value)


class void(generic):
    __slots__ = ()


def _class(base, name, **members):
    made = type(name, (base,), {"__slots__": (), **members})
    globals()[name] = made
    return made


_CODES = {bool_: "?"}
for _bits, _code in ((8, "b"), (16, "h"), (32, "i"), (64, "q")):
    _CODES[_class(signedinteger, f"int{_bits}", bits=_bits)] = _code
    _CODES[_class(unsignedinteger, f"uint{_bits}", bits=_bits)] = _code.upper()
for _bits, _code in ((16, "e"), (32, "f"), (64, "d")):
    _CODES[_class(floating, f"float{_bits}", code=_code, bits=_bits)] = _code
intp, longlong, ulonglong = int64, int64, uint64  # noqa: F821
True_, False_ = bool_(True), bool_(False)
_ORDER = list(_CODES)


def _plain(kind):
    """Return the type of NumPy's that a class is or comes from."""
    return next(base for base in kind.__mro__ if base in _CODES)


def _common(a, b):
    """Return the type of an operation on two numbers; Python's take that of the other."""
    if not isinstance(a, generic) or not isinstance(b, generic):
        kind = _plain(type(a if isinstance(a, generic) else b))
        other = b if isinstance(a, generic) else a
        if isinstance(other, float) and not issubclass(kind, floating):
            return float64  # noqa: F821
        return int64 if kind is bool_ and not isinstance(other, bool) else kind  # noqa: F821
    first, second = _plain(type(a)), _plain(type(b))
    if first is second:
        return first
    if issubclass(first, floating) or issubclass(second, floating):
        return max((k for k in (first, second) if issubclass(k, floating)), key=lambda k: k.bits)
    return max((k for k in (first, second) if k is not bool_), key=lambda k: (k.bits, not k.signed))


def _value(a):
    return a.value if isinstance(a, generic) else a


def _divided(a, b):
    try:
        return a / b
    except ZeroDivisionError:
        return nan if a == 0 or a != a else math.copysign(inf, a) * math.copysign(1, b)


def _guarded(apply):
    def meaning(a, b):
        try:
            return apply(a, b)
        except ZeroDivisionError:
            return 0 if isinstance(a, int) and isinstance(b, int) else nan
        except OverflowError:
            return inf

    return meaning


def _binary(apply, result=None):
    def method(self, other):
        if not isinstance(other, (generic, int, float)):
            return NotImplemented
        kind = _common(self, other)
        if result is not None:
            return result(apply(_value(self), _value(other)))
        if apply is _divided and not issubclass(kind, floating):
            kind = float64  # noqa: F821
        return kind(apply(kind(self).value, kind(other).value))

    return method


def _reflected(method):
    def reflected(self, other):
        kind = _common(self, other) if isinstance(other, (generic, int, float)) else None
        return NotImplemented if kind is None else method(kind(other), self)

    return reflected


for _name, _apply in {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": _divided, "and": operator.and_,
    "or": operator.or_, "xor": operator.xor, "lshift": operator.lshift, "rshift": operator.rshift,
    "floordiv": _guarded(operator.floordiv), "mod": _guarded(operator.mod), "pow": _guarded(operator.pow),
}.items():  # fmt: skip
    _method = _binary(_apply)
    setattr(generic, f"__{_name}__", _method)
    setattr(generic, f"__r{_name}__", _reflected(_method))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(generic, f"__{_name}__", _binary(getattr(operator, _name), bool_))


class dtype:
    """The type of an element."""

    def __class_getitem__(cls, _):
        return cls

    names, subdtype, shape, fields, isnative, hasobject = None, None, (), None, True, False

    def __init__(self, kind, align=False, copy=False):
        if isinstance(kind, (list, dict, tuple)) or kind is void:
            self.type, self.kind, self.char, self.name, self.str = void, "V", "", "void", "|V1"
            members = (
                kind["names"] if isinstance(kind, dict) else [m[0] for m in kind] if isinstance(kind, list) else ()
            )
            self.names = tuple(members) or None
            self.itemsize = kind["itemsize"] if isinstance(kind, dict) and "itemsize" in kind else 1
            self.byteorder, self.alignment = "|", 1
            return
        if isinstance(kind, dtype):
            vars(self).update(vars(kind))
            return
        if isinstance(kind, str):
            kind = globals()[kind.lstrip("<>=|")] if kind.lstrip("<>=|") in globals() else _by_code(kind)
        kind = {int: int64, float: float64, bool: bool_}.get(kind, kind)  # noqa: F821
        if not isinstance(kind, type) or kind not in _CODES:
            raise TypeError(f"Cannot interpret {kind!r} as a data type")
        self.type, self.char = kind, _CODES[kind]
        self.name = kind.__name__.rstrip("_")
        self.itemsize = struct.calcsize("<" + self.char)
        self.kind = "b" if kind is bool_ else "f" if issubclass(kind, floating) else "i" if kind.signed else "u"
        self.str = f"<{self.kind}{self.itemsize}"
        self.byteorder, self.alignment = "=", self.itemsize

    def __eq__(self, other):
        try:
            return self.type is dtype(other).type and self.names == dtype(other).names
        except (TypeError, KeyError):
            return False

    def __hash__(self):
        return hash(self.type)

    def __repr__(self):
        return f"dtype('{self.name}')"

    __str__ = __repr__

    def newbyteorder(self, *_):
        return self


def _by_code(text):
    found = {f"{d.kind}{d.itemsize}": d.type for d in map(dtype, _CODES)} | {"?": bool_}
    plain = text.lstrip("<>=|")
    return found[plain] if plain in found else next(k for k, code in _CODES.items() if code == plain)


class iinfo:
    """The range of an integer type."""

    def __init__(self, kind):
        kind = dtype(kind).type
        self.bits = kind.bits
        self.min, self.max = (
            (-(1 << kind.bits - 1), (1 << kind.bits - 1) - 1) if kind.signed else (0, (1 << kind.bits) - 1)
        )


class finfo:
    """The range of a floating-point type."""

    def __init__(self, kind):
        digits, largest = {16: (10, 15), 32: (23, 127), 64: (52, 1023)}[dtype(kind).type.bits]
        self.bits, self.nmant = dtype(kind).type.bits, digits
        self.eps, self.tiny = 2.0**-digits, 2.0 ** (1 - largest)
        self.max = (2 - self.eps) * 2.0**largest
        self.min, self.smallest_normal = -self.max, self.tiny


class _Address:
    """Stands for `array.ctypes`: an address that nobody reads."""

    last = 1 << 20

    def __init__(self, size):
        self.data = _Address.last
        _Address.last += size + 4096 - size % 4096


class _Flags:
    c_contiguous = contiguous = writeable = aligned = owndata = True
    f_contiguous = False

    def __getitem__(self, _):
        return True


class ndarray:
    """A shape with elements, row by row; what computes with arrays is not here."""

    base, flags = None, _Flags()

    def __class_getitem__(cls, _):
        return cls

    def __init__(self, shape=(), dtype=float64, buffer=None, offset=0, strides=None, elements=()):  # noqa: F821, A002
        self.shape = (shape,) if isinstance(shape, (int, integer)) else tuple(shape)
        self.dtype = globals()["dtype"](dtype)
        self.ndim, self.size, self.itemsize = len(self.shape), math.prod(map(int, self.shape)), self.dtype.itemsize
        self.nbytes = self.size * self.itemsize
        steps = [self.itemsize * math.prod(map(int, self.shape[k + 1 :])) for k in range(self.ndim)]
        self.strides = tuple(strides) if strides is not None else tuple(steps)
        self.ctypes = _Address(self.nbytes)
        self.elements = list(elements)

    @property
    def data(self):
        return memoryview(bytearray(min(self.nbytes, 1 << 16)))

    @property
    def __array_interface__(self):
        return {"data": (self.ctypes.data, False), "strides": None, "typestr": self.dtype.str, "shape": self.shape}

    @property
    def flat(self):
        return iter(self.elements)

    def tolist(self):
        return [_value(element) for element in self.elements]

    def tobytes(self):
        return struct.pack(f"<{len(self.elements)}{self.dtype.char}", *map(_value, self.elements))

    def view(self, *_):
        return self

    def reshape(self, *shape):
        return ndarray(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape, self.dtype)

    def astype(self, kind, **_):
        return ndarray(self.shape, kind)

    copy = transpose = view

    def fill(self, value):
        pass

    def __iter__(self):
        return iter(self.elements)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        return self.elements[index] if self.elements else self

    def __setitem__(self, index, value):
        pass


def array(values=(), dtype=None, **_):  # noqa: A002
    """Return numbers as an array of one axis."""
    if isinstance(values, ndarray):
        return values
    if isinstance(values, (int, float, generic)):
        kind = dtype or (values.dtype if isinstance(values, generic) else type(values))
        return ndarray((), kind, elements=[values])
    values = list(values)
    kind = dtype or (values[0].dtype if values and isinstance(values[0], generic) else float)
    if values and isinstance(values[0], (list, tuple)):
        inner = array(values[0])
        return ndarray((len(values), *inner.shape), dtype or inner.dtype)
    return ndarray((len(values),), kind, elements=map(globals()["dtype"](kind).type, values))


asarray = ascontiguousarray = array


def zeros(shape, dtype=float, **_):  # noqa: A002
    """Return an array without elements: only its type matters here."""
    return ndarray(shape, dtype)


empty = ones = zeros


def full(shape, value, dtype=None, **_):  # noqa: A002
    return ndarray(shape, dtype or type(value))


def zeros_like(other, dtype=None, **_):  # noqa: A002
    return ndarray(other.shape, dtype or other.dtype)


empty_like = ones_like = zeros_like


def arange(*bounds, dtype=None, **_):  # noqa: A002
    return ndarray((len(range(*map(int, bounds))),), dtype or type(bounds[0]))


def frombuffer(data, dtype=float, count=-1, offset=0):  # noqa: A002
    kind = globals()["dtype"](dtype)
    return ndarray((count if count >= 0 else max(0, len(data) // max(1, kind.itemsize)),), kind)


def ndindex(*shape):
    return product(*map(range, shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape))


@contextlib.contextmanager
def errstate(**_):
    yield


class _Function:
    """A function of numbers. result: the type of what it returns; None: that of its arguments."""

    def __init__(self, apply, result=None, is_real=False):
        self.apply, self.result, self.is_real = apply, result, is_real

    def __call__(self, *args, **_):
        kinds = [arg for arg in args if isinstance(arg, generic)]
        kind = type(kinds[0]) if len(kinds) == 1 else _common(*kinds) if kinds else float64  # noqa: F821
        kind = _plain(kind)
        if self.is_real and not issubclass(kind, floating):
            kind = float64  # noqa: F821
        try:
            found = self.apply(*map(_value, args))
        except (ValueError, ZeroDivisionError):
            found = nan
        except OverflowError:
            found = inf
        return (self.result or kind)(found)

    def outer(self, *args):
        raise NotImplementedError("arrays are not computed with here")


for _name in "sin cos tan tanh exp log sqrt fmod".split():
    globals()[_name] = _Function(getattr(math, _name), is_real=_name != "fmod")
for _name, _apply in {"arcsin": "asin", "arccos": "acos", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
                      "arctanh": "atanh", "log2": "log2", "arctan": "atan"}.items():  # fmt: skip
    globals()[_name] = _Function(getattr(math, _apply), is_real=True)


def _whole(function):
    return lambda a: float(function(a)) if math.isfinite(a) else a


floor, ceil, trunc = (_Function(_whole(getattr(math, name))) for name in ("floor", "ceil", "trunc"))
rint = round_ = _Function(_whole(round))
fmin = minimum = _Function(lambda a, b: b if a != a else a if b != b else min(a, b))
fmax = maximum = _Function(lambda a, b: b if a != a else a if b != b else max(a, b))
abs_ = absolute = _Function(operator.abs)
sign = _Function(lambda a: (a > 0) - (a < 0))
power = _Function(operator.pow)
multiply, add, subtract = _Function(operator.mul), _Function(operator.add), _Function(operator.sub)
divide = true_divide = _Function(_divided, is_real=True)
bitwise_or, bitwise_and, bitwise_xor = (_Function(f) for f in (operator.or_, operator.and_, operator.xor))
left_shift, right_shift = _Function(operator.lshift), _Function(operator.rshift)
signbit = _Function(lambda a: math.copysign(1, a) < 0, bool_)
isnan, isinf, isfinite = (_Function(f, bool_) for f in (math.isnan, math.isinf, math.isfinite))
logical_and = _Function(lambda a, b: a and b, bool_)
logical_or = _Function(lambda a, b: a or b, bool_)
logical_not = _Function(operator.not_, bool_)
where = lambda test, a, b: a if test else b  # noqa: E731
clip = lambda a, low, high: min(max(a, low), high)  # noqa: E731
can_cast = lambda *_, **__: True  # noqa: E731
shape = lambda a: getattr(a, "shape", ())  # noqa: E731
ndim = lambda a: len(shape(a))  # noqa: E731


class linalg:
    """Names that the table of operations mentions."""

    LinAlgError = ArithmeticError
    det = inv = norm = staticmethod(lambda *_: nan)


_HIDDEN = {"bool": bool_, "abs": abs_, "round": round_}
"""Names of Python's that the functions above need."""


def __getattr__(name):
    if name in _HIDDEN:
        return _HIDDEN[name]
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_, **__):
        raise NotImplementedError(f"numpy.{name} is not in the playground")

    return missing

"""Exponentials, a logarithm and a cosine in operations on several numbers at once.

Processors have these. A call of the C library's, which takes one number, would stop
the compiler from doing the rest of a formula for several coordinates at a time.
"""

from math import factorial, log, pi

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

INVERSE_LN2 = 1.0 / log(2.0)

#: ln 2 in two parts. The last 11 bits of the first are 0: its product with a small
#: integer is exact.
LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")
LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")

#: Exponentials of this, and of minus this, are ordinary numbers.
MAX_EXPONENT = 708.0

#: Taylor's series: for numbers up to ln 2 / 2 its next term is lost in the last digit.
C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, C12, C13 = (
    1.0 / factorial(n) for n in range(2, 14)
)

#: Taylor's series of ``log((1 + s) / (1 - s))``, in s squared, for s up to 1/3.
A3, A5, A7, A9, A11, A13, A15, A17, A19, A21, A23, A25, A27, A29, A31, A33 = (
    2.0 / n for n in range(3, 34, 2)
)

#: Taylor's series of the sine of a number of turns, up to a quarter.
S1, S3, S5, S7, S9, S11, S13, S15, S17, S19, S21 = (
    (-1) ** (n // 2) * (2.0 * pi) ** n / factorial(n) for n in range(1, 22, 2)
)


@intrinsic
def power_of_two(typing_context, k):
    """2 to the `k`, a float that is an integer from -1022 to 1023, from its bits."""

    def codegen(context, builder, signature, arguments):
        int32, int64 = ir.IntType(32), ir.IntType(64)
        exponent = builder.fptosi(arguments[0], int32)
        exponent = builder.zext(builder.add(exponent, int32(1023)), int64)
        return builder.bitcast(builder.shl(exponent, int64(52)), ir.DoubleType())

    return types.float64(types.float64), codegen


@intrinsic
def muladd(typing_context, a, b, c):
    """``a * b + c``, in one operation where the processor has it.

    Which products of a formula become part of a sum is written down like this, and not
    left to the compiler: it may choose differently for the last numbers of a loop,
    which are not taken several at once, and a loss would depend on where chunks end.
    """

    def codegen(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.DoubleType(), [ir.DoubleType()] * 3)
        function = builder.module.declare_intrinsic("llvm.fmuladd", kind.args[:1], kind)
        return builder.call(function, arguments)

    return types.float64(types.float64, types.float64, types.float64), codegen


def parts_of_exp(x):
    """`s` and `e` with ``exp(x) = s * (1 + e)``: a power of two, and a small number."""
    x = x if x < MAX_EXPONENT else MAX_EXPONENT
    x = x if x > -MAX_EXPONENT else -MAX_EXPONENT
    k = np.rint(x * INVERSE_LN2)
    r = muladd(k, -LN2_LOW, muladd(k, -LN2_HIGH, x))
    # By Estrin's scheme, whose sums do not wait for each other.
    r2 = r * r
    r4 = r2 * r2
    q = muladd(r2, muladd(r, C5, C4), muladd(r, C3, C2))
    q = muladd(r4, muladd(r2, muladd(r, C9, C8), muladd(r, C7, C6)), q)
    q = muladd(r4 * r4, muladd(r2, muladd(r, C13, C12), muladd(r, C11, C10)), q)
    return power_of_two(k), muladd(r2, q, r)


def exp(x):
    """Exponential, which replaces :func:`sklearn_scinol._portable.exp`."""
    s, e = parts_of_exp(x)
    return muladd(s, e, s)


def expm1(x):
    """Exponential minus 1, which replaces :func:`sklearn_scinol._portable.expm1`."""
    s, e = parts_of_exp(x)
    return muladd(s, e, s - 1.0)


def log1p(x):
    """Logarithm of 1 + x, which replaces :func:`sklearn_scinol._portable.log1p`."""
    # Twice the inverse hyperbolic tangent of s, which is at most 1/3.
    s = x / (2.0 + x)
    s2 = s * s
    q = muladd(s2, muladd(s2, muladd(s2, A33, A31), A29), A27)
    q = muladd(s2, muladd(s2, muladd(s2, q, A25), A23), A21)
    q = muladd(s2, muladd(s2, muladd(s2, q, A19), A17), A15)
    q = muladd(s2, muladd(s2, muladd(s2, q, A13), A11), A9)
    q = muladd(s2, muladd(s2, muladd(s2, q, A7), A5), A3)
    return muladd(s, s2 * q, 2.0 * s)


def cosine(turns):
    """Cosine, which replaces :func:`sklearn_scinol._portable.cosine`."""
    # The sine of the complement, which is at most a quarter of a turn.
    s = 0.25 - np.abs(turns - np.rint(turns))
    s2 = s * s
    q = muladd(s2, muladd(s2, muladd(s2, S21, S19), S17), S15)
    q = muladd(s2, muladd(s2, muladd(s2, q, S13), S11), S9)
    q = muladd(s2, muladd(s2, muladd(s2, q, S7), S5), S3)
    return muladd(s, s2 * q, S1 * s)


#: Functions whose order of operations matters.
EXACT = exp, expm1, log1p, cosine

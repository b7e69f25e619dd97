"""Functions as users may write them: compiled, they mean what Python means.

Those in `ACCEPTED` are compiled and compared with Python; those in `REFUSED` are not
compiled, with the words that the error has.
"""
# ruff: noqa

import functools
import math
from typing import NamedTuple

import numpy as np

from sklearn_scinol import _portable

#: Rows that functions take, and may change.
ROWS = [
    [0.5, 2.0, -5.0],
    [-3.0, 4.0, 7.0],
    [1.0, -1.0, 3.0],
    [0.0, 0.0, 0.0],
    [7.0, 5.0, 0.0],
]

ACCEPTED, REFUSED = [], {}


def accepted(function):
    ACCEPTED.append(function)
    return function


def refused(words):
    def mark(function):
        REFUSED[function] = words
        return function

    return mark


G = 3
T2 = (1.0, 2.0)


class R(NamedTuple):
    rate: float = 0.05
    kind: float = 0.0

    def scaled(self, x):
        return self.rate * x

    def maybe(self, x):
        return self.rate or x


class S(NamedTuple):
    w: np.ndarray


def bump(x):
    x[0] += 1.0
    return x[0]


def bump_loop(x):
    for k in range(x.size):
        x[k] += 1.0
        if k == 0:
            return x[0]
    return 0.0


def first_none(x):
    for k in range(x.size):
        if x[k] > 1.0:
            return k


def write_loop(x):
    for k in range(x.size):
        if x[k] > 100.0:
            return
        x[k] += 1.0


def two(a, b=2.0, c=3.0):
    return a + 10 * b + 100 * c


def pair(x):
    return x[0], x[1]


def scale(a):
    a *= 2.0


def fwrap(f):
    @functools.wraps(f)
    def w(x):
        return f(x) + 1000.0

    return w


@fwrap
def wrapped(x):
    return x[0]


def varargs(*a):
    return a[0]


def rec(n):
    return 0 if n == 0 else rec(n - 1) + 1


@accepted
def booleans(x):
    a, b = x[0] > 0, x[1] > 0
    s = R(x[0]).maybe(7.0) + (a and b) + 2 * (a or b) + 4 * (not a) + 8 * (a == b)
    s += (x[0] and x[1] and 5.0) + (x[0] or x[1] or 3.0)
    s += 10 * ((x[0] and 0.0) + (x[0] or 0.0))
    s += 1e3 * ((x[0] > 0 and (x[1] or x[2])) or (not x[1] and 3.0) or 4.0)
    return s + 1e5 * (not x[0]) + 1e6 * (not (x[0] and x[1]))


@accepted
def calls_in_conditions(x):
    a = x[0] > 0 and bump(x) > 0
    x[0] > 0 and bump_loop(x)
    b = x[0] > 0 and noisy(x)
    c = 0
    if (x[0] > 0 and noisy(x) and x[1] > 0) or not (x[2] > 0 or noisy(x)):
        c = 1
    if bump_loop(x) > 0.0 or True:
        c += 10
    return x[0] + (100.0 if a else 200.0) + (1e3 if b else 0.0) + 1e4 * c


@refused("`else` after a loop")
def forelse(x):
    for k in range(x.size):
        if x[k] > 0:
            break
    else:
        return -1.0
    return 1.0


@refused("by `is`")
def is_runtime(x):
    a = x
    b = x
    return 1.0 if a is b else 0.0


@refused("first_none returns None in some cases")
def is_none_loop(x):
    return 1.0 if first_none(x) is None else 2.0


@accepted
def results_that_are_none(x):
    r = write_loop(x)
    s = (1.0 if r is None else 2.0) + (10.0 if bump_loop(x) is None else 20.0)
    s = s + 100 * len((bump_loop(x), 5.0))
    return s + (1.0 if scale(x) else x[0])


@accepted
def integers(x):
    n = int(x[1]) & 7
    s = (1 << 3) + (n << 2) + (100 >> n) + (n ^ 5) + (n | 8) + (n & 3)
    s = s + (7 & 3) + (6 | 1) + (5 ^ 1) + (2**63 - 1) // 2**62
    a = int(x[0] * 2)
    for d in (-3, 2, 5):
        s = 10 * s + (a // d) + (a % d) + a / d + (7 // d) + (-7) // d + -7 % d
    return s + (-2.0) ** int(x[1]) + (-3) ** 2 + (-x[0]) ** 2 - x[0] ** 2


@accepted
def chain(x):
    return 1.0 * (0 < x[0] < x[1]) + 10 * (x[0] < x[1] <= x[2] != 3)


@refused("~ means")
def invert(x):
    return ~int(x[0])


@refused("chain of comparisons has calls")
def chain_side(x):
    y = x[0] < bump(x) < bump(x)
    return x[0] + (10.0 if y else 0)


@refused("may change what it is added to")
def aug_order(x):
    x[0] += bump(x)
    x[1] -= bump_loop(x)
    return x[0] + 10 * x[1]


@accepted
def augmented(x):
    a = x[0]
    a += 1
    a -= 0.5
    a *= 3
    a /= 7
    a //= 0.25
    a %= 5
    a **= 2
    scale(x)
    y = x
    y += 1.0
    y = x[1:]
    y += 1.0
    np.add(x, 1.0, x)
    z = np.zeros((2, 3))
    z[0] = x
    z[1] = x
    for row in z:
        row += 1.0
    return a + 10 * x[0] + 100 * x[1] + 1e3 * z[0, 0] + 1e4 * z[1, 2]


@accepted
def conditional(x):
    y = x[0] if x[1] > 0 else bump(x)
    z = bump(x) if x[0] > 0 else (bump(x), x[1])[1]
    return y + 10 * z + 100 * x[0] + (1.0 if x[0] != 0.0 and 1.0 / x[0] > 0 else 2.0)


@accepted
def order(x):
    s = x[0] + 10 * bump(x) + 100 * x[0] + 1000 * bump_loop(x) + 1e4 * x[0]
    s = s + two(c=bump_loop(x), a=x[0], b=bump(x))
    x[int(bump(x)) * 0] = x[0]
    s = s + x[0]
    i = 0
    i, x[i] = 1, 50.0
    return s + x[0] + 10 * x[1] + i


@accepted
def unpacking(x):
    i = 0
    i, x[i + 1] = int(pair(x)[0] * 0) + 1, bump(x)
    s = x[0] + 10 * x[1] + 100 * x[2]
    a = 2.0
    a, b = bump_loop(x), a * bump_loop(x)
    a, c = x[0], a + bump_loop(x)
    d, e = bump_loop(x), (x[0], 1.0)
    return s + a + 10 * b + 100 * c + 1000 * d + 1e4 * e[0]


@accepted
def unpacking_in_turn(x):
    a, b, c = x
    x[0], x[1], x[2] = x[2] + 0, x[0] + 0, x[1] + 0
    s = a + 10 * b + 100 * c + 1000 * x[0] + 1e4 * x[1]
    (a, b), c = pair(x), x[2]
    a, (b, c) = b, (c, a)
    s = s + 2 * a + 20 * b + 200 * c
    a = x[1] = b = bump(x)
    return s + a + b + x[1]


@refused("in parameters")
def starred_def(x):
    return varargs(x[0])


@refused(r"\*\* cannot")
def dstar(x):
    return two(x[0], **{"b": 1.0})


@accepted
def values_of_before(x):
    a = x[0]
    t, u, f = (a, x[1]), both(a, a), R(a).scaled
    a = 50.0
    a += 100.0
    return t[0] + 10 * u[0] + 100 * u[1] + 1e3 * f(1.0) + 1e4 * a


@refused("'t' stands for different")
def carried_tuple(x):
    t = (0.0, 1.0)
    for k in range(x.size):
        t = (t[1], t[0] + x[k])
    return t[0] + 10 * t[1]


@refused("'t' is no number")
def carried_kind(x):
    t = 0.0
    s = 0.0
    for k in range(x.size):
        if k > 0:
            s += t[0]
        t = (x[k], 1.0)
    return s


@refused("'k' is not assigned in all")
def loop_var_after(x):
    for k in range(x.size):
        pass
    return k


@accepted
def loop_variables(x):
    k = -1
    for k in range(x.size):
        pass
    s, m, n = 0.0 + k, 0.0, 3
    for k in range(4):
        k = k * 2
        s += k
    for k in range(x.size):
        m = x[k]
        if m > 0:
            break
    s += m + 100 * k
    for k in range(n):
        n = 1
        s += n + k
    for k in range(3, -1, -1):
        s = 10 * s + k
    n = int(x[1])
    for k in range(n, -3, -2):
        s = 10 * s + k
    return s


@accepted
def while_loops(x):
    n = 0
    s = 0.0
    while n < x.size:
        n += 1
        if x[n - 1] < 0:
            continue
        s += x[n - 1]
    n = 0
    while True:
        n += 1
        if bump(x) > 5.0 or n > 20:
            break
    return s + 10 * n + 1000 * x[0]


@refused("condition of `while` has calls")
def while_side(x):
    n = 0
    while bump(x) < 5.0 and n < 30:
        if n == 3:
            n += 10
            continue
        n += 1
    return n + 100 * x[0]


@refused("'y' is not assigned")
def one_branch(x):
    if x[0] > -100:
        y = 1.0
    return y


@accepted
def branches(x):
    if x[0] > 0:
        y = x[1]
    elif x[1] > 0:
        y = 3
    else:
        y = -1.0
    s = y
    for k in range(x.size):
        if x[k] < 0:
            continue
        else:
            z = x[k]
        s += 10 * z
    for k in range(2):
        if k:
            z = x[k]
            s += z
        else:
            z = 2 * x[k]
            s -= z
    if G == 3 and T2[1] > 1 or x[0]:
        return s + x[1]
    return s + x[2]


@refused("Lambda")
def lam(x):
    return (lambda z: z + 1)(x[0])


@refused("2.0 ")
def int_int_pow(x):
    n = int(x[1])
    return 2**n


@refused("64 bits")
def bigint(x):
    return x[0] + 2**70


@accepted
def strings(x):
    k = "linear"
    return 1.0 if k == "linear" else 2.0


@refused("no numbers")
def strings2(x):
    k = "linear" if x[0] > 0 else "rbf"
    return 1.0 if k == "linear" else 2.0


@refused("`in`")
def inx(x):
    return 1.0 if x[0] in (1.0, 2.0) else 2.0


@accepted
def changed_parameters(x):
    return assigns(x[0], x[1]) + x[0] + 10 * opt(x[0]) + 100 * opt(x[0], x[1])


def assigns(a, b):
    a = a + 1
    if b > 0:
        b = a
    return a + 10 * b


def opt(a, w=None):
    if w is None:
        w = 2.0
    return a * w


@accepted
def other_functions(x):
    return wrapped(x) + rec(3) + CL(x)


@refused("Attribute cannot be assigned")
def attr_store(x):
    s = S(x)
    s.w = x
    return 1.0


@refused("no array")
def tuple_store(x):
    t = (x[0], 1.0)
    t[0] = 2.0
    return t[0]


def noisy(x):
    x[0] += 5.0
    return True


@accepted
def slices(x):
    return x[int(bump(x)) * 0 : int(bump(x)) * 0 + 2].sum() + x[::2].sum() + x[-1]


@refused("more than variables")
def for_target_sub(x):
    for x[0] in range(3):
        pass
    return x[0]


@accepted
def functions(x):
    s = min(x[0], x[1]) + 10 * max(x[0], 2) + abs(x[2]) + round(x[0])
    s = s + int(x[1]) + float(x[2]) + bool(x[0])
    return s + math.sqrt(abs(x[0])) + math.floor(x[1]) + np.floor(x[2]) + math.pi


class Flag(NamedTuple):
    value: float

    def __bool__(self):
        return self.value > 0.0


@refused("truth of a tuple, NamedTuple")
def truth_in_expression(x):
    return 1.0 if x[0] > 0.0 and not Flag(x[1]) else 2.0


class Half(R):
    def __new__(cls, rate, kind=0.0):
        return super().__new__(cls, 0.5 * rate, kind)


@refused("Half has its own __new__")
def own_new(x):
    return Half(x[0]).scaled(1.0)


def mk(n):
    def inner(x):
        return x[0] * n

    return inner


CL = mk(4.0)


def both(p, q):
    return p, q


def signed(x):
    if x > 1.0:
        return 1.0
    if x < -1.0:
        y = -1.0
        if x == -5.0:
            return y - 1.0
        return y
    return x


@accepted
def returns(x):
    s = signed(x[0]) + 10.0 * signed(x[1]) + 100.0 * signed(x[2])
    return s + 1e3 * first_above(x, 1.5) + 1e4 * first_above(x, 2.5)


def first_above(x, bound):
    for k in range(x.size):
        if x[k] > bound:
            return float(k)
    return -1.0


@accepted
def substitutes(x):
    y = np.zeros(4)
    _portable.copy_into(x, y)
    bounded = _portable.larger(_portable.smaller(x[0], 1.0), -1.0)
    return bounded + _portable.chosen(x[1] > 0.0, y[2], y[3]) + _portable.inner(x, x)


def steps(x, is_first):
    """The parameter changes in the loop, and only there."""
    total = 0.0
    for j in range(x.size):
        total += x[j] if is_first else 10.0 * x[j]
        is_first = False
    return total


@accepted
def parameter_changed_in_a_loop(x):
    return steps(x, x[0] > 0.0)


@accepted
def names_clash(x):
    y = 1.0
    for _ in range(3):
        y += scaled_sum(x, y)
    return y


def scaled_sum(y, x):
    total = 0.0
    for k in range(y.size):
        total += y[k] * x
    return total

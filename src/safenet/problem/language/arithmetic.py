"""a + b, a·b, a**b, f(a) in SymPy, refusing any constant that is not real or that float64 cannot hold.

SymPy computes with exact numbers of any size and asks for digits of constants whenever it compares them:
9**9**9 or sin(exp(exp(99))) would take for ever. Every constant is checked as it is made, so no step can.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

# x**100 is already 0 or astronomically large in most of a domain.
MAX_EXPONENT = 100
# The most bits of a rational's numerator or denominator: twice what float64 ever needs.
MAX_BITS = 4096
# The limits for constants and all their parts, with a margin inside float64's range.
LARGEST, SMALLEST = 1e300, 1e-300


class Refused(Exception):  # noqa: N818 - it becomes a SafeNetError where the place is known
    """What cannot be accepted, and what to do about it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


def checked(expression: sp.Expr) -> sp.Expr:
    """`expression`, unchanged; a constant is refused unless it is real, finite and neither huge nor tiny."""
    if not expression.is_number:
        return expression
    if expression in (sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise Refused("this is not a finite number", "check for a division by zero, or log(0)")
    if expression.is_Rational and _bits(expression) > MAX_BITS:
        raise Refused("a number with too many digits", "round it")
    if expression == 0:
        return expression
    value = complex(expression.evalf(15))
    if value.imag:
        raise Refused("this is not a real number", "check roots and logarithms of negative numbers")
    if not abs(value) <= LARGEST:
        raise Refused(f"a constant beyond {LARGEST:g}", "choose other units")
    if abs(value) < SMALLEST:
        raise Refused(f"a constant below {SMALLEST:g} but not zero", "write 0, or choose other units")
    return expression


def total(terms: list[sp.Expr]) -> sp.Expr:
    return _combined(sp.Add, terms)


def product(factors: list[sp.Expr]) -> sp.Expr:
    result = _combined(sp.Mul, factors)
    checked(result.as_coeff_Mul()[0])
    return result


def _combined(operation: Callable[..., sp.Expr], parts: list[sp.Expr]) -> sp.Expr:
    """The constants are checked first; combining all parts at once then keeps SymPy's usual form."""
    constant = operation()
    for part in parts:
        if part.is_Rational:
            constant = operation(constant, part)
            if _bits(constant) > MAX_BITS:
                raise Refused("a number with too many digits", "round it")
    checked(operation(constant, *(part for part in parts if part.is_number and not part.is_Rational)))
    return operation(*parts)


def quotient(denominator: sp.Expr) -> sp.Expr:
    """1/denominator."""
    if denominator == 0:
        raise Refused("division by zero", "correct the denominator")
    return power(denominator, sp.Integer(-1))


def power(base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
    if base.is_number and exponent.is_number:
        _check_constants(base, exponent)
    elif base.is_number and not base.is_positive:
        raise Refused(f"{base} to a varying power is not real", "the base must be positive")
    elif exponent.is_number:
        _check_exponent(exponent)
    result = sp.Pow(base, exponent)
    for factor in sp.Mul.make_args(result):
        # SymPy turns (x**100)**100 into x**10000.
        if factor.is_Pow and factor.exp.is_number and not factor.base.is_number:
            _check_exponent(factor.exp)
    checked(result.as_coeff_Mul()[0])
    return checked(result)


def _check_exponent(exponent: sp.Expr) -> None:
    if not abs(float(exponent)) <= MAX_EXPONENT:
        raise Refused(f"an exponent beyond {MAX_EXPONENT}", "use a smaller one")


def _check_constants(base: sp.Expr, exponent: sp.Expr) -> None:
    try:
        value = float(base) ** float(exponent)
    except ZeroDivisionError:
        raise Refused("division by zero: a negative power of 0", "correct the base") from None
    except OverflowError:
        raise Refused(f"a constant beyond {LARGEST:g}", "choose other units") from None
    if isinstance(value, complex):
        raise Refused("a root of a negative number is not real", "correct the sign")
    # (1 + 1e-9)**(10**9) is moderate, but its exact fraction has as many digits as the exponent says.
    if max(map(_bits, base.atoms(sp.Rational)), default=1) * abs(float(exponent)) > MAX_BITS:
        raise Refused("a number with too many digits", "use exp, or round it")


def apply(function: Callable[..., sp.Expr], arguments: list[sp.Expr]) -> sp.Expr:
    if function is sp.sqrt:
        return power(arguments[0], sp.Rational(1, 2))
    return checked(function(*arguments))


def _bits(number: sp.Rational) -> int:
    return max(int(number.p).bit_length(), int(number.q).bit_length())

"""Numbers as a person reads them."""

import math

__all__ = ["amount", "amount_of_log", "percent", "percent_of_log", "plus_minus"]

_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_NAMES = {6: "million", 9: "billion", 12: "trillion"}
_GAP = "\N{NO-BREAK SPACE}"


def percent(probability: float) -> str:
    r"""A probability in per cent; what is not certain never reads as 100, what can be never as 0.

    >>> [percent(p).replace("\xa0", " ") for p in (1.0, 0.99999, 0.966, 0.0183, 0.0005, 2.3e-7, 0.0)]
    ['100 %', '> 99.9 %', '96.6 %', '1.83 %', '0.050 %', '2.3 × 10⁻⁷', '0 %']
    """
    return percent_of_log(math.log(probability)) if probability > 0.0 else f"0{_GAP}%"


def percent_of_log(log_probability: float) -> str:
    r"""The same of log p, also where p itself is below the range of floating-point numbers.

    >>> percent_of_log(-2302.585093).replace("\xa0", " ")
    '1.0 × 10⁻¹⁰⁰⁰'
    """
    if log_probability < math.log(1e-4):
        return f"0{_GAP}%" if log_probability == -math.inf else _scientific(log_probability)
    share = 100.0 * math.exp(min(log_probability, 0.0))
    if 99.95 <= share < 100.0:
        return f">{_GAP}99.9{_GAP}%"
    digits = 0 if share == 100.0 else 1 if share >= 9.995 else 2 if share >= 0.0995 else 3
    return f"{share:.{digits}f}{_GAP}%"


def plus_minus(error: float | None) -> str:
    r"""The standard error of a probability, to stand after its per cent; nothing where a number is exact.

    >>> [plus_minus(e).replace("\xa0", " ") for e in (0.0123, 0.0002, None)]
    [' ± 1.2', ' ± 0.02', '']
    """
    return "" if error is None else f" ±{_GAP}{100 * error:.{2 if error < 0.001 else 1}f}"


def amount(number: int) -> str:
    r"""A whole number: all digits of a small one, a few of a large one.

    >>> [amount(x).replace("\xa0", " ") for x in (12, 10395, 13749310575, 10**30)]
    ['12', '10,395', '13.7 billion', '1.0 × 10³⁰']
    """
    if number < 1_000_000:
        return f"{number:,}"
    for power, called in _NAMES.items():
        if number < 999.5 * 10**power:
            return f"{number / 10**power:.3g}{_GAP}{called}"
    return _scientific(math.log(number))


def amount_of_log(log_number: float) -> str:
    r"""exp of a number of at least 0 that need not be whole, with as many digits as say something.

    >>> [amount_of_log(x).replace("\xa0", " ") for x in (0.0, 2.0, 7.0, 1000.0)]
    ['1.0', '7.4', '1,097', '2.0 × 10⁴³⁴']
    """
    if log_number < math.log(9.95):
        return f"{math.exp(log_number):.1f}"
    return amount(round(math.exp(log_number))) if log_number < 34.0 else _scientific(log_number)


def _scientific(log_number: float) -> str:
    power = log_number / math.log(10.0)
    exponent = math.floor(power)
    mantissa = round(10 ** (power - exponent), 1)
    if mantissa >= 10.0:
        mantissa, exponent = 1.0, exponent + 1
    return f"{mantissa:.1f}{_GAP}×{_GAP}10{str(exponent).translate(_SUPERSCRIPTS)}"

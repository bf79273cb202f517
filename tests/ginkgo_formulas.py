"""The four likelihoods of Ginkgo as they are written down. A child is its t, and whether it is a single leaf."""

import math

import numpy as np


def g_ordered(T, t, rate, t_cut):
    K = -math.log(1 - math.exp(-rate))
    if t > 0:
        return K + math.log(rate / T) - rate * t / T
    return K + math.log(-math.expm1(-rate * t_cut / T))


def ordered(t_parent, left, right, rate, root_rate, t_cut, is_root):
    rate = root_rate if is_root else rate
    if t_parent < t_cut:
        return -math.inf
    t_left, t_right = (0.0 if is_leaf else t for t, is_leaf in (left, right))
    hi, lo = max(t_left, t_right), min(t_left, t_right)
    s = (math.sqrt(t_parent) - math.sqrt(hi)) ** 2
    g = g_ordered(s, lo, rate, t_cut) if s > 0 else -math.inf
    if s == 0 and lo == 0:
        g = -math.log(1 - math.exp(-rate))
    return g_ordered(t_parent, hi, rate, t_cut) + g - math.log(4 * math.pi)


def g_symmetric(T, t, rate, t_cut):
    K = -math.log(1 - math.exp(-0.999 * rate))
    if t > t_cut:
        return K + math.log(rate / T) - rate * t / T
    return K + math.log(-math.expm1(-rate * min(T, t_cut) / T))


def symmetric(t_parent, left, right, rate, root_rate, t_cut, is_root):
    (t_left, _), (t_right, _) = left, right
    rate = root_rate if is_root else rate
    roots = math.sqrt(t_left) + math.sqrt(t_right)
    if t_parent <= t_cut or max(t_left, t_right) >= 0.999 * t_parent:
        return -math.inf
    if roots > math.sqrt(t_parent) * (1 + 1e-9):
        return -math.inf
    after_left = (math.sqrt(t_parent) - math.sqrt(t_left)) ** 2
    after_right = (math.sqrt(t_parent) - math.sqrt(t_right)) ** 2
    a = g_symmetric(t_parent, t_left, rate, t_cut) + g_symmetric(after_left, t_right, rate, t_cut)
    b = g_symmetric(t_parent, t_right, rate, t_cut) + g_symmetric(after_right, t_left, rate, t_cut)
    return float(np.logaddexp(a, b)) - math.log(2) - math.log(4 * math.pi)


def literal(t_parent, left, right, rate, root_rate, t_cut, is_root):
    rate = root_rate if is_root else rate
    if t_parent == 0:
        return -math.inf
    K = -math.log(1 - math.exp(-rate))
    return sum(K + math.log(rate) - math.log(t_parent) - rate * t / t_parent for t, _ in (left, right))


def density(t_parent, left, right, rate, root_rate, t_cut, is_root):
    rate = root_rate if is_root else rate
    if t_parent <= t_cut or any(t > t_cut if is_leaf else t <= t_cut for t, is_leaf in (left, right)):
        return -math.inf
    P, a, b = (math.sqrt(t) for t in (t_parent, left[0], right[0]))
    if a + b > P * (1 + 1e-9):
        return -math.inf
    log_kappa = math.log(rate) - math.log(-math.expm1(-0.999 * rate))

    def drawn(first, second):
        s = (P - math.sqrt(first)) ** 2
        if first >= 0.999 * t_parent or second >= 0.999 * s:
            return -math.inf
        return 2 * log_kappa - math.log(t_parent) - rate * first / t_parent - math.log(s) - rate * second / s

    mean = float(np.logaddexp(drawn(left[0], right[0]), drawn(right[0], left[0]))) - math.log(2)
    product = (P - a - b) * (P + a + b) * (P - a + b) * (P + a - b)
    momentum = math.sqrt(max(product, 1e-18 * t_parent**2)) / (2 * P)
    return mean - math.log(4 * math.pi) + math.log(4 * P / momentum)


FORMULAS = {"ordered": ordered, "symmetric": symmetric, "density": density, "literal": literal}


def log_psi_of(momenta, likelihood, rate, t_cut):
    """log ψ(members of L, members of R) for particles (E, px, py, pz) that are not nearly massless together."""

    def mass_squared(members):
        energy, *momentum = np.sum([momenta[i] for i in members], axis=0)
        size = math.hypot(*momentum)
        return max((energy - size) * (energy + size), 0.0)

    def log_psi(left, right):
        parent = (*left, *right)
        children = [(mass_squared(side), len(side) == 1) for side in (left, right)]
        is_root = len(parent) == len(momenta)
        return FORMULAS[likelihood](mass_squared(parent), *children, rate, rate, t_cut, is_root)

    return log_psi

"""Partitions are counted exactly: by Stirling numbers, and by passes modulo primes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from full_partition_cases import passes_of, random_table
from partition_cases import table_model
from partition_oracle import SlowTwin, partitions_of

from palmette import PartitionPosterior
from palmette.models import UniformPartitions
from palmette.passes.partitions import counted, full
from palmette.passes.partitions.counted import CountedPartitionPasses
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.trellis.counting import bell_number, exact_count, stirling_numbers


def test_stirling_numbers_count_partitions_by_their_number_of_clusters():
    for n in range(9):
        sizes = [len(clusters) for clusters in partitions_of(n)]
        assert stirling_numbers(n) == [sizes.count(k) for k in range(n + 1)]
        assert bell_number(n) == len(sizes)


def test_stirling_numbers_follow_their_closed_form():
    for n, k in itertools.product(range(31), repeat=2):
        if k <= n:
            alternating = sum((-1) ** (k - j) * math.comb(k, j) * j**n for j in range(k + 1))
            assert stirling_numbers(n)[k] * math.factorial(k) == alternating


def test_bell_numbers_are_those_in_the_books():
    """Aitken's array, and the number for thirty leaves as it is printed."""
    row = [1]
    for n in range(1, 31):
        assert bell_number(n) == row[-1]
        row = list(itertools.accumulate(row, initial=row[-1]))
    assert bell_number(30) == 846_749_014_511_809_332_450_147


@pytest.mark.parametrize("n", range(24, 31))
def test_numbers_beyond_64_bits_are_put_together_from_remainders(n):
    bound = bell_number(n)
    for number in (bound, bound - 1, bound // 3, 2**63, 12, 0):
        asked = []

        def count_modulo(modulus, number=number, asked=asked):
            asked.append(modulus)
            return number % (modulus or 2**64)

        assert exact_count(count_modulo, bound) == number
        assert asked[0] == 0
        assert len(asked) == (1 if n <= 25 else 2)


def test_bounds_far_beyond_ask_for_more_primes():
    number = 3**100 + 12345  # 2^158
    assert exact_count(lambda modulus: number % (modulus or 2**64), 3**101) == number
    asked = []
    assert exact_count(lambda modulus: asked.append(modulus) or 7, 2**64 - 1) == 7
    assert asked == [0]
    assert exact_count(lambda modulus: asked.append(modulus) or 7, 2**64) == 7
    assert len(asked) == 3


@pytest.mark.parametrize("n", [26, 30])
def test_models_that_forbid_nothing_are_counted_without_a_pass(n):
    """Which would take hours."""
    post = PartitionPosterior(UniformPartitions(n), max_memory=int(1e15))
    assert post.count == bell_number(n) > 2**64
    assert post.condition(n_clusters=9).count == stirling_numbers(n)[9]


def test_a_count_modulo_a_number_is_the_remainder_of_the_count():
    table = random_table(13, seed=9, forbidden=0.3)
    whole, by_number = passes_of(table_model(table)), [passes_of(table_model(table), k) for k in range(1, 14)]
    assert sum(passes.count() for passes in by_number) == whole.count() == SlowTwin(13, table).count > 2**20
    for passes, modulus in itertools.product((whole, by_number[3]), (0, 97, 4294967291)):
        assert passes._count_modulo(modulus) == passes.count() % (modulus or 2**64)


@pytest.mark.parametrize("k", [None, 4])
def test_a_trellis_puts_its_count_together_from_several_passes(k, monkeypatch):
    """As if thirteen leaves could have more than 2^90 partitions."""
    monkeypatch.setattr(full, "bell_number", lambda n: 2**90)
    monkeypatch.setattr(counted, "stirling_numbers", lambda n: [2**90] * (n + 1))
    asked = []
    kind = FullPartitionPasses if k is None else CountedPartitionPasses
    count_modulo = kind._count_modulo
    monkeypatch.setattr(
        kind, "_count_modulo", lambda self, modulus: asked.append(modulus) or count_modulo(self, modulus)
    )
    passes = passes_of(table_model(np.zeros(1 << 13)), k)
    assert passes.count() == (bell_number(13) if k is None else stirling_numbers(13)[4])
    assert len(asked) == 2


def test_a_model_that_forbids_nothing_is_counted_by_a_pass_under_conditions():
    model = UniformPartitions(13)
    assert passes_of(model, given={"together": [[0, 12]]}).count() == bell_number(12)
    assert passes_of(model, 5, given={"require": [[3]]}).count() == stirling_numbers(12)[4]

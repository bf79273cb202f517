"""The names of the leaves: checking them, finding leaves by them, aligning one set with another."""

import reprlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from palmette.array_types import Ints

__all__ = [
    "align_labels",
    "check_labels",
    "columns_as_rows",
    "describe_cluster",
    "labels_of",
    "leaf_index",
    "leaf_number",
    "leaf_numbers",
    "name_leaves",
    "read_clusters",
]

Given = TypeVar("Given", bound=Iterable[str])

_SHOWN = 6  # names printed in a message before it says "and 12 more"
_short = reprlib.Repr()  # bounds both the length and the depth of what a message quotes
_short.maxstring = _short.maxother = 60


def check_labels(labels: Iterable[str] | None, n: int) -> tuple[str, ...]:
    """One distinct name for each of the `n` leaves; `None` names them "0", "1", ….

    Any text is a legal label, the empty one included.

    >>> check_labels(None, 3)
    ('0', '1', '2')
    >>> check_labels(["cat", "dog"], 2)
    ('cat', 'dog')
    """
    if labels is None:
        return tuple(map(str, range(n)))
    names = _strings(labels)
    if len(names) != n:
        raise ValueError(f"{len(names)} labels were given for {n} leaves; give one label per leaf")
    return names


def labels_of(data: Any, labels: Given | None) -> Given | tuple[str, ...] | None:
    """The labels if they are given; else the index of a data frame, if it names rows and tells them apart; else None.

    >>> labels_of([[0.0], [1.0]], ["a", "b"])
    ['a', 'b']
    """
    if labels is not None or not hasattr(data, "iloc"):
        return labels
    if type(data.index).__name__ == "RangeIndex" and data.index.start == 0 and data.index.step == 1:
        return None  # numbers, as leaves have them anyway
    names = tuple(str(name) for name in data.index)
    return names if len(set(names)) == len(names) else None


def columns_as_rows(data: Any) -> Any:
    """A data frame that is a matrix with its columns in the order of its rows, if both have the same names.

    >>> columns_as_rows([[0, 1], [1, 0]])
    [[0, 1], [1, 0]]
    """
    if not hasattr(data, "iloc") or not hasattr(data, "columns"):
        return data
    rows, columns = list(data.index), list(data.columns)
    if rows == columns or len(set(rows)) < len(rows) or len(columns) != len(rows) or set(columns) != set(rows):
        return data
    return data.iloc[:, data.columns.get_indexer(data.index)]


def _strings(labels: Iterable[str]) -> tuple[str, ...]:
    if isinstance(labels, str | bytes | set | frozenset) or not isinstance(labels, Iterable):
        raise TypeError(
            f"labels must be a sequence of strings, one per leaf, not a {type(labels).__name__}; "
            'write for example ["a", "b", "c"]'
        )
    names = tuple(labels)
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(
                f"labels must be strings, but label {position} is {_shown(name)} "
                f"of type {type(name).__name__}; convert it with str()"
            )
    if len(set(names)) < len(names):
        seen: dict[str, int] = {}
        for position, name in enumerate(names):
            if (first := seen.setdefault(name, position)) < position:
                raise ValueError(
                    f"labels must be distinct, but {_shown(name)} names both leaf {first} "
                    f"and leaf {position}; rename one of them"
                )
    return tuple(map(str, names))  # NumPy strings become plain ones


def leaf_index(labels: Iterable[str]) -> dict[str, int]:
    """The leaf number of each label.

    >>> leaf_index(("cat", "dog"))
    {'cat': 0, 'dog': 1}
    """
    return {label: number for number, label in enumerate(labels)}


def leaf_number(member: int | str, index: Mapping[str, int]) -> int:
    """The leaf that `member` stands for: an integer is a leaf number, a string is a label.

    `index` is the `leaf_index` of the labels.

    >>> leaf_number("dog", {"cat": 0, "dog": 1})
    1
    """
    if isinstance(member, str):
        if member not in index:
            raise ValueError(f"no leaf is called {_shown(member)}; the labels are {_listed(index)}")
        return index[member]
    number = _integer(member)
    if not 0 <= number < len(index):
        raise ValueError(f"leaf {number} does not exist; the leaves are 0 to {len(index) - 1}")
    return number


def leaf_numbers(members: Iterable[int | str], index: Mapping[str, int]) -> frozenset[int]:
    """The cluster of the leaves that `members` stand for, each a leaf number or a label.

    >>> sorted(leaf_numbers(["dog", 0], {"cat": 0, "dog": 1, "eel": 2}))
    [0, 1]
    """
    return frozenset(leaf_number(member, index) for member in _members(members))


def _members(cluster: Iterable[int | str]) -> tuple[int | str, ...]:
    if isinstance(cluster, str | bytes | Mapping) or not isinstance(cluster, Iterable):
        raise TypeError(
            f"a cluster must be a collection of leaf numbers or labels, not {_shown(cluster)}; "
            'write for example {0, 1} or {"a", "b"}'
        )
    return tuple(cluster)


def name_leaves(
    members: Iterable[int | str], labels: Iterable[str] | None = None, n: int | None = None
) -> tuple[str, ...]:
    """The labels of the leaves of which `members` mentions some.

    Given labels win, then a given number of leaves. Otherwise integers say that there are leaves up to
    the largest one, and strings are the labels themselves, in order of first mention.

    >>> name_leaves([0, 3])
    ('0', '1', '2', '3')
    >>> name_leaves(["b", "a", "b"])
    ('b', 'a')
    """
    if n is not None or labels is not None:
        names = _strings(labels or ()) if n is None else check_labels(labels, n)
        if not names:
            raise ValueError("there are no leaves; give at least one")
        return names
    strings: dict[str, None] = {}
    largest = -1
    for member in members:
        if isinstance(member, str):
            strings[member] = None
        elif (number := _integer(member)) < 0:
            raise ValueError(f"leaf {number} does not exist; leaves are numbered from 0")
        else:
            largest = max(largest, number)
        if strings and largest >= 0:
            raise ValueError(
                f"leaves are given by number ({largest}) and by label ({_listed(strings)}); "
                "use one of the two, or give labels=[…]"
            )
    if not strings and largest < 0:
        raise ValueError("no leaf is mentioned; give labels=[…] to say which leaves there are")
    return check_labels(strings or None, len(strings) or largest + 1)


def read_clusters(
    clusters: Iterable[Iterable[int | str]], labels: Iterable[str] | None = None, n: int | None = None
) -> tuple[list[frozenset[int]], tuple[str, ...]]:
    """Clusters as users write them, as sets of leaf numbers, and the labels of all leaves.

    Labels that are not given are the sorted names that occur: sets have no order of their own.

    >>> read_clusters([{"b", "a"}])[1]
    ('a', 'b')
    """
    written = [_members(cluster) for cluster in clusters]
    mentioned = [member for members in written for member in members]
    names = name_leaves(mentioned, labels, n)
    if labels is None and n is None and isinstance(mentioned[0], str):  # and so are all others
        names = tuple(sorted(names))
    index = leaf_index(names)
    found = [leaf_numbers(members, index) for members in written]
    if not all(found):
        raise ValueError(f"cluster {found.index(frozenset())} is empty; a cluster has at least one leaf")
    return found, names


def _integer(member: Any) -> int:
    if isinstance(member, bool | np.bool_) or not isinstance(member, int | np.integer):
        raise TypeError(
            f"a leaf is given by its number or its label, not by {_shown(member)} of type {type(member).__name__}"
        )
    return int(member)


def align_labels(labels: tuple[str, ...], wanted: Iterable[str]) -> Ints:
    """The order with `labels[order[i]] == wanted[i]` for every i, shape (n,).

    >>> align_labels(("a", "b", "c"), ["c", "a", "b"])
    array([2, 0, 1])
    """
    names = _strings(wanted)
    index, given = leaf_index(labels), set(names)
    missing = [name for name in labels if name not in given]
    extra = [name for name in names if name not in index]
    if missing or extra:
        parts = [f"missing: {_listed(missing)}"] if missing else []
        parts += [f"not among them: {_listed(extra)}"] if extra else []
        raise ValueError(
            f"the labels do not match the {len(labels)} leaves ({'; '.join(parts)}); give the same labels, in any order"
        )
    return np.array([index[name] for name in names], dtype=np.int64)


def describe_cluster(cluster: Iterable[int], labels: tuple[str, ...]) -> str:
    """A cluster as it is written in messages.

    >>> describe_cluster({2, 0}, ("a", "b", "c"))
    "{'a', 'c'}"
    """
    return f"{{{_listed([labels[leaf] for leaf in sorted(cluster)])}}}"


def _listed(names: Collection[str]) -> str:
    shown = [_shown(name) for name, _ in zip(names, range(_SHOWN), strict=False)]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _shown(value: object) -> str:
    return _short.repr(str(value) if isinstance(value, str) else value)

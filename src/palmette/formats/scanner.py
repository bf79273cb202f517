"""Trees in the bytes of a text, read by compiled code: where statements end, and what each of them says.

`scan_trees` reads what `palmette.formats.newick` reads, with the same result, or stops: at a tree that is wrong, that
has a leaf with a token outside the index, or that is written in a way that is left to the slower reader (white space or
names of inner nodes outside ASCII). It never takes a tree that the other refuses.

A statement ends with a semicolon outside quotes and comments. So within it quotes and comments are closed, and whatever
walks forward stops at the semicolon at the latest.
"""

import numpy as np

from palmette._jit import inline, kernel
from palmette.formats.decimal import NONE, number_bits
from palmette.hashing import mix

__all__ = ["NONE", "find_statements", "index_tokens", "scan_trees"]

_OPEN, _CLOSE, _COMMA, _COLON, _SEMICOLON, _QUOTE, _COMMENT, _COMMENT_END = (ord(c) for c in "(),:;'[]")
_PLAIN, _BLANK, _MARK = 0, 1, 2
_UNREAD = -1  # as bits, no float that was written as a number: left to the slower reader
_KINDS = np.zeros(256, dtype=np.uint8)  # of the bytes; those of letters outside ASCII are plain
_KINDS[[byte for byte in range(128) if chr(byte).isspace()]] = _BLANK
_KINDS[[ord(c) for c in "(),:;'[]"]] = _MARK


@kernel
def find_statements(data, ends, n_open):
    """How many statements end within `data`; writes where their semicolons are, and how many '(' each has."""
    count = opened = depth = 0
    quoted = False
    for at in range(len(data)):
        byte = data[at]
        if depth > 0:
            depth += _deeper(byte)
        elif byte == _QUOTE:
            quoted = not quoted  # two in a row, which stand for one, close and open again
        elif quoted:
            continue
        elif byte == _COMMENT:
            depth = 1
        elif byte == _OPEN:
            opened += 1
        elif byte == _SEMICOLON:
            ends[count], n_open[count] = at, opened
            count += 1
            opened = 0
    return count


@kernel
def index_tokens(tokens, token_ends, slots):
    """Hash the tokens, which stand one after the other in `tokens`; `slots`, a power of two of them, hold −1."""
    start = 0
    for number in range(len(token_ends)):
        slot = _hash(tokens, start, token_ends[number]) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number
        start = token_ends[number]


@kernel
def scan_trees(data, starts, stops, first, last, index, room, trees):
    """Read the statements data[starts[t]:stops[t] + 1] for first ≤ t < last; return the first t not read, or last.

    `index` is (tokens, token_ends, slots, leaves): `leaves[k]` is the leaf of token k. `room` is (seen, opened, free):
    n stamps, one place per '(' of a statement, n places. `trees` is (offsets, parents, lengths, support, orders): tree
    t has the nodes offsets[t] to offsets[t + 1], and its leaves stand in the order orders[t]. Lengths and support are
    bits of floats, as `number_bits` gives them.
    """
    offsets, parents, lengths, support, orders = trees
    for t in range(first, last):
        start = offsets[t]
        nodes = (parents[start:], lengths[start:], support[start:])
        n_nodes = _scan_tree(data, starts[t], stops[t], index, room, t + 1, nodes, orders[t])
        if n_nodes == 0:
            return t
        offsets[t + 1] = start + n_nodes
    return last


@inline
def _scan_tree(data, at, stop, index, room, stamp, nodes, order):
    """The number of nodes of the tree, or 0."""
    parents, lengths, support = nodes
    seen, opened, free = room  # free: the nodes that have no parent yet; opened: how many there were at each '('
    n_nodes = len(order)
    n_leaves = n_open = n_free = 0
    node, complete = -1, False  # the node that ended last, unless another has begun; whether its length was read
    while True:
        at = _after_blanks(data, at)
        byte = data[at]
        if node < 0 and byte == _OPEN:
            opened[n_open] = n_free
            n_open += 1
            at += 1
        elif node < 0:
            end = _token_end(data, at)
            node, complete = _leaf(data, at, end, index), False
            if node < 0 or seen[node] == stamp:
                return 0
            order[n_leaves], seen[node] = node, stamp
            n_leaves += 1
            lengths[node] = support[node] = NONE
            at = end
        elif byte == _COLON and not complete:
            at = _after_blanks(data, at + 1)
            end = _token_end(data, at)
            complete = _add_length(lengths, node, number_bits(data, at, end))
            if not complete:
                return 0
            at = end
        elif byte == _COMMA and n_open > 0:
            free[n_free] = node
            n_free += 1
            node = -1
            at += 1
        elif byte == _CLOSE and n_open > 0:
            free[n_free] = node
            n_open -= 1
            node, complete = _join(free, opened[n_open], n_free + 1, n_nodes, parents), False
            n_free = opened[n_open]
            at = _after_blanks(data, at + 1)
            end = _token_end(data, at)
            bits = _name_bits(data, at, end)
            if bits == _UNREAD:
                return 0
            if node == n_nodes:
                lengths[node], support[node] = NONE, bits
                n_nodes += 1
            at = end
        elif at == stop and n_open == 0 and n_leaves == len(order):
            parents[node] = -1
            return n_nodes
        else:
            return 0


@inline
def _after_blanks(data, at):
    depth = 0
    while depth > 0 or _KINDS[data[at]] == _BLANK or data[at] == _COMMENT:
        depth += _deeper(data[at])
        at += 1
    return at


@inline
def _deeper(byte):
    """By how much a byte changes the depth of nested comments."""
    if byte == _COMMENT:
        return 1
    return -1 if byte == _COMMENT_END else 0


@inline
def _token_end(data, at):
    """Where the label that begins at `at` ends, quotes included; `at` itself if none begins there."""
    if data[at] != _QUOTE:
        while _KINDS[data[at]] == _PLAIN:
            at += 1
        return at
    at += 1
    while data[at] != _QUOTE or data[at + 1] == _QUOTE:
        at += 1 + np.int64(data[at] == _QUOTE)
    return at + 1


@inline
def _leaf(data, start, stop, index):
    """The leaf of the token data[start:stop], or −1."""
    tokens, token_ends, slots, leaves = index
    slot = _hash(data, start, stop) & (len(slots) - 1)
    while slots[slot] >= 0:
        number = slots[slot]
        first = token_ends[number - 1] if number > 0 else 0
        if token_ends[number] - first == stop - start:
            same = 0
            while same < stop - start and tokens[first + same] == data[start + same]:
                same += 1
            if same == stop - start:
                return np.int64(leaves[number])
        slot = (slot + 1) & (len(slots) - 1)
    return -1


@inline
def _hash(data, start, stop):
    value = np.uint64(0)
    for i in range(stop - start):
        value = mix(value, data[start + i])
    return np.int64(value & np.uint64(0x7FFFFFFF))


@inline
def _add_length(lengths, node, bits):
    """Whether `bits` is a length, which is then added to what the node has from nodes with one child."""
    if bits == NONE:
        return False
    if lengths[node] == NONE:
        lengths[node] = bits
        return True
    if lengths[node] > NONE or bits > NONE:
        return False
    total = np.int64(lengths[node]).view(np.float64) + np.int64(bits).view(np.float64)
    lengths[node] = np.float64(total).view(np.int64)
    return True


@inline
def _join(free, start, stop, node, parents):
    """The node above free[start:stop]: a new one, or the only one of them itself."""
    if stop - start == 1:
        return np.int64(free[start])
    for i in range(stop - start):
        parents[free[start + i]] = node
    return node


@inline
def _name_bits(data, start, stop):
    """The number that an inner node is called, as bits; NONE if its name is none; or _UNREAD."""
    if start == stop:
        return NONE
    quote = 1 if data[start] == _QUOTE else 0
    bits = number_bits(data, start + quote, stop - quote)
    if bits == NONE and quote == 0:
        for i in range(stop - start):
            if data[start + i] > 127:  # some of what is white space
                return _UNREAD
    return bits

"""The sources of a package, read and parsed once for all tests that look through them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path


def modules(root: Path) -> Iterator[tuple[str, str]]:
    """Every module of a package as (its dotted name without the package's, its source)."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        yield name, path.read_text(encoding="utf-8")


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Every node of a source, the whole first: to parse and to walk takes longer than to look."""
    return tuple(ast.walk(ast.parse(source)))

"""Whether names are those of genes, as expression tables have them."""

import re
from collections.abc import Sequence

__all__ = ["are_genes"]

_IDENTIFIER = re.compile(
    r"ENS[A-Z]*[EGPT]\d{6,}(\.\d+)?|[NX][MRP]_\d+(\.\d+)?|\S+_at|AFFX\S+|ILMN_\d+|A_\d+_P\d+|IMAGE:\d+|cg\d{6,}"
    r"|[a-z]{3}-(mir|miR|let)-\S+|rs\d{3,}|LOC\d{3,}|AT[1-5CM]G\d{5}(\.\d+)?|Y[A-P][LR]\d{3}[WC](-[A-Z])?"
)
_SYMBOL = re.compile(r"[A-Z][A-Za-z0-9]{1,9}(-[A-Za-z0-9]+)?")
_MOST = 0.8  # of all names
_NUMBERED = 0.2  # of symbols that have a digit
_STEMS = 0.25  # as many different ones, without digits: samples that are counted have one stem


def are_genes(names: Sequence[str]) -> bool:
    """Whether most names are identifiers of genes or probes, or look like symbols of many families.

    >>> are_genes(["TP53", "EGFR", "BRCA1", "KRT5", "ESR1"]), are_genes(["S1", "S2", "S3", "S4", "S5"])
    (True, False)
    >>> are_genes(["ENSG00000141510", "ENSG00000146648"]), are_genes(["France", "Spain"])
    (True, False)
    """
    if not names:
        return False
    stripped = [name.strip() for name in names]
    if sum(bool(_IDENTIFIER.fullmatch(name)) for name in stripped) >= _MOST * len(stripped):
        return True
    symbols = [name for name in stripped if _SYMBOL.fullmatch(name)]
    stems = {re.sub(r"\d+", "", name) for name in symbols}
    numbered = sum(any(letter.isdigit() for letter in name) for name in symbols)
    many = len(symbols) >= _MOST * len(stripped)
    return many and numbered >= _NUMBERED * len(symbols) and len(stems) >= _STEMS * len(symbols)

"""Which call answers which expectation: maximum bipartite matching, so that no order of calls can cost a pass."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_toolcall.core.expectations import Match


def maximum_matching(fits: Sequence[Sequence[bool]]) -> list[int | None]:
    """Match rows to columns one to one, as many as possible (Kuhn's augmenting paths).

    ``fits[row][column]`` says whether the two may be matched. Returns for each row its column or None. Rows are tried
    in order, and a row once matched stays matched, so rows that matter most come first.
    """
    columns = len(fits[0]) if fits else 0
    row_of: list[int | None] = [None] * columns

    def augment(row: int, seen: set[int]) -> bool:
        for column in range(columns):
            if not fits[row][column] or column in seen:
                continue
            seen.add(column)
            holder = row_of[column]
            if holder is None or augment(holder, seen):
                row_of[column] = row
                return True
        return False

    for row in range(len(fits)):
        augment(row, set())
    result: list[int | None] = [None] * len(fits)
    for column, holder in enumerate(row_of):
        if holder is not None:
            result[holder] = column
    return result


def complete_matching(fits: Sequence[Sequence[bool]], optional: Sequence[bool]) -> tuple[list[int | None], bool]:
    """Match expected calls (rows) to made calls (columns) so that nothing required and nothing made is left over.

    Returns the row-to-column matching and whether it is complete: every row that is not ``optional`` has a column and
    every column a row. Required rows are matched first; an augmenting path never frees a matched row or column, so
    adding optional rows afterwards cannot undo them.
    """
    order = sorted(range(len(fits)), key=lambda row: optional[row])
    matched = maximum_matching([fits[row] for row in order])
    result: list[int | None] = [None] * len(fits)
    for position, row in enumerate(order):
        result[row] = matched[position]
    columns = len(fits[0]) if fits else 0
    required = all(result[row] is not None for row in range(len(fits)) if not optional[row])
    return result, required and sum(column is not None for column in result) == columns


def in_order(fits: Sequence[Sequence[bool]], optional: Sequence[bool]) -> list[int | None] | None:
    """Match rows to columns so that both stay in their order, every column has a row and only ``optional`` rows have no
    column; None where that cannot be."""
    rows, columns = len(fits), len(fits[0]) if fits else 0
    # possible[row][column]: the rows and columns from here on can be matched.
    possible = [[False] * (columns + 1) for _ in range(rows + 1)]
    possible[rows][columns] = True
    for row in reversed(range(rows)):
        for column in reversed(range(columns + 1)):
            taken = column < columns and fits[row][column] and possible[row + 1][column + 1]
            possible[row][column] = taken or (optional[row] and possible[row + 1][column])
    if not possible[0][0]:
        return None
    result: list[int | None] = []
    column = 0
    for row in range(rows):
        if column < columns and fits[row][column] and possible[row + 1][column + 1]:
            result.append(column)
            column += 1
        else:
            result.append(None)
    return result


def matching(fits: Sequence[Sequence[bool]], optional: Sequence[bool], match: Match) -> tuple[list[int | None], bool]:
    """Match expected calls (rows) to made calls (columns), and whether they match in the way that ``match`` names.

    ``unordered`` and ``strict`` leave nothing required and nothing made over, ``superset`` nothing required, ``subset``
    nothing made.
    """
    if match == "strict":
        ordered = in_order(fits, optional)
        return (ordered, True) if ordered is not None else (complete_matching(fits, optional)[0], False)
    if match == "subset":
        return complete_matching(fits, [True] * len(fits))
    result, complete = complete_matching(fits, optional)
    if match == "superset":
        return result, all(result[row] is not None for row in range(len(fits)) if not optional[row])
    return result, complete

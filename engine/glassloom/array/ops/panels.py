"""Factorisations of square matrices cut into panels of whole columns, and what is solved with them.

Each panel is brought up to date by the panels on its left, then factorised (left-looking; Golub and Van Loan, *Matrix
Computations*, 4th edition, 3.2.11 and 4.2.7). Rows are exchanged over whole panels, so pivoting is that of LAPACK.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from glassloom.array.chunks import Chunks, starts
from glassloom.array.ops.base import ArrayExpr, SameChunks, make_meta
from glassloom.backends.arrays import namespace_of
from glassloom.backends.blas import one_blas_thread
from glassloom.graph import Key, Task

_SMALL = 48
"""Matrices up to this size go to the library's general solver; larger ones are cut in halves."""


class PanelFactors(SameChunks):
    """The panels of LU with pivoting, each with its exchange of rows, or of Cholesky: see `LuPanels`, `CholeskyPanels`."""

    parameters = ("array",)

    @property
    def n_tasks(self) -> int:
        count = self.numblocks[1]
        return count * (count + 1) // 2

    def steps(self) -> tuple[Any, Any]:
        """Return the functions (panel, factors of an earlier panel, begin, length) and (panel, begin, length)."""
        raise NotImplementedError

    def tasks(self) -> dict[Key, Task]:
        update, factor = self.steps()
        places = list(zip(starts(self.chunks[1]), self.chunks[1], strict=True))
        tasks: dict[Key, Task] = {}
        for number, (begin, length) in enumerate(places):
            state: Key = (self.array.name, 0, number)
            for earlier in range(number):
                key: Key = (f"{self.name}-update", number, earlier)
                place = (*places[earlier], begin, length)
                tasks[key] = Task.of_blocks(key, update, [state, (self.name, 0, earlier)], (place,))
                state = key
            key = (self.name, 0, number)
            tasks[key] = Task.of_blocks(key, factor, [state], ((begin, length),))
        return tasks


class LuPanels(PanelFactors):
    """Panels with L below the diagonal and U above, and the rows' new order: tuples, which only nodes here read."""

    operation = "lu"

    def steps(self) -> tuple[Any, Any]:
        return lu_update, lu_factor


class CholeskyPanels(PanelFactors):
    """The lower factor of a positive definite matrix; only the lower half is read."""

    operation = "cholesky"

    def steps(self) -> tuple[Any, Any]:
        return cholesky_update, cholesky_factor


class LuPart(ArrayExpr):
    """``"L"`` (rows in the final order), ``"U"``, or ``"order"``: the rows' final order as a row of its own."""

    parameters = ("factors", "part", "dtype")

    factors: LuPanels
    part: str

    @property
    def label(self) -> str:
        return f"lu-{self.part}"

    @cached_property
    def chunks(self) -> Chunks:
        return self.factors.chunks if self.part != "order" else (self.factors.chunks[0],)

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.factors.meta, self.ndim, self.dtype)

    def tasks(self) -> dict[Key, Task]:
        blocks = self.factors.chunks[1]
        keys: list[Key] = [(self.factors.name, 0, number) for number in range(len(blocks))]
        if self.part == "order":
            key: Key = (self.name, 0)
            return {key: Task.of_blocks(key, final_order, keys)}
        tasks: dict[Key, Task] = {}
        for number, (begin, length) in enumerate(zip(starts(blocks), blocks, strict=True)):
            key = (self.name, 0, number)
            if self.part == "U":
                tasks[key] = Task.of_blocks(key, upper_part, [keys[number]], ((begin, length),))
            else:
                tasks[key] = Task.of_blocks(key, lower_part, keys[number:], ((begin, length),))
        return tasks


class Substitute(ArrayExpr):
    """The solution of a triangular system, or of one that `LuPanels` has factorised, for panels of right-hand sides.

    `kind` is ``"lu"``, ``"lower"`` or ``"upper"``; `unit` says that the diagonal is taken as ones.
    """

    parameters = ("factors", "right", "kind", "unit", "dtype")
    operation = "solve"

    factors: ArrayExpr
    right: ArrayExpr
    kind: str
    unit: bool

    @cached_property
    def chunks(self) -> Chunks:
        return self.right.chunks

    @cached_property
    def meta(self) -> Any:
        return make_meta(self.right.meta, self.ndim, self.dtype)

    @property
    def n_tasks(self) -> int:
        return self.numblocks[1] * self.factors.numblocks[1] * (2 if self.kind == "lu" else 1)

    def tasks(self) -> dict[Key, Task]:
        tasks: dict[Key, Task] = {}
        for column in range(self.numblocks[1]):
            state: Key = (self.right.name, 0, column)
            steps = list(self._steps())
            for number, (panel, function, literals) in enumerate(steps):
                is_last = number == len(steps) - 1
                key: Key = (self.name, 0, column) if is_last else (f"{self.name}-step", column, number)
                tasks[key] = Task.of_blocks(key, function, [state, (self.factors.name, 0, panel)], literals)
                state = key
        return tasks

    def _steps(self) -> Iterator[tuple[int, Any, tuple[Any, ...]]]:
        blocks = self.factors.chunks[1]
        places = list(enumerate(zip(starts(blocks), blocks, strict=True)))
        if self.kind == "lu":
            for number, (begin, length) in places:
                yield number, lu_forward, ((begin, length),)
            for number, (begin, length) in reversed(places):
                yield number, lu_backward, ((begin, length),)
            return
        is_lower = self.kind == "lower"
        for number, (begin, length) in places if is_lower else reversed(places):
            yield number, substitute, ((begin, length), is_lower, self.unit)


def substitute(right: Any, panel: Any, place: tuple[int, int], is_lower: bool, unit: bool) -> Any:
    """Return right-hand sides with the unknowns of one panel solved and taken out of the other rows."""
    begin, end = place[0], sum(place)
    with one_blas_thread():
        made = right.astype(namespace_of(right).result_type(right, panel), copy=True)
        made[begin:end] = solve_triangle(panel[begin:end], made[begin:end], is_lower, unit)
        if is_lower:
            made[end:] -= panel[end:] @ made[begin:end]
        else:
            made[:begin] -= panel[:begin] @ made[begin:end]
    return made


def solve_triangle(triangle: Any, right: Any, is_lower: bool, unit: bool = False) -> Any:
    """Return the solution of a triangular system in one block, by halves; the other triangle isn't read."""
    n = triangle.shape[0]
    xp = namespace_of(triangle)
    if n <= _SMALL:
        plain = xp.tril(triangle) if is_lower else xp.triu(triangle)
        if unit:
            plain = plain - xp.diag(xp.diag(plain)) + xp.eye(n, dtype=plain.dtype)
        return xp.linalg.solve(plain, right)
    half = n // 2
    first, second = slice(0, half), slice(half, n)
    if not is_lower:
        first, second = second, first
    one = solve_triangle(triangle[first, first], right[first], is_lower, unit)
    other = solve_triangle(triangle[second, second], right[second] - triangle[second, first] @ one, is_lower, unit)
    return xp.concatenate([one, other] if is_lower else [other, one])


def factor_in_place(panel: Any) -> Any:
    """Make a panel L (below the diagonal) and U; return the new order of its rows. By halves of the columns."""
    xp = namespace_of(panel)
    rows, columns = panel.shape
    if columns <= 16:
        return _factor_columns(panel)
    half = columns // 2
    left, right = panel[:, :half], panel[:, half:]
    order = factor_in_place(left)
    right[...] = right[order]
    right[:half] = solve_triangle(left[:half], right[:half], True, True)
    right[half:] -= left[half:] @ right[:half]
    below = factor_in_place(right[half:])
    left[half:] = left[half:][below]
    return xp.concatenate([order[:half], order[half:][below]])


def _factor_columns(panel: Any) -> Any:
    xp = namespace_of(panel)
    order = xp.arange(panel.shape[0])
    for column in range(min(panel.shape)):
        pivot = column + int(xp.argmax(abs(panel[column:, column])))
        if pivot != column:
            panel[[column, pivot]] = panel[[pivot, column]]
            order[[column, pivot]] = order[[pivot, column]]
        if panel[column, column] != 0:
            panel[column + 1 :, column] /= panel[column, column]
        panel[column + 1 :, column + 1 :] -= xp.outer(panel[column + 1 :, column], panel[column, column + 1 :])
    return order


def lu_update(panel: Any, factors: tuple[Any, Any], place: tuple[int, int, int, int]) -> Any:
    """Return a panel brought up to date by an earlier one."""
    return lu_forward(panel, factors, place[:2])


def lu_forward(panel: Any, factors: tuple[Any, Any], place: tuple[int, int]) -> Any:
    """Return rows in the order of an earlier panel, with its unknowns solved and taken out of the rows below."""
    earlier, order = factors
    begin, end = place[0], sum(place)
    with one_blas_thread():
        made = panel[order].astype(namespace_of(panel).result_type(panel, earlier), copy=False)
        made[begin:end] = solve_triangle(earlier[begin:end], made[begin:end], True, True)
        made[end:] -= earlier[end:] @ made[begin:end]
    return made


def lu_backward(right: Any, factors: tuple[Any, Any], place: tuple[int, int]) -> Any:
    """Return right-hand sides with the unknowns of one panel of U solved and taken out of the rows above."""
    return substitute(right, factors[0], place, False, False)


def lu_factor(panel: Any, place: tuple[int, int]) -> tuple[Any, Any]:
    """Return a panel with L and U in it, and the order of all rows that its pivots ask for."""
    begin = place[0]
    xp = namespace_of(panel)
    with one_blas_thread():
        made = panel.copy()
        below = factor_in_place(made[begin:])
    return made, xp.concatenate([xp.arange(begin), begin + below])


def final_order(*factors: tuple[Any, Any]) -> Any:
    """Return the order of rows that all exchanges together make."""
    order = factors[0][1]
    for _, later in factors[1:]:
        order = order[later]
    return order


def lower_part(factors: tuple[Any, Any], *rest: Any) -> Any:
    """Return a panel of L, its rows in the final order."""
    *later, (begin, length) = rest
    xp = namespace_of(factors[0])
    made = xp.tril(factors[0], -begin - 1) if begin else xp.tril(factors[0], -1)
    for _, order in later:
        made = made[order]
    made[begin + xp.arange(length), xp.arange(length)] = 1
    return made


def upper_part(factors: tuple[Any, Any], place: tuple[int, int]) -> Any:
    """Return a panel of U."""
    return namespace_of(factors[0]).triu(factors[0], -place[0])


def cholesky_update(panel: Any, earlier: Any, place: tuple[int, int, int, int]) -> Any:
    """Return a panel brought up to date by an earlier one."""
    _, _, begin, length = place
    with one_blas_thread():
        made = panel.copy()
        made[begin:] -= earlier[begin:] @ earlier[begin : begin + length].conj().T
    return made


def cholesky_factor(panel: Any, place: tuple[int, int]) -> Any:
    """Return a panel of the lower factor."""
    begin, end = place[0], sum(place)
    xp = namespace_of(panel)
    made = xp.zeros_like(panel)
    with one_blas_thread():
        corner = xp.linalg.cholesky(panel[begin:end])
        made[begin:end] = corner
        if end < len(panel):
            made[end:] = solve_triangle(corner, panel[end:].conj().T, True).conj().T
    return made

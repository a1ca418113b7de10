"""A drawing of an array's blocks as SVG: up to three axes a figure, further axes in figures to the left."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from glassloom.reprs.block_states import COLOURS, worst

LONGEST_PX = 120.0
SHORTEST_PX = 16.0
LINE_GAP_PX = 4.0
_MOST_FIGURES = 3
_MOST_COLOURED = 100_000
"""Of more blocks only their number by state is shown: colours of so many would say nothing, and take a second."""
_Faces = Mapping[tuple[int, int], str]
_EVENNESS = 0.45  # 1 would draw axes to scale, 0 all alike


@dataclass(frozen=True)
class Axis:
    """An axis as drawn: its length as text, in pixels, and where lines between blocks are."""

    text: str
    pixels: float
    lines: tuple[float, ...]
    n_hidden: int
    cells: tuple[int, ...] = (0,)
    """For each block the number of the space between lines that it is drawn in."""


def chunk_grid(chunks: Sequence[Sequence[float]], states: Sequence[str] = ()) -> Markup:
    """Return the drawing: for each axis the lengths of its blocks. Where lines would touch, some are left out.

    Parameters
    ----------
    states
        Of each block in C order, one of `block_states.COLOURS`: they colour the face of the last two axes. None: no colours.
    """
    shape = [sum(blocks) for blocks in chunks]
    longest = max((length for length in shape if length == length), default=1) or 1
    axes = [_axis(blocks, longest) for blocks in chunks]
    figures = [axes[max(end - 3, 0) : end] for end in range(len(axes), 0, -3)][::-1] or [[]]
    shown = figures[-_MOST_FIGURES:]
    faces = _cell_states(axes, states)
    drawn = [_figure(figure, faces if figure is shown[-1] else {}) for figure in shown]
    if len(figures) > len(shown):
        drawn.insert(
            0, Markup('<span class="glm2-note">{} more axes …</span>').format(len(axes) - sum(map(len, shown)))
        )
    notes = _notes(axes, shape)
    return Markup("").join([Markup('<div class="glm2-row">'), *drawn, Markup("</div>"), notes])


def _axis(blocks: Sequence[float], longest: float) -> Axis:
    length = sum(blocks)
    if math.isnan(length):
        pixels = LONGEST_PX * 0.7
        spread: Sequence[float] = [pixels / len(blocks)] * len(blocks)
    else:
        pixels = max(SHORTEST_PX, LONGEST_PX * (length / longest) ** _EVENNESS) if length else SHORTEST_PX
        spread = [pixels * block / length for block in blocks] if length else []
    lines: list[float] = []
    cells: list[int] = []
    position, n_hidden = 0.0, 0
    for width in spread[:-1]:
        cells.append(len(lines))
        position += width
        far_enough = position - (lines[-1] if lines else 0.0) >= LINE_GAP_PX - 1e-9
        if far_enough and pixels - position >= LINE_GAP_PX - 1e-9:
            lines.append(position)
        elif 0 < position < pixels:
            n_hidden += 1
    return Axis("?" if math.isnan(length) else f"{int(length):,}", pixels, tuple(lines), n_hidden, (*cells, len(lines)))


def _cell_states(axes: Sequence[Axis], states: Sequence[str]) -> dict[tuple[int, int], str]:
    """Return the state of each space between the lines of the last two axes: of the blocks in it that which counts most."""
    if not 0 < len(states) <= _MOST_COLOURED or math.prod(len(axis.cells) for axis in axes) != len(states):
        return {}
    down, across = (*([(0,)] * 2), *(axis.cells for axis in axes))[-2:]
    found: dict[tuple[int, int], str] = {}
    for number, state in enumerate(states):
        row, column = divmod(number, len(across))
        place = down[row % len(down)], across[column]
        found[place] = worst((state, found[place])) if place in found else state
    return found


def _notes(axes: Sequence[Axis], shape: Sequence[float]) -> Markup:
    notes = []
    n_hidden, n_lines = sum(axis.n_hidden for axis in axes), sum(len(axis.lines) for axis in axes)
    if n_hidden:
        notes.append(f"{n_lines:,} of {n_lines + n_hidden:,} lines drawn")
    if any(math.isnan(length) for length in shape):
        notes.append("? not known yet")
    if any(length == 0 for length in shape):
        notes.append("empty")
    return Markup('<div class="glm2-note">{}</div>').format(" · ".join(notes)) if notes else Markup("")


def _figure(axes: Sequence[Axis], faces: _Faces) -> Markup:
    if len(axes) == 3:
        deep, down, across = axes
        return _box(deep, down, across, faces)
    if len(axes) == 2:
        down, across = axes
        return _rectangle(down, across, faces)
    if len(axes) == 1:
        return _rectangle(Axis("", SHORTEST_PX * 1.5, (), 0), axes[0], faces)
    return _rectangle(Axis("", SHORTEST_PX, (), 0), Axis("", SHORTEST_PX, (), 0), faces)


def _coloured(down: Axis, across: Axis, faces: _Faces) -> list[str]:
    """Return the front face: in one colour, or each space between lines in its state's."""
    if not faces:
        return [_face(f"M0 0H{across.pixels:.1f}V{down.pixels:.1f}H0Z")]
    rows, columns = (0.0, *down.lines, down.pixels), (0.0, *across.lines, across.pixels)
    return [
        f'<rect x="{columns[column]:.1f}" y="{rows[row]:.1f}" width="{columns[column + 1] - columns[column]:.1f}" '
        f'height="{rows[row + 1] - rows[row]:.1f}" fill="{COLOURS[state]}" fill-opacity="0.75"><title>{state}</title></rect>'
        for (row, column), state in sorted(faces.items())
    ]


def _rectangle(down: Axis, across: Axis, faces: _Faces) -> Markup:
    width, height = across.pixels, down.pixels
    lines = [f"M0 {y:.1f}H{width:.1f}" for y in down.lines] + [f"M{x:.1f} 0V{height:.1f}" for x in across.lines]
    parts = [
        *_coloured(down, across, faces),
        _lines(lines),
        _text(width / 2, height + 15, across.text, "middle"),
        _text(width + 6, height / 2 + 4, down.text, "start"),
    ]
    right = 8 + 7 * len(down.text)
    half = max(0.0, 3.6 * len(across.text) - width / 2)
    return _svg(
        parts, left=half + 1, top=1, right=max(width + right, width + half), bottom=height + (20 if across.text else 1)
    )


def _box(deep: Axis, down: Axis, across: Axis, faces: _Faces) -> Markup:
    """Draw a box in oblique projection: depth goes up and to the right."""
    width, height, depth = across.pixels, down.pixels, deep.pixels * 0.45
    top = [f"M{x:.1f} 0l{depth:.1f} {-depth:.1f}" for x in across.lines]
    top += [f"M{d:.1f} {-d:.1f}h{width:.1f}" for d in (0.45 * line for line in deep.lines)]
    side = [f"M{width:.1f} {y:.1f}l{depth:.1f} {-depth:.1f}" for y in down.lines]
    side += [f"M{width + d:.1f} {-d:.1f}v{height:.1f}" for d in (0.45 * line for line in deep.lines)]
    front = [f"M0 {y:.1f}H{width:.1f}" for y in down.lines] + [f"M{x:.1f} 0V{height:.1f}" for x in across.lines]
    parts = [
        _face(f"M0 0l{depth:.1f} {-depth:.1f}h{width:.1f}l{-depth:.1f} {depth:.1f}Z", 0.12),
        _face(f"M{width:.1f} 0l{depth:.1f} {-depth:.1f}v{height:.1f}l{-depth:.1f} {depth:.1f}Z", 0.36),
        *_coloured(down, across, faces),
        _lines(top + side + front),
        _text(width / 2, height + 15, across.text, "middle"),
        _text(-6, height / 2 + 4, down.text, "end"),
        _text(width + depth / 2 + 6, height - depth / 2 + 12, deep.text, "start"),
    ]
    left = max(8 + 7 * len(down.text), 3.6 * len(across.text) - width / 2)
    right = max(width + depth + 2, width + depth / 2 + 8 + 7 * len(deep.text))
    return _svg(parts, left=left, top=depth + 1, right=right, bottom=height + 20)


def _svg(parts: Sequence[str], *, left: float, top: float, right: float, bottom: float) -> Markup:
    width, height = left + right, top + bottom
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="glm2-blocks" role="img" aria-label="chunk grid" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="{-left:.1f} {-top:.1f} {width:.1f} {height:.1f}">'
        f"{''.join(parts)}</svg>"
    )


def _face(path: str, opacity: float = 0.22) -> str:
    # Attributes, where a style sheet might do: notebooks strip style sheets from what they don't trust.
    return f'<path d="{path}" fill="#14868c" fill-opacity="{opacity}" stroke="#14868c" stroke-width="1.5" stroke-linejoin="round"/>'


def _lines(commands: Sequence[str]) -> str:
    return (
        f'<path d="{"".join(commands)}" fill="none" stroke="#14868c" stroke-opacity="0.6" stroke-width="0.8"/>'
        if commands
        else ""
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11.5" fill="currentColor">{text}</text>'
        if text
        else ""
    )

"""Results as a page of Markdown tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attrs

from benchmarks.cells import CASES, ORACLE, SHORT, Cell
from benchmarks.goals import GOALS, own_share, per_second, per_state
from benchmarks.growth import Growth, growth
from benchmarks.loops import LOOPS, OURS
from benchmarks.results import Found, Value

Show = Callable[[Value], str]
_Column = tuple[str, Callable[[Value], bool], Callable[[Value], int]]

_BODIES: Final = ("body, joined", "body", "body, whole")
_LETTERS: Final = {"history": "H", "steps": "S"}
_THOUSAND: Final = 1_000
_UNITS: Final = {"second": (1e-6, ("us", "ms", "s")), "byte": (1.0, ("B", "kB", "MB", "GB"))}


def page(found: Found) -> str:
    """The whole page."""
    sections = (
        f"# Measured\n\n{found.machine}. Medians, and in brackets the median distance from them.",
        _versions(found),
        _goals(found),
        *(_sizes(found, case) for case in ("step", "run", "override")),
        _ratios(found),
        _sizes(found, "handler"),
        _handlers(found),
        _sizes(found, "states"),
        *(_exponents(found, case) for case in ("step", "override", "states")),
        *(_sizes(found, case) for case in ("memory", "states memory")),
        _states(found),
        *(_sizes(found, case) for case in ("fork", "fork memory")),
        _bodies(found),
        _guards(found),
        _oracle(found),
        _without(found),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def amount(value: float, unit: str) -> str:
    """A number of seconds or bytes, three digits of it, in a unit that fits."""
    smallest, (*names, largest) = _UNITS[unit]
    scaled = value / smallest
    for name in names:
        # As it is shown: 999.7 is a thousand.
        if float(f"{scaled:.3g}") < _THOUSAND:
            return f"{scaled:.3g} {name}"
        scaled /= _THOUSAND
    return f"{scaled:,.3g} {largest}" if scaled < _THOUSAND else f"{scaled:,.0f} {largest}"


def _versions(found: Found) -> str:
    shown = [f"{LOOPS[name].package} {found.versions[name]}" for name in LOOPS if name in found.versions]
    shown += [found.versions[profile] for profile in ORACLE if profile in found.versions]
    return f"Of {', '.join(dict.fromkeys(shown))}." if shown else ""


# ---------------------------------------------------------------- goals


def _goals(found: Found) -> str:
    rows: list[tuple[str, ...]] = []
    for goal in GOALS:
        figure, bound = goal.measured(found), f"at {'least' if goal.least else 'most'} {goal.bound:,g}"
        if figure is None:
            rows.append((goal.says, bound, "not measured", ""))
        else:
            rows.append((goal.says, bound, f"{figure:,.3g}", "met" if goal.met(figure) else "missed"))
    return "## Goals\n\n" + markdown(("what", "goal", "measured", ""), rows)


# ---------------------------------------------------------------- cells by their sizes


def _sizes(found: Found, case: str) -> str:
    unit = CASES[case].unit
    return _grid(found, case, CASES[case].says, lambda value: _shown(value, unit))


def _shown(value: Value, unit: str) -> str:
    shown = amount(value.median, unit)
    return shown if value.count == 1 else f"{shown} ({value.spread:.0%})"


def _grid(found: Found, case: str, title: str, show: Show) -> str:
    cells = {_place(cell): cell for cell in (*found.values, *found.without) if cell.case == case}
    if not cells:
        return ""
    sizes = sorted({size for _, size in cells})
    loops = [name for name in LOOPS if name in {loop for loop, _ in cells}]
    rows = [(name, *(_text(found, cells.get((name, size)), show) for size in sizes)) for name in loops]
    header = ("loop", *(f"S={steps:,} H={history:,}" for steps, history in sizes))
    return f"## {case}: {title}\n\n{markdown(header, rows)}"


def _place(cell: Cell) -> tuple[str, tuple[int, int]]:
    return cell.loop, (cell.steps, cell.history)


def _text(found: Found, cell: Cell | None, show: Show) -> str:
    if cell is None:
        return ""
    if cell in found.values:
        return show(found.values[cell])
    return "over the limit" if "the limit" in found.without[cell] else "fails"


def _ratios(found: Found) -> str:
    def times(value: Value) -> str:
        ours = found.median(Cell(case="step", loop=OURS, history=value.cell.history, steps=value.cell.steps))
        return "" if ours is None else f"{value.median / ours:.3g}"

    return _grid(found, "step", f"how many times the step of {OURS}", times).replace(
        "## step:", "## step,", 1
    )


def _handlers(found: Found) -> str:
    def times(value: Value) -> str:
        alone = found.median(attrs.evolve(value.cell, case="step"))
        return "" if alone is None else f"{value.median / alone:.3g}"

    return _grid(found, "handler", "how many times a step without one", times).replace(
        "## handler:", "## handler,", 1
    )


# ---------------------------------------------------------------- growth


def _exponents(found: Found, case: str) -> str:
    values = [value for value in found.of(case) if value.cell.history != SHORT]
    columns = [*_columns(values, "steps", "history"), *_columns(values, "history", "steps")]
    rows = []
    for name in LOOPS:
        mine = [value for value in values if value.cell.loop == name]
        fitted = [
            growth({size(value): value.median for value in mine if at(value)}) for _, at, size in columns
        ]
        if any(fitted):
            rows.append((name, *map(_exponent, fitted)))
    if not rows:
        return ""
    said = f"## {case}, exponents of its growth\n\nOver all sizes but zero; in brackets between the last two."
    return f"{said}\n\n{markdown(('loop', *(title for title, *_ in columns)), rows)}"


def _columns(values: Iterable[Value], fixed: str, growing: str) -> list[_Column]:
    sizes: dict[int, set[int]] = {}
    for value in values:
        sizes.setdefault(getattr(value.cell, fixed), set()).add(getattr(value.cell, growing))

    def column(at: int) -> _Column:
        return (
            f"in {_LETTERS[growing]}, {_LETTERS[fixed]}={at:,}",
            lambda value: getattr(value.cell, fixed) == at,
            lambda value: int(getattr(value.cell, growing)),
        )

    # One size besides zero has no slope.
    return [column(at) for at, found in sorted(sizes.items()) if len(found - {0}) > 1]


def _exponent(fitted: Growth | None) -> str:
    return "" if fitted is None else f"{fitted.exponent:.2f} ({fitted.last:.2f} to {fitted.largest:,})"


def _states(found: Found) -> str:
    histories = sorted({value.cell.history for value in found.of("memory")})
    rows = [
        (name, *("" if each is None else amount(each, "byte") for each in costs))
        for name in LOOPS
        if any(costs := [per_state(found, name, history) for history in histories])
    ]
    header = ("loop", *(f"H={history:,}" for history in histories))
    return f"## memory, one more step from 100 to 1,000\n\n{markdown(header, rows)}" if rows else ""


# ---------------------------------------------------------------- bodies


def _bodies(found: Found) -> str:
    cells = sorted((value.cell for value in found.of("body, joined")), key=lambda cell: cell.history)
    rows = []
    for cell in cells:
        joined, *others = (found.values.get(attrs.evolve(cell, case=case)) for case in _BODIES)
        if joined is not None:
            shown = ("" if each is None else _shown(each, "second") for each in (joined, *others))
            ratios = ("" if each is None else f"{each.median / joined.median:.3g}" for each in others)
            rows.append((f"{cell.history:,}", *shown, *ratios))
    header = ("H", "joining bytes", "of bytes kept", "whole", "kept over joining", "whole over joining")
    return f"## The body of a request by what it is made of\n\n{markdown(header, rows)}" if rows else ""


def _guards(found: Found) -> str:
    cells = sorted((value.cell for value in found.of("guard")), key=lambda cell: cell.history)
    rows = []
    for cell in cells:
        ours, copied = (
            found.values.get(attrs.evolve(cell, case=f"guard{end}")) for end in ("", ", deepcopy")
        )
        if ours is not None and copied is not None:
            shown = (_shown(each, "second") for each in (ours, copied))
            rows.append((f"{cell.history:,}", *shown, f"{ours.median / copied.median:.3g}"))
    header = ("H", "guarded block", "deepcopy", "block over copy")
    return f"## A guarded block beside a deep copy\n\n{markdown(header, rows)}" if rows else ""


# ---------------------------------------------------------------- the oracle, and what has no value


def _oracle(found: Found) -> str:
    rows: list[tuple[str, ...]] = []
    for profile in ORACLE:
        checked = found.median(Cell(case="check", loop=profile))
        figures = (per_second(found, profile), None if checked is None else 1 / checked)
        share = own_share(found, profile)
        if any(figure is not None for figure in figures):
            shown = ("" if figure is None else f"{figure:,.0f}" for figure in figures)
            rows.append((profile, *shown, "" if share is None else f"{share:.0%}"))
    header = (
        "profile",
        "programs of four steps a second, traced",
        "random programs a second, checked",
        "ours",
    )
    return f"## The oracle\n\n{markdown(header, rows)}" if rows else ""


def _without(found: Found) -> str:
    rows = [
        (cell.name, reason.replace("|", "/").replace("\n", " ")) for cell, reason in found.without.items()
    ]
    return f"## Without a value, or with fewer\n\n{markdown(('cell', 'why'), rows)}" if rows else ""

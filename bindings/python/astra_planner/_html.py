"""How answers show themselves in a notebook: a card, a table, the front as a small picture.

One piece of HTML without scripts, style sheets or addresses; colours follow the page's text, so
that it reads on light and dark ones. Every text of an answer is escaped.
"""

from html import escape
from typing import Any, Iterable, List, Optional, Sequence, Tuple

_GREY = "color-mix(in srgb, currentColor 55%, transparent)"
_LINE = "1px solid color-mix(in srgb, currentColor 20%, transparent)"
_PARTS = {  # of a step, in colours that differ for the colour-blind too
    "compute": "#0072b2",
    "recompute": "#56b4e9",
    "tp": "#e69f00",
    "cp": "#f0e442",
    "ep": "#d55e00",
    "pp": "#cc79a7",
    "dp": "#009e73",
    "bubble": "#999999",
    "optimizer": "#5d3a9b",
}


def number(value: Any, digits: int = 3) -> str:
    """1234567 is 1.23M, and what is not known a dash."""
    if value is None:
        return "–"
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if abs(value) >= size:
            return f"{value / size:.{digits}g}{letter}"
    return f"{value:.{digits}g}"


def _gib(bytes_: Optional[float]) -> str:
    return "–" if bytes_ is None else f"{bytes_ / 2**30:.1f} GiB"


def _percent(share: Optional[float]) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _box(parts: Iterable[str]) -> str:
    return f'<div style="max-width:70em;line-height:1.4">{"".join(parts)}</div>'


def _line(text: str, style: str = "") -> str:
    return f'<div style="margin:.3em 0;{style}">{escape(text)}</div>' if text else ""


def _lines(texts: Optional[Iterable[str]], mark: str) -> str:
    return "".join(_line(f"{mark} {text}", f"color:{_GREY}") for text in texts or ())


def _card(pairs: Sequence[Tuple[str, str]]) -> str:
    cells = "".join(
        f'<div style="padding:.3em 1em .3em 0"><div style="font-size:80%;color:{_GREY}">'
        f'{escape(name)}</div><div style="font-size:120%">{escape(value)}</div></div>'
        for name, value in pairs
    )
    return f'<div style="display:flex;flex-wrap:wrap">{cells}</div>'


def _row(cells: Iterable[Any], tag: str) -> str:
    style = f"text-align:right;white-space:nowrap;padding:.1em .6em;border-bottom:{_LINE}"
    inside = "".join(f'<{tag} style="{style}">{escape(str(cell))}</{tag}>' for cell in cells)
    return f"<tr>{inside}</tr>"


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    body = "".join(_row(row, "td") for row in rows)
    return (
        '<div style="overflow-x:auto"><table style="border-collapse:collapse;font-size:90%">'
        f'<thead>{_row(head, "th")}</thead><tbody>{body}</tbody></table></div>'
    )


def _pre(text: str) -> str:
    return f'<pre style="white-space:pre-wrap;margin:.3em 0">{escape(text)}</pre>'


def _more(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>" if inside else ""


def _fullest(plan: Any) -> Optional[int]:
    return max((stage.device_bytes for stage in plan.stages or ()), default=None)


def _figures(p: Any) -> List[Tuple[str, str]]:
    return [
        ("GPUs", f"{p.gpus} {p.gpu}"),
        ("step", f"{number(p.step_s)} s ±{_percent(p.expected_error)}"),
        ("tokens/s", number(p.tokens_per_s)),
        ("MFU", _percent(p.mfu)),
        ("fullest GPU", f"{_gib(_fullest(p))} of {_gib(p.limit_bytes)}"),
        ("$/Mtoken", number(p.money.usd_per_mtoken)),
    ]


def _layout(s: Any) -> str:
    names = ("tp", "cp", "pp", "vpp", "dp", "ep", "micro_batch")
    always = ("tp", "pp", "dp", "micro_batch")
    parts = [f"{name} {s[name]}" for name in names if name in always or s[name] != 1]
    return ", ".join(parts).replace("_", "-")


def layout(plan: Any) -> str:
    """A plan in half a line."""
    return f"{_layout(plan.strategy)} on {plan.gpus} {plan.gpu}: {number(plan.step_s)} s a step"


def _bar(plan: Any) -> str:
    """Where the seconds of a step go, as a bar with its names below."""
    parts = [(name, plan.breakdown.get(name, 0.0)) for name in _PARTS] if plan.breakdown else []
    whole = sum(seconds for _, seconds in parts)
    if whole <= 0:
        return ""
    at, bars, names = 0.0, [], []
    for name, seconds in parts:
        width = 600 * seconds / whole
        if width < 0.5:
            continue
        bars.append(f'<rect x="{at:.1f}" width="{width:.1f}" height="14" fill="{_PARTS[name]}"/>')
        share = f"{name} {100 * seconds / whole:.1f} %"
        names.append(f'<span style="color:{_PARTS[name]}">■</span> {escape(share)}')
        at += width
    return (
        f'<svg viewBox="0 0 600 14" width="600" style="max-width:100%" role="img" '
        f'aria-label="where the time of a step goes">{"".join(bars)}</svg>'
        f'<div style="font-size:85%">{" &nbsp; ".join(names)}</div>'
    )


def _stages(plan: Any) -> str:
    head = ("stage", "GPUs", "layers", "forward", "backward", "idle", "on the GPU", "fits")
    rows = [
        (
            s.stage,
            f"{s.gpus} {s.gpu}",
            s.layers,
            f"{number(s.forward_s)} s",
            f"{number(s.backward_s)} s",
            f"{number(s.idle_s)} s",
            _gib(s.device_bytes),
            "yes" if s.fits else "no",
        )
        for s in plan.stages or ()
    ]
    return _table(head, rows) if rows else ""


def _set(change: Any) -> str:
    """What to change, as `set` takes it."""
    return f"{' '.join(change.set)}: {number(change.step_s)} s a step"


def _advice(p: Any) -> str:
    changes = (("Fits with", p.remedy), ("Faster with", p.instead))
    return "".join(_line(f"{what} {_set(change)}") for what, change in changes if change)


def plan(p: Any) -> str:
    """A plan: whether it is feasible, its figures, where the time goes, its stages."""
    verdict = f"{p.model.name}: {_layout(p.strategy)}"
    return _box(
        (
            _line(verdict, "font-weight:bold"),
            "" if p.feasible else _line("Not feasible", "font-weight:bold;color:#d55e00"),
            _lines(p.reasons, "–"),
            _card(_figures(p)),
            _bar(p),
            _advice(p),
            _lines([caution.reason for caution in p.cautions or ()], "!"),
            _lines(p.notes, "–"),
            _lines(p.hints, "–"),
            _more("stages", _stages(p)),
            _more("launch flags", _pre(" ".join(p.engine.flags)) if p.engine.flags else ""),
        )
    )


def _parameters(plans: Sequence[Any]) -> List[str]:
    """Those worth a column: always the first few, others where a plan uses them."""
    rare = [name for name in ("cp", "vpp", "ep") if any(p.strategy[name] != 1 for p in plans)]
    names = ("tp", "cp", "pp", "vpp", "dp", "ep", "micro_batch", "recompute")
    return [name for name in names if name in rare or name not in ("cp", "vpp", "ep")]


def _gpus(plan: Any, plans: Sequence[Any]) -> str:
    """With the type where the plans differ in it."""
    return f"{plan.gpus}" if len({p.gpu for p in plans}) == 1 else f"{plan.gpus} {plan.gpu}"


def _plans(plans: Sequence[Any]) -> str:
    names = _parameters(plans)
    shown = [name.replace("_", "-") for name in names]
    head = ("", "GPUs", *shown, "step", "tokens/s", "MFU", "fullest GPU", "$/Mtoken")
    rows = [
        (
            at + 1,
            _gpus(p, plans),
            *(p.strategy[name] for name in names),
            f"{number(p.step_s)} s",
            number(p.tokens_per_s),
            _percent(p.mfu),
            _gib(_fullest(p)),
            number(p.money.usd_per_mtoken),
        )
        for at, p in enumerate(plans)
    ]
    return _table(head, rows)


def _span(values: Sequence[float]) -> Tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _dot(x: float, y: float, title: str) -> str:
    says = f"<title>{escape(title)}</title>"
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#0072b2">{says}</circle>'


def _words(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _front(plans: Sequence[Any]) -> str:
    """Dollars against speed; a dot is a plan, and says so when pointed at."""
    known = [p for p in plans if p.money.usd_per_mtoken is not None]
    if len(known) < 2:
        return ""
    left, right, top, bottom = 70, 590, 14, 190
    x0, x1 = _span([p.tokens_per_s for p in known])
    y0, y1 = _span([p.money.usd_per_mtoken for p in known])
    at = [
        (
            left + (right - left) * (p.tokens_per_s - x0) / (x1 - x0),
            bottom - (bottom - top) * (p.money.usd_per_mtoken - y0) / (y1 - y0),
        )
        for p in known
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in sorted(at))
    first, last = known[0], known[-1]
    return (
        '<svg viewBox="0 0 600 230" width="600" style="max-width:100%" font-size="12" '
        'fill="currentColor" role="img" aria-label="Pareto front of speed and money">'
        f'<path d="M{left},{top}V{bottom}H{right}" fill="none" stroke="currentColor"/>'
        f'<polyline points="{path}" fill="none" stroke="#0072b2" stroke-opacity="0.5"/>'
        + "".join(_dot(x, y, f"{layout(p)}, ${p.money.usd_per_mtoken:.4g}/Mtoken")
                  for (x, y), p in zip(at, known))
        + _words(left - 6, at[0][1] + 4, "end", f"${first.money.usd_per_mtoken:.3g}")
        + _words(left - 6, at[-1][1] + 4, "end", f"${last.money.usd_per_mtoken:.3g}")
        + _words(at[0][0], bottom + 16, "middle", number(first.tokens_per_s))
        + _words(at[-1][0], bottom + 16, "middle", number(last.tokens_per_s))
        + _words((left + right) / 2, bottom + 34, "middle", "tokens/s, against $/Mtoken")
        + "</svg>"
    )


def search(answer: Any) -> str:
    """A search: its first plan, the best plans, the front."""
    best = answer.best
    flags = best[0].engine.flags if best else None
    return _box(
        (
            _line(answer.question.text, f"color:{_GREY}"),
            _line(answer.summary or "", "font-weight:bold"),
            _card(_figures(best[0])) if best else "",
            _bar(best[0]) if best else "",
            _plans(best) if best else "",
            _front(answer.pareto),
            _lines(answer.notes, "–"),
            _more("launch flags of plan 1", _pre(" ".join(flags)) if flags else ""),
        )
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


def listing(rows: Sequence[Any]) -> str:
    """A table of what is plain in the rows: no lists, no objects."""
    head = [name for name in (rows[0].keys() if rows else ())
            if not any(isinstance(row.get(name), list) or hasattr(row.get(name), "to_dict")
                       for row in rows)]
    return _box((_table(head, [[_cell(row.get(name)) for name in head] for row in rows]),))


def script(text: str) -> str:
    """A text as it stands."""
    return _box((_pre(text),))

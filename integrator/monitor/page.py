"""The status page: HTML and SVG alone, without scripts; whatever comes from channels is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from integrator.monitor.history import HOUR_S
from integrator.monitor.monitor import Monitor

Points = Sequence[tuple[float, float]]
"""Values by how many seconds ago."""
_WIDTH, _HEIGHT = 360, 70
_NAMED = 20
"""Tables of a topic that are named."""
_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5f6b78;--line:#d5dbe1;--paper:#fff;--back:#f4f6f8;--good:#1a7f4b;
--bad:#b3261e;--wait:#9a6700;--plot:#2f6fdb}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#98a4b0;--line:#333c45;--paper:#171b20;--back:#0e1114;
--good:#4cc38a;--bad:#ff7b72;--wait:#e0b13a;--plot:#6ea8fe}}
body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--back);color:var(--ink);
font:15px/1.45 system-ui,sans-serif}
h1{font-size:1.25rem;margin:0}h2{font-size:1.1rem;margin:0}p{margin:.3rem 0}.soft,th{color:var(--soft)}
section{background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:1rem;margin:1rem 0}
.head{display:flex;gap:.75rem;align-items:baseline;flex-wrap:wrap}.good{color:var(--good)}.bad{color:var(--bad)}
.wait{color:var(--wait)}.doing{font-weight:600}.plots{display:flex;gap:2rem;flex-wrap:wrap;margin:.75rem 0}
.error{border-left:4px solid var(--bad);padding:.2rem .8rem;margin:.75rem 0}.mended{border-color:var(--line)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0;font-size:13px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th{text-align:right;font-weight:500;position:sticky;top:0;background:var(--paper)}
th:first-child,td:first-child{text-align:left;overflow-wrap:anywhere}
td{text-align:right;border-top:1px solid var(--line)}th,td{padding:.2rem .5rem}
.numbers{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:.5rem;margin:.75rem 0}
.numbers b{display:block;font-size:1.1rem;white-space:nowrap}svg{display:block;max-width:100%}
details{margin-top:.75rem}summary{cursor:pointer}.rows{max-height:28rem;overflow:auto}
"""
_COLOUR = {"integrating": "good", "failed": "bad", "resting": "bad", "ended": "soft"}
OPERATIONS = {
    "0": "deletes",
    "1": "inserts",
    "2": "updates",
    "3": "before key updates",
    "4": "before updates",
    "5": "truncates",
}


def page(monitor: Monitor) -> str:
    """Return the page as it is now; a browser loads it again each ten seconds."""
    status = monitor.status()
    sections = "".join(_channel(one, *monitor.plots(one["channel"])) for one in status["channels"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="10">'
        '<meta name="viewport" content="width=device-width"><title>integrator</title>'
        f'<style>{_STYLE}</style></head><body><h1>integrator</h1><p class="soft">as of {status["time"]}; started '
        f'{status["started"]}; counts are since then. <a href="/status">JSON</a> · <a href="/metrics">metrics</a></p>'
        f"{sections}</body></html>"
    )


def _channel(
    one: dict[str, Any], rates: Sequence[tuple[float, float]], latencies: Sequence[tuple[float, float]]
) -> str:
    counts = one["counts"]
    latency = "none" if one["latency_seconds"] is None else f"{one['latency_seconds']:,} s"
    numbers = [
        ("rows read", f"{counts.get('rows', 0):,}"),
        ("messages", f"{counts.get('messages', 0):,}"),
        ("bytes", size(counts.get("bytes", 0))),
        ("cycles", f"{counts.get('cycles', 0):,}"),
        ("rows/s, last cycle", f"{one['rows_per_second']:,}"),
        ("latency, last cycle", latency),
        ("files not synced", f"{one['lag_files']:,} ({size(one['lag_bytes'])})"),
        ("skipped rows", f"{sum(one['skipped'].values()):,}"),
        ("coerced values", f"{sum(one['coerced'].values()):,}"),
        ("rejected lines", f"{counts.get('rejected', 0):,}"),
        ("restarts", f"{counts.get('restarts', 0):,}"),
    ]
    cells = "".join(f'<div><b>{value}</b><span class="soft">{name}</span></div>' for name, value in numbers)
    colour = _COLOUR.get(one["doing"], "wait")
    cycle = (
        "no cycle yet" if one["last_synced"] is None else f"cycle {one['last_synced_cycle']} at {one['last_synced']}"
    )
    return (
        f'<section><div class="head"><h2>{escape(one["channel"])}</h2>'
        f'<span class="doing {colour}">{escape(one["doing"])}</span>'
        f'<span class="soft">since {escape(one["since"])}; last synced: {cycle}</span></div>{_failure(one["failure"])}'
        f'<div class="numbers">{cells}</div><div class="plots">{_plot("rows/s, last hour", rates, joined=True)}'
        f"{_plot('latency in s, last hour', latencies, joined=False)}</div>"
        f"{_reasons('skipped rows', one['skipped'])}{_reasons('coerced values', one['coerced'])}"
        f"{_topics(one['topics'])}</section>"
    )


def _failure(failure: dict[str, Any] | None) -> str:
    if failure is None:
        return ""
    kind, time, who = (escape(str(failure[name])) for name in ("kind", "time", "who"))
    after = f"mended at {escape(failure['mended'])}" if failure["mended"] else f"to be acted on by {who}"
    if not failure["mended"] and failure["again_in"] is not None:
        after += f"; starts again {failure['again_in']} s after it, number {failure['in_a_row']} in a row"
    mended = " mended" if failure["mended"] else ""
    return (
        f'<div class="error{mended}"><p><b>last failure</b> {time} ({kind}), {after}</p>'
        f"<pre>{escape(failure['error'])}</pre></div>"
    )


def _plot(title: str, points: Points, *, joined: bool) -> str:
    """Return a plot of values by seconds ago; `joined` by a line, else as dots."""
    most = max((value for _, value in points), default=0.0)
    places = [
        (_WIDTH * (1 - min(ago, HOUR_S) / HOUR_S), _HEIGHT - 2 - (_HEIGHT - 6) * value / (most or 1.0))
        for ago, value in points
    ]
    if joined:
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn = f'<polyline points="{line}" fill="none" stroke="var(--plot)" stroke-width="1.5"/>'
    else:
        drawn = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="var(--plot)"/>' for x, y in places)
    return (
        f'<div><span class="soft">{title}; highest {most:,.1f}</span><svg role="img" aria-label="{title}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"><line x1="0" x2="{_WIDTH}" '
        f'y1="{_HEIGHT - 1}" y2="{_HEIGHT - 1}" stroke="var(--line)"/>{drawn}</svg></div>'
    )


def _reasons(title: str, counts: dict[str, int]) -> str:
    if not counts:
        return ""
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{count:,}</td></tr>" for name, count in sorted(counts.items()))
    return f'<details><summary>{title}, by reason</summary><div class="rows"><table>{rows}</table></div></details>'


def _topics(topics: dict[str, Any]) -> str:
    """Return the table of topics, those with rows first."""
    used = sorted({code for one in topics.values() for code in one["operations"]})
    head = "".join(f"<th>{OPERATIONS.get(code, escape(code))}</th>" for code in used)
    ordered = sorted(topics.items(), key=lambda item: (-sum(item[1]["operations"].values()), item[0]))
    rows = "".join(
        f"<tr><td>{escape(topic)}{_tables(topic, one['tables'])}</td><td>{sum(one['operations'].values()):,}</td>"
        + "".join(f"<td>{one['operations'].get(code, 0):,}</td>" for code in used)
        + "</tr>"
        for topic, one in ordered
    )
    return (
        f"<details open><summary>{len(topics)} topic{'' if len(topics) == 1 else 's'}: rows sent</summary>"
        f'<div class="rows"><table><tr><th>topic</th><th>rows</th>{head}</tr>{rows}</table></div></details>'
    )


def _tables(topic: str, tables: Sequence[str]) -> str:
    """Return the tables of a topic, where its name does not say them."""
    if not tables or (len(tables) == 1 and topic.endswith(tables[0])):
        return ""
    named = ", ".join(map(escape, tables[:_NAMED])) + (f" and {len(tables) - _NAMED} more" * (len(tables) > _NAMED))
    return f' <span class="soft">{named}</span>'


def size(number: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"

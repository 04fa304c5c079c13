"""The status page: HTML and SVG; whatever comes from channels is escaped.

It shows itself anew each ten seconds, by its only script: a page stays open while a process is started again, and what
somebody has opened on it stays open. Without scripts, the browser loads it again.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Any

from integrator.backlog import shown
from integrator.monitor.monitor import Monitor
from integrator.monitor.plots import Points, plot
from integrator.names.numbers import counted, size
from integrator.sources.contract import ServerLog

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
svg text{font-size:11px;fill:var(--soft)}details{margin-top:.75rem}summary{cursor:pointer}
.rows{max-height:28rem;overflow:auto}
"""
_SCRIPT = """
const all = (page, what) => [...page.querySelectorAll(what)];
async function renew() {
  try {
    const answer = await fetch(location.href, {cache: "no-store", signal: AbortSignal.timeout(9000)});
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const opened = new Map(all(document, "details").map(one => [one.id, one.open]));
    const scrolled = new Map(all(document, "details").map(one => [one.id, one.querySelector(".rows").scrollTop]));
    all(page, "details").forEach(one => { one.open = opened.get(one.id) ?? one.open; });
    document.body.replaceWith(page.body);
    all(document, "details").forEach(one => { one.querySelector(".rows").scrollTop = scrolled.get(one.id) ?? 0; });
  } catch {
    document.getElementById("away").hidden = false;
  }
  setTimeout(renew, 10000);
}
setTimeout(renew, 10000);
"""
SCRIPT_HASH = f"sha256-{base64.b64encode(hashlib.sha256(_SCRIPT.encode()).digest()).decode()}"
"""What allows the script, and no other one (https://www.w3.org/TR/CSP3/#grammardef-hash-source)."""
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
    """Return the page as it is now."""
    status = monitor.status()
    now = status["time"]
    sections = "".join(_channel(one, now, *monitor.plots(one["channel"])) for one in status["channels"])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><noscript><meta http-equiv="refresh" content="10">'
        '</noscript><meta name="viewport" content="width=device-width"><title>integrator</title>'
        f"<style>{_STYLE}</style><script>{_SCRIPT}</script></head><body><h1>integrator</h1>"
        '<p id="away" class="bad" hidden>The process does not answer now; below is what it did before.</p>'
        f'<p class="soft">as of {now}; started {_ago(status["started"], now)}; counts are since then. '
        f'<a href="/status">JSON</a> · <a href="/metrics">metrics</a></p>{sections}</body></html>'
    )


def _ago(time: str, now: str, form: str = "{} ago") -> str:
    """Return how long ago a time was; the time itself is shown where somebody points."""
    if not time:
        return form.format("a moment")
    seconds = max((datetime.fromisoformat(now) - datetime.fromisoformat(time)).total_seconds(), 0)
    units = ((86400, "day", "days"), (3600, "h", "h"), (60, "min", "min"), (1, "s", "s"))
    size, one, several = next((unit for unit in units if seconds >= 2 * unit[0]), units[-1])
    text = counted(round(seconds / size), one, several)
    return f'<time datetime="{escape(time)}" title="{escape(time)}">{form.format(text)}</time>'


def _channel(one: dict[str, Any], now: str, rates: Points, latencies: Points) -> str:
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
    if one["server_log"] is not None:
        numbers += [(escape(name), value) for name, value in shown(ServerLog(**one["server_log"]))]
    cells = "".join(f'<div><b>{value}</b><span class="soft">{name}</span></div>' for name, value in numbers)
    colour = _COLOUR.get(one["doing"], "wait")
    synced = "no cycle yet"
    if one["last_synced"] is not None:
        synced = f"cycle {one['last_synced_cycle']}, {_ago(one['last_synced'], now)}"
    why = f"<span>({escape(one['why'])})</span>" if one["why"] else ""
    name = escape(one["channel"])
    return (
        f'<section><div class="head"><h2>{name}</h2><span class="doing {colour}">{escape(one["doing"])}</span>{why}'
        f'<span class="soft">{_ago(one["since"], now, "for {}")}; last synced: {synced}</span></div>'
        f'{_failure(one["failure"], now)}<div class="numbers">{cells}</div><div class="plots">'
        f"{plot('rows/s, last hour', rates, joined=True)}{plot('latency in s, last hour', latencies, joined=False)}"
        f"</div>{_reasons(name, 'skipped rows', one['skipped'])}{_reasons(name, 'coerced values', one['coerced'])}"
        f"{_topics(name, one['topics'])}{_compared(name, one['compared'], now)}{_partitions(name, one['lag_records'])}"
        f"{_notes(name, one['notes'])}</section>"
    )


def _failure(failure: dict[str, Any] | None, now: str) -> str:
    if failure is None:
        return ""
    kind, action = escape(failure["kind"]), escape(failure["action"])
    after = f"mended {_ago(failure['mended'], now)}" if failure["mended"] else action
    if not failure["mended"] and failure["again_in"] is not None:
        after += f"; starts again {failure['again_in']} s after it, number {failure['in_a_row']} in a row"
    mended = " mended" if failure["mended"] else ""
    return (
        f'<div class="error{mended}"><p><b>last failure</b> {_ago(failure["time"], now)} ({kind}), {after}</p>'
        f"<pre>{escape(failure['error'])}</pre></div>"
    )


def _reasons(channel: str, title: str, counts: dict[str, int]) -> str:
    if not counts:
        return ""
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{count:,}</td></tr>" for name, count in sorted(counts.items()))
    return (
        f'<details id="{channel} {title}"><summary>{title}, by reason</summary><div class="rows"><table>{rows}</table>'
        "</div></details>"
    )


def _topics(channel: str, topics: dict[str, Any]) -> str:
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
        f'<details id="{channel} topics" open><summary>{counted(len(topics), "topic")}: rows sent</summary>'
        f'<div class="rows"><table><tr><th>topic</th><th>rows</th>{head}</tr>{rows}</table></div></details>'
    )


def _compared(channel: str, tables: dict[str, dict[str, Any]], now: str) -> str:
    """Return what `compare --follow` found, tables that differ first; nothing where it never ran."""
    if not tables:
        return ""

    def differences(one: dict[str, Any]) -> int:
        return sum(one[name] for name in ("missing", "extra", "different"))

    ordered = sorted(tables.items(), key=lambda item: (-differences(item[1]), "proved" in item[1], item[0]))
    rows = "".join(
        f'<tr><td>{escape(name)} <span class="soft">{escape(one["why"])}</span></td><td>{one["rows"]:,}</td>'
        f"<td>{differences(one):,}</td><td>{one['unsettled'] + one['ambiguous']:,}</td>"
        f"<td>{_ago(one['compared'], now)}</td><td>{_ago(one['proved'], now) if 'proved' in one else 'never'}</td></tr>"
        for name, one in ordered
    )
    return (
        f'<details id="{channel} compared" open><summary>{counted(len(tables), "table")} compared with topics</summary>'
        '<div class="rows"><table><tr><th>table</th><th>rows</th><th>different</th><th>unsettled</th><th>compared</th>'
        f"<th>last equal</th></tr>{rows}</table></div></details>"
    )


def _partitions(channel: str, lag: dict[str, int]) -> str:
    """Return the table of partitions that are read, those with the largest lag first; nothing for other sources."""
    if not lag:
        return ""
    ordered = sorted(lag.items(), key=lambda item: (-item[1], item[0]))
    rows = "".join(f"<tr><td>{escape(partition)}</td><td>{records:,}</td></tr>" for partition, records in ordered)
    return (
        f'<details id="{channel} partitions"><summary>{counted(len(lag), "partition")}: '
        f'{counted(sum(lag.values()), "record")} not synced</summary><div class="rows"><table><tr><th>partition</th>'
        f"<th>records</th></tr>{rows}</table></div></details>"
    )


def _notes(channel: str, notes: Sequence[str]) -> str:
    """Return what `check` remarks of the channel, such as tables that are not captured, and why."""
    if not notes:
        return ""
    rows = "".join(f"<tr><td>{escape(note)}</td></tr>" for note in notes)
    return (
        f'<details id="{channel} notes"><summary>{counted(len(notes), "note")} on the channel</summary>'
        f'<div class="rows"><table>{rows}</table></div></details>'
    )


def _tables(topic: str, tables: Sequence[str]) -> str:
    """Return the tables of a topic, where its name does not say them."""
    if not tables or (len(tables) == 1 and topic.endswith(tables[0])):
        return ""
    named = ", ".join(map(escape, tables[:_NAMED])) + (f" and {len(tables) - _NAMED} more" * (len(tables) > _NAMED))
    return f' <span class="soft">{named}</span>'

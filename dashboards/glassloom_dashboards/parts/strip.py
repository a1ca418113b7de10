"""The strip on top of a page: which cluster, how it is, and what went wrong last. Pure HTML out of the aggregate."""

from __future__ import annotations

from glassloom_metrics.gpu_messages import OK, GpuDevice, Reading
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.gpu_history import GpuHistory
from glassloom_dashboards.folds.places import short_place
from glassloom_dashboards.folds.task_keys import indices_of
from glassloom_dashboards.parts.badge import Attention, Badge, badge_of
from glassloom_dashboards.parts.card import Seen, html_div, show_html, versions_of
from glassloom_dashboards.parts.memory_words import of_limit_text
from glassloom_dashboards.parts.task_links import task_href
from glassloom_dashboards.parts.theme import bytes_text, ellipsis, visible
from glassloom_dashboards.parts.times import duration_text

MAX_ERROR_LENGTH = 200
MAX_NAME_LENGTH = 60
MANY_EVENTS = 20_000
"""Fewer are read before anybody has seen that they were."""
STALE = Markup('<span class="badge stale">out of date</span>')
"""Stands in for the badge while the browser hears nothing of this process (``static/page.js``)."""
MAX_GPUS = 2
"""More devices are told of together."""

STYLE = """
:host { font: 13px/1.35 system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; color: var(--gl-text); }
.strip { display: flex; flex-wrap: wrap; align-items: center; gap: 6px clamp(12px, 1.8vw, 26px); }
.name { font-weight: 600; font-size: 15px; display: flex; align-items: center; gap: 8px; min-width: 0; overflow-wrap: anywhere; }
.badge { display: var(--gl-badge, inline); font-size: 11px; font-weight: 600; padding: 1px 8px; border-radius: 9px; white-space: nowrap; }
.badge.stale { display: var(--gl-badge-stale, none); }
.badge.live { color: var(--gl-good); background: color-mix(in srgb, var(--gl-good) 14%, transparent); }
.badge.silent, .badge.refused, .badge.stale { color: var(--gl-warning); background: color-mix(in srgb, var(--gl-warning) 16%, transparent); }
.badge.ended, .badge.connecting, .badge.reconnecting, .badge.loading, .badge.recording { color: var(--gl-muted); background: var(--gl-track); }
.fact { display: flex; flex-direction: column; font-variant-numeric: tabular-nums; }
.fact small { color: var(--gl-muted); font-size: 11px; }
.fact b { font-weight: 600; white-space: nowrap; }
.notice { flex: 1 1 100%; color: var(--gl-text); overflow-wrap: anywhere; font-size: 12px; }
.error { flex: 1 1 100%; color: var(--gl-error); overflow-wrap: anywhere; font-size: 12px; }
.error b { font-weight: 600; }
.error a { color: inherit; text-decoration: underline; }
"""


def strip_html(aggregate: ClusterAggregate, badge: Badge, *, full: bool, has_alerts: bool = False) -> Markup:
    """Return the strip; without `full` only the cluster's name and state.

    With ``has_alerts`` the page says what needs attention by itself: nothing is said twice.
    """
    parts = [_name_html(aggregate, badge)]
    if full:
        parts += [_fact(words, value) for words, value in facts(aggregate)]
    if has_alerts and not is_unreadable(aggregate):
        return Markup('<div class="strip">{}</div>').format(Markup().join(parts))
    parts += [Markup('<div class="notice">{}</div>').format(words) for words in notices(aggregate)]
    if full and aggregate.error_count:
        parts.append(_error_html(aggregate))
    return Markup('<div class="strip">{}</div>').format(Markup().join(parts))


def notices(aggregate: ClusterAggregate) -> list[str]:
    """Return sentences about why what the page shows may be less than there is; plain text, not HTML."""
    said = []
    if aggregate.state == "refused" or aggregate.state == "recording" and aggregate.ended_reason:
        said.append(sentence(aggregate.ended_reason))
    if reads_history(aggregate):
        said.append(
            f"Reading what happened before: {aggregate.tasks.next_row:,} task events so far. Counts and plots are of these."
        )
    if aggregate.recorded_since_s is not None:
        after_s = max(aggregate.recorded_since_s - aggregate.started_at_s, 0.0)
        said.append(
            f"This was recorded from {duration_text(after_s)} after the cluster's start on: all counts are those since then."
        )
    if aggregate.unreadable_messages:
        one = aggregate.unreadable_messages == 1
        said.append(
            f"{aggregate.unreadable_messages:,} message{'' if one else 's'} could not be read: what "
            f"{'it' if one else 'they'} told is missing here. The log of the dashboards says more."
        )
    if aggregate.dropped_frames:
        said.append("The oldest part of this cluster's log is gone, as the log is bounded: what is shown begins later.")
    return said


def is_unreadable(aggregate: ClusterAggregate) -> bool:
    """Tell whether nothing was ever heard of the cluster, as it can't be read: then its cards say no more than that."""
    return aggregate.state == "refused" and not aggregate.generation


def reads_history(aggregate: ClusterAggregate) -> bool:
    """Tell whether so much is being read that a page shows noticeably less than there is."""
    return aggregate.is_loading and aggregate.tasks.next_row >= MANY_EVENTS


def sentence(words: str) -> str:
    """Return words as a sentence.

    >>> sentence("cluster 'a' has gone")
    "Cluster 'a' has gone."
    """
    words = visible(words)
    return f"{words[:1].upper()}{words[1:]}".rstrip(".") + "."


def facts(aggregate: ClusterAggregate) -> list[tuple[str, str]]:
    """Return the strip's numbers as (words, value); plain text, not HTML."""
    counts = aggregate.task_counts
    samples = aggregate.samples.values()
    limits = [worker.memory_limit_bytes for worker in aggregate.workers.values()]
    memory = of_limit_text(samples, sum(limit or 0 for limit in limits) if all(limits) else None)
    shown = [
        ("workers", f"{len(aggregate.workers):,}"),
        ("threads", f"{aggregate.threads:,}"),
        ("tasks done", f"{counts['memory'] + counts['released']:,} / {counts['total']:,}"),
        ("running", f"{counts['running']:,}"),
        ("memory", memory),
    ]
    shown += [
        (words, f"{counts[state]:,}")
        for state, words in (("erred", "failed"), ("cancelled", "cancelled"))
        if counts[state]
    ]
    spilled = sum(sample.spilled_bytes for sample in samples)
    if spilled:
        shown.append(("spilled", bytes_text(spilled)))
    gpus = [gpu for gpu in aggregate.gpus.devices.values() if not gpu.is_part]
    if len(gpus) > MAX_GPUS:
        shown.append((f"{len(gpus):,} GPUs", gpus_text(gpus, aggregate.gpus)))
    else:
        shown += [(f"GPU {gpu.index} {ellipsis(gpu.name, 30)}", gpu_text(gpu, aggregate.gpus)) for gpu in gpus]
    return shown


def gpu_text(gpu: GpuDevice, gpus: GpuHistory) -> str:
    """Return a device's utilisation and memory; a reading that is text is shown as that text, never as 0."""
    readings = gpus.readings.get(gpu.id)
    if gpu.state != OK or readings is None:
        return gpu.state if gpu.state != OK else "not measured yet"
    busy, used = readings["utilization_percent"], readings["memory_used_bytes"]
    load = f"utilisation {busy}" if isinstance(busy, str) else f"{busy:.0f} % busy"
    return f"{load} · {_bytes_reading(used)} of {_bytes_reading(gpu.memory_total_bytes)}"


def gpus_text(gpus: list[GpuDevice], history: GpuHistory) -> str:
    """Return how busy devices are on average, their memory together, and how many don't answer; what isn't known isn't counted."""
    known = [(gpu, history.readings[gpu.id]) for gpu in gpus if gpu.state == OK and gpu.id in history.readings]
    busy = [value for _, one in known if not isinstance(value := one["utilization_percent"], str)]
    load = f"{sum(busy) / len(busy):.0f} % busy" if busy else "utilisation unknown"
    pairs = [(one["memory_used_bytes"], gpu.memory_total_bytes) for gpu, one in known]
    sizes = [(used, total) for used, total in pairs if not isinstance(used, str) and not isinstance(total, str)]
    memory = f"{bytes_text(sum(used for used, _ in sizes))} of {bytes_text(sum(total for _, total in sizes))}"
    missing = sum(gpu.state != OK for gpu in gpus)
    return " · ".join([load, *([memory] if sizes else []), *([f"{missing:,} not answering"] if missing else [])])


def _bytes_reading(value: Reading) -> str:
    return value if isinstance(value, str) else bytes_text(value)


def _name_html(aggregate: ClusterAggregate, badge: Badge) -> Markup:
    name = ellipsis(aggregate.name, MAX_NAME_LENGTH) or "cluster"
    shown = Markup('<span class="badge {}" title="{}">{}</span>').format(
        badge.look, visible(aggregate.ended_reason), badge.words
    )
    return Markup('<div class="name">{} {} {}</div>').format(name, shown, STALE)


def _fact(words: str, value: str) -> Markup:
    return Markup('<div class="fact"><small>{}</small><b>{}</b></div>').format(words, value)


def _error_html(aggregate: ClusterAggregate) -> Markup:
    error = list(aggregate.errors.values())[-1]
    text = ellipsis(f"{error.exception}: {error.message}", MAX_ERROR_LENGTH)
    many = f"{error.count:,} tasks, first " if error.count > 1 else ""
    key = ellipsis(error.keys[0], MAX_ERROR_LENGTH)
    (index,) = indices_of(aggregate, error.layer, error.keys[:1])
    href = "" if index is None else task_href(error.layer, index)
    linked = Markup('<a href="{}">{}</a>').format(href, key) if href else key
    where = ellipsis(f" · {short_place(error.origin)}", MAX_ERROR_LENGTH) if error.origin else ""
    return Markup('<div class="error">Latest error: <b>{}</b> in {}{}{}</div>').format(text, many, linked, where)


class Strip:
    """The strip for one viewer."""

    def __init__(self, aggregate: ClusterAggregate, *, full: bool, has_alerts: bool = False) -> None:
        self._aggregate = aggregate
        self._full, self._has_alerts = full, has_alerts
        self._attention = Attention()
        self._badge: Badge | None = None
        self._seen = Seen()
        self.div = html_div("strip", STYLE, sizing_mode="stretch_width")

    def update(self, now_s: float) -> None:
        """Show what is new."""
        parts = ("life", "workers", "progress", "layers", "samples", "gpus", "errors") if self._full else ("life",)
        self._attention.look(now_s)
        badge = badge_of(self._aggregate, self._attention, now_s)
        reading = {"history": self._aggregate.tasks.next_row if reads_history(self._aggregate) else -1}
        changed = self._seen.changed(versions_of(self._aggregate, *parts) | reading)
        if not changed and badge == self._badge:
            return
        self._badge = badge
        show_html(self.div, strip_html(self._aggregate, badge, full=self._full, has_alerts=self._has_alerts))

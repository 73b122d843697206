"""Says what a comparison has shown, in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from portmert.tuner.evaluation.comparison.formats import p_value, signed, spoken

MOST_SYSTEMS = 3
"""Systems that have a sentence each, with numbers; of more, those of one verdict share one."""


def summaries(document: Mapping[str, Any]) -> list[str]:
    """Return what each system but the first is better on, worse, neither.

    Better or worse is what `p` shows at the level of the comparison, corrected for all its tests.
    A sentence on systems of one replica says that luck of tuning is untested. Of many
    systems those of the same verdict share a sentence, which leaves the numbers to the table.

    Parameters
    ----------
    document
        `Comparison.as_json()`, or its `systems`, `metrics`, `scores` and `confidence`.
    """
    called = {
        system["name"]: spoken(system["name"], system.get("tuned_on"))
        for system in document.get("systems", ())
    }
    words = list(called.values())  # of two that would be called the same each keeps its name
    called = {name: said if words.count(said) == 1 else name for name, said in called.items()}
    systems = list(called.values())
    verdicts = {said: _verdict(document, name) for name, said in list(called.items())[1:]}
    replicas = {
        called[system["name"]]: system["replicas"] for system in document.get("systems", ())
    }
    if len(verdicts) <= MOST_SYSTEMS:
        alike = [[name] for name in verdicts]
    else:
        groups: dict[tuple[tuple[str, ...], ...], list[str]] = {}
        for name, verdict in verdicts.items():
            shape = tuple(tuple(label for label, _ in found) for found in verdict.values())
            groups.setdefault(shape, []).append(name)
        alike = list(groups.values())
    found = []
    for names in alike:
        with_numbers = len(verdicts) <= MOST_SYSTEMS
        said = _sentence(names, systems[0], verdicts[names[0]], with_numbers=with_numbers)
        if said:
            luck = untested_luck([systems[0], *names], replicas)
            found.append("; ".join(filter(None, (said, luck))))
    return found


def tuned_apart(tuned_on: Sequence[str | None]) -> bool:
    """Return whether systems were tuned on different metrics, by what is known of each."""
    return len(set(filter(None, tuned_on))) > 1


def untested_luck(systems: Sequence[str], replicas: Mapping[str, int]) -> str:
    """Return that luck of tuning is untested, and of which of these systems; nothing if it is."""
    single = [name for name in systems if replicas[name] == 1]
    if len(single) == len(systems):
        return "tuning luck untested"
    return f"tuning luck of {', '.join(single)} untested" if single else ""


_Verdict = dict[str, list[tuple[str, str]]]
"""`better`, `worse`, `neither` -> (metric, its numbers in brackets)."""


def _verdict(document: Mapping[str, Any], system: str) -> _Verdict:
    metrics = {metric["label"]: metric for metric in document["metrics"]}
    found: _Verdict = {"better": [], "worse": [], "neither": []}
    for row in document["scores"]:
        if row["system"] != system or row["difference"] is None:
            continue
        metric, p = metrics[row["metric"]], row["p_holm"]
        if p is None or p >= 1 - document["confidence"] or row["difference"] == 0:
            found["neither"].append((row["metric"], ""))
            continue
        gain = (row["difference"] > 0) == metric["higher_is_better"]
        p_text = p_value(p) if p < 0.0001 else f"= {p_value(p)}"
        numbers = f" ({signed(row['difference'], metric)}, p {p_text})"
        found["better" if gain else "worse"].append((row["metric"], numbers))
    return found


def _sentence(names: list[str], first: str, verdict: _Verdict, *, with_numbers: bool) -> str:
    """Return a sentence on systems of one verdict; nothing of one that was not tested."""
    said = {
        way: _listed([label + numbers * with_numbers for label, numbers in found])
        for way, found in verdict.items()
    }
    parts = [f"{way} than {first} on {said[way]}" for way in ("better", "worse") if said[way]]
    nothing = f"no difference shown on {said['neither']}" if said["neither"] else ""
    if parts:
        is_or_are = "is" if len(names) == 1 else "are"
        sentence = f"{_listed(names)} {is_or_are} {', '.join(parts)}"
        return f"{sentence}; {nothing}" if nothing else sentence
    if nothing and len(names) > 1:
        return f"{_listed(names)} against {first}: {nothing}"
    return f"{names[0]} and {first}: {nothing}" if nothing else ""


def _listed(names: list[str]) -> str:
    """Return `a, b and c`."""
    if not names:
        return ""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))

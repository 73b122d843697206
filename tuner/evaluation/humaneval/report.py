"""Shows what judges said, as tables and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from portmert.tuner.evaluation.humaneval.results import Preference, Results
from portmert.tuner.ground.numbers import shown_p
from portmert.tuner.ground.tables import Table


def tables(results: Results) -> list[Table]:
    """Return the preferences as in Table 5 of the PORT paper, and the judges' agreement."""
    listed = [*results.preferences, *([results.total] if results.total is not None else [])]
    names = {one.systems for one in listed}
    (same,) = names if len(names) == 1 else (None,)
    return [
        Table(
            "Human preference; sign test without ties",
            [
                "condition",
                *([] if same else ["systems"]),
                *([f"{name} wins" for name in same] if same else ["first wins", "second wins"]),
                "equal",
                "total",
                "p one-sided",
                "p two-sided",
            ],
            [_row(one, with_systems=same is None) for one in listed],
            left=1 if same else 2,
        ),
        Table(
            "Agreement of the judges on the common items (Fleiss' kappa), all and without each; "
            + (
                "left out by the paper's printed expression: lowest kappa without"
                if results.literal
                else "left out by the paper's wording: highest kappa without"
            ),
            ["condition", "judge", "items", "kappa", "left out"],
            [
                row
                for one in results.agreements
                for row in (
                    [", ".join(one.conditions), "all", str(one.items), _kappa(one.kappa), ""],
                    *(
                        [
                            "",
                            f"without {judge}",
                            "",
                            _kappa(kappa),
                            "yes" if judge in one.dropped else "",
                        ]
                        for judge, kappa in one.without.items()
                    ),
                    *(
                        [["", "all but those left out", "", _kappa(one.kappa_kept), ""]]
                        if one.dropped
                        else []
                    ),
                )
            ],
            left=2,
        ),
    ]


def as_json(results: Results) -> dict[str, Any]:
    """Return all as the JSON object of `portmert humaneval read --json`."""
    return {
        "preferences": [asdict(one) for one in results.preferences],
        "total": None if results.total is None else asdict(results.total),
        "agreement": [asdict(one) for one in results.agreements],
        "filter": "literal" if results.literal else "wording",
    }


def _row(one: Preference, *, with_systems: bool) -> list[str]:
    total = one.wins + one.losses + one.ties
    systems = [] if not with_systems else [" / ".join(one.systems) if one.systems else ""]
    return [
        one.condition,
        *systems,
        *(f"{count} ({100 * count / total:.1f} %)" for count in (one.wins, one.losses, one.ties)),
        str(total),
        shown_p(one.p_one_sided),
        shown_p(one.p_two_sided),
    ]


def _kappa(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

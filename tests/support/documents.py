"""Comparison documents of any size, made up but consistent, for tests of the page."""

import random

WORDS = [
    "the",
    "a",
    "house",
    "river",
    "under",
    "stone",
    "walks",
    "old",
    "man",
    "sees",
    "bright",
    "light",
]
SOURCE_WORDS = [
    "家",
    "川",
    "石",
    "歩く",
    "古い",
    "男",
    "見る",
    "明るい",
    "光",
    "は",
    "が",
    "を",
    "に",
    "の",
]
METRICS = (
    ("port", True, True),
    ("bleu", True, True),
    ("ter", False, True),
    ("nist", True, False),
)


def document(segments=30, systems=("bleu", "port"), replicas=3, seed=1, length=9):
    """Return what `compare_systems()` could be."""
    rng = random.Random(seed)
    rows = [_segment(rng, length, len(systems)) for _ in range(segments)]
    return {
        "kind": "comparison",
        "portmert": "0.1.0",
        "headlines": [
            f"{systems[-1]} is better than {systems[0]} on port: +0.61 (p = 0.031)",
            f"bleu: no difference shown between {systems[-1]} and {systems[0]}: -0.12 (p = 0.42)",
        ],
        "tuning_luck_untested": [*systems] if replicas == 1 else [],
        "notes": ["s_opt cannot be estimated of one replica"],
        "source": "test.src",
        "references": ["test.tgt"],
        "reference_links": "giza",
        "samples": 10000,
        "seed": 1,
        "confidence": 0.95,
        "systems": [
            {
                "name": name,
                "kind": "run",
                "replicas": replicas,
                "tuned_on": name,
                "hypothesis_tokens": 900.5,
                "reference_tokens": 910.0,
            }
            for name in systems
        ],
        "metrics": [
            {
                "label": label,
                "name": label,
                "signature": f"{label}|refs:1",
                "source": "a paper",
                "higher_is_better": better,
                "in_percent": percent,
                "is_error_rate": label == "ter",
            }
            for label, better, percent in METRICS
        ],
        "scores": [
            _score(rng, metric, name, n) for metric in METRICS for n, name in enumerate(systems)
        ],
        "similarity": [
            {"first": a, "second": b, "identical": 0.31, "one_minus_ter": 0.8123}
            for i, a in enumerate(systems)
            for b in systems[i:]
        ],
        "ordering": [
            {
                "system": name,
                "scores": {
                    "v": 0.71,
                    "rho": 0.8,
                    "tau": 0.75,
                    "port": 0.31,
                    "port-rho": 0.32,
                    "port-tau": 0.3,
                    "qmean": 0.33,
                },
            }
            for name in systems
        ],
        "ngrams": [
            {
                "system": name,
                "orders": [
                    {
                        "order": n,
                        "matched": 900 / n,
                        "total": 1000 - n,
                        "reference_total": 1010 - n,
                        "precision": 0.9 / n,
                        "recall": 0.89 / n,
                    }
                    for n in range(1, 5)
                ],
                "brevity_penalty": 0.98,
                "strict_brevity_penalty": 0.91,
                "strict_redundancy_penalty": 1.0,
            }
            for name in systems
        ],
        "alignments": {
            "sets": ["giza", "thot"],
            "scores": [
                {"links": links, "system": name, "metric": "port", "score": 0.3}
                for links in ("giza", "thot")
                for name in systems
            ],
            "agreement": [{"first": "giza", "second": "thot", "aer": 0.22}],
        },
        "timing": [
            {"metric": "bleu", "seconds": 0.01, "ratio": 1.0},
            {"metric": "port", "seconds": 0.03, "ratio": 3.0},
        ],
        "differences": {
            "by_length": [
                {
                    "label": f"{n}-{n + 9}",
                    "segments": 10,
                    "scores": {m: [rng.random() for _ in systems] for m, *_ in METRICS},
                }
                for n in (1, 11, 21)
            ],
            "by_reordering": [
                {
                    "label": "0.00-0.25",
                    "segments": 10,
                    "scores": {m: [rng.random() for _ in systems] for m, *_ in METRICS},
                }
            ],
            "ngrams": [
                {
                    "system": systems[-1],
                    "ngram": " ".join(rng.sample(WORDS, 2)),
                    "first_matched": rng.randint(0, 9),
                    "system_matched": rng.randint(0, 9),
                    "reference": 12,
                }
                for _ in range(20)
            ],
            "segments": [
                {"metric": "port", "system": systems[-1], "segment": n, "difference": 0.2}
                for n in range(min(segments, 10))
            ],
        },
        "segments": rows,
    }


def _score(rng, metric, name, n):
    score = 0.3 + 0.01 * n
    row = {
        "metric": metric[0],
        "system": name,
        "family": "further" if n else None,
        "score": score,
        "replica_scores": [score],
        "low": score - 0.02,
        "high": score + 0.02,
        "s_sel": 0.01,
        "s_opt": 0.004,
    }
    keys = (
        "difference",
        "difference_low",
        "difference_high",
        "p",
        "p_randomization",
        "p_bootstrap",
        "p_holm",
        "p_randomization_holm",
        "p_bootstrap_holm",
    )
    p = rng.random() * 0.1
    return row | dict(
        zip(keys, (0.01, -0.005, 0.025, p, p, p, p, p, p) if n else [None] * 9, strict=True)
    )


def _segment(rng, length, systems):
    source = [rng.choice(SOURCE_WORDS) for _ in range(rng.randint(1, length))]

    def text():
        order = list(range(len(source)))
        if len(order) > 2:
            a, b = rng.sample(order, 2)
            order[a], order[b] = order[b], order[a]
        return {
            "text": " ".join(rng.choice(WORDS) for _ in order),
            "links": " ".join(f"{i}-{j}" for j, i in sorted(enumerate(order), key=lambda x: x[1])),
            "order": " ".join(map(str, order)),
        }

    return {
        "source": " ".join(source),
        "references": [text()],
        "outputs": [text() for _ in range(systems)],
        "scores": {label: [rng.random() for _ in range(systems)] for label, *_ in METRICS},
        "reordering": rng.random(),
    }

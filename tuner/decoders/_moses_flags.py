"""Turns Moses' command line switches into what they are in a moses.ini."""

from __future__ import annotations

import shlex

FULL_NAMES = {
    "aws": "alternate-weight-setting", "b": "beam-threshold", "cbd": "cube-pruning-diversity",
    "cbds": "cube-pruning-deterministic-search", "cbls": "cube-pruning-lazy-scoring",
    "cbp": "cube-pruning-pop-limit", "con": "consensus-decoding", "da": "phrase-drop-allowed",
    "dd": "disable-discarding", "dl": "distortion-limit", "dpb": "decoding-graph-backoff",
    "du": "drop-unknown", "edc": "early-distortion-cost", "edt": "early-discarding-threshold",
    "fd": "factor-delimiter", "lhssg": "include-lhs-in-search-graph",
    "lmbr": "lminimum-bayes-risk", "mbr": "minimum-bayes-risk", "mp": "monotone-at-punctuation",
    "mu": "mark-unknown", "osg": "output-search-graph", "osgx": "output-search-graph-extended",
    "owg": "output-word-graph", "pb": "output-search-graph-pb", "r": "recover-input-path",
    "s": "stack", "sd": "stack-diversity", "slf": "output-search-graph-slf",
    "t": "report-segmentation", "T": "translation-details", "Tall": "translation-all-details",
    "th": "threads", "tot": "translation-option-threshold", "tt": "report-segmentation-enriched",
    "Ttree": "tree-translation-details", "usg": "unpruned-search-graph", "v": "verbose",
    "xb": "xml-brackets", "xi": "xml-input",
}  # fmt: skip
"""Short name of a switch -> the name that a moses.ini must use (moses/Parameter.cpp)."""


def parse_flags(flags: str) -> dict[str, list[str]]:
    """Return the switches without their dashes, as written, each with its values.

    Raises
    ------
    ValueError
        A quotation mark is not closed.
    """
    found: dict[str, list[str]] = {}
    name = ""
    for word in shlex.split(flags):
        if word.startswith("-") and word[1:2] not in {*"0123456789", ""}:
            name = word.lstrip("-")
            found[name] = []
        elif name:
            found[name].append(word)
    return found


def flag_sections(flags: str) -> dict[str, list[str]]:
    """Return the switches as sections of a moses.ini: full name -> lines.

    Moses reads a section with a short name, as `[s]`, and forgets it; and one without a line. So
    names are full, and a switch without a value is `true`.
    """
    return {
        FULL_NAMES.get(name, name): values or ["true"]
        for name, values in parse_flags(flags).items()
    }

"""The names of metrics in the five papers, and what they are here.

The registry resolves them; the page on the papers prints this list.
"""

import difflib
import re
from functools import cache
from typing import NamedTuple

PORT = "Chen, Kuhn and Larkin 2012"
TREES = "Liu and Gildea 2005"
POS = "Popović and Ney 2009"
EDPM = "Kahn, Snover and Ostendorf 2009"
MEANING = "Giménez and Màrquez 2009"


class PaperName(NamedTuple):
    """A name as a paper prints it, and the metric; what stands in braces is in both."""

    paper: str
    printed: str
    here: str
    remark: str = ""


_ONLY_FORMS = "_b backs off where an analysis is missing, _i interpolates"
PAPER_NAMES = (
    PaperName(PORT, "BLEU", "bleu"),
    PaperName(PORT, "smoothed BLEU", "bleu:smooth=mteval", "mteval-v13a, of its table 2"),
    PaperName(PORT, "BLEU-SBP", "bleu-sbp", "BLEU with SBP in place of BP"),
    PaperName(PORT, "METEOR v1.0", "meteor:version=1.0,stem=true", "synonyms need WordNet"),
    PaperName(PORT, "MTR", "meteor:version=1.0,stem=true", "the column METEOR"),
    PaperName(PORT, "TER 0.7.25", "ter"),
    PaperName(PORT, "1-TER", "1 - ter"),
    PaperName(PORT, "Qmean", "qmean"),
    PaperName(PORT, "Qmean({n})", "qmean:max_order={n}"),
    PaperName(PORT, "v", "v"),
    PaperName(PORT, "v1", "v1"),
    PaperName(PORT, "v2", "v2"),
    PaperName(PORT, "ρ", "rho", "mapped to 0..1"),  # noqa: RUF001  as printed
    PaperName(PORT, "τ", "tau", "mapped to 0..1"),
    PaperName(PORT, "PORT", "port"),
    PaperName(PORT, "PORT(v)", "port"),
    PaperName(PORT, "PORT(ρ)", "port-rho"),  # noqa: RUF001  as printed
    PaperName(PORT, "PORT(τ)", "port-tau"),
    PaperName(PORT, "LRscore", "lr-kendall", "lr-hamming is the other of the two"),
    PaperName(PORT, "TER-Plus", "terp"),
    PaperName(TREES, "STM", "stm"),
    PaperName(TREES, "STM-{n}", "stm:depth={n}"),
    PaperName(TREES, "TKM", "tkm"),
    PaperName(TREES, "HWCM", "hwcm"),
    PaperName(TREES, "HWCM-{n}", "hwcm:depth={n}"),
    PaperName(TREES, "DSTM", "dstm"),
    PaperName(TREES, "DSTM-{n}", "dstm:depth={n}"),
    PaperName(TREES, "DTKM", "dtkm"),
    PaperName(POS, "BLEU-{n}", "bleu:max_order={n}"),
    PaperName(POS, "POSBLEU", "posbleu"),
    PaperName(POS, "POS-BLEU", "posbleu"),
    PaperName(POS, "POSP gm", "posp:mean=gm"),
    PaperName(POS, "POSP am", "posp:mean=am"),
    PaperName(POS, "POSR gm", "posr:mean=gm"),
    PaperName(POS, "POSR am", "posr:mean=am"),
    PaperName(POS, "POSF gm", "posf:mean=gm", "f_first=true is the mean of F_n"),
    PaperName(POS, "POSF am", "posf:mean=am", "f_first=true is the mean of F_n"),
    PaperName(POS, "WPF", "wpf"),
    PaperName(POS, "METEOR-r", "meteor:version=1.0-rank,stem=true"),
    PaperName(POS, "MBLEU", "mbleu", "stem and synonyms as in meteor"),
    PaperName(POS, "MTER", "mter", "stem and synonyms as in meteor"),
    PaperName(EDPM, "F[{of}]", "dpm:of={of}"),
    PaperName(EDPM, "F({of})", "dpm:of={of}"),
    PaperName(EDPM, "F[{of}],n={n}", "edpm:of={of},parses={n},gamma=0", "gamma is 0 there"),
    PaperName(EDPM, "F[{of}],n={n},gamma={gamma}", "edpm:of={of},parses={n},gamma={gamma}"),
    PaperName(EDPM, "mu_PR[{of}]", "mu-pr:of={of}"),
    PaperName(EDPM, "prmeans({of})", "mu-pr:of={of}"),
    PaperName(EDPM, "EDPM", "edpm"),
    PaperName(EDPM, "d", "dpm:of=dlh", "of Owczarzak et al., with other parses"),
    PaperName(EDPM, "d_var", "dpm:of=dl+lh", "of Owczarzak et al.: something close to it"),
    PaperName(EDPM, "SParseval", "dpm:of=dlh", "its form for dependencies"),
    PaperName(EDPM, "BLEU{n}", "bleu:max_order={n}", "of segments with smooth=add1"),
    PaperName(EDPM, "BLEU_{n}", "bleu:max_order={n}"),
    PaperName(EDPM, "TERp", "terp"),
    PaperName(MEANING, "O_l", "ol"),
    PaperName(MEANING, "DR-STM-{n}", "dr-stm:length={n},average=true", _ONLY_FORMS),
    PaperName(MEANING, "DR-Or-*", "dr-or:average=true", "dr-or pools the types, as Asiya"),
    PaperName(MEANING, "DR-Or-b", "dr-or:average=true,form=back-off"),
    PaperName(MEANING, "DR-Or-i", "dr-or:average=true,form=interpolation"),
    PaperName(MEANING, "DR-Or-{type}", "dr-or:type={type}"),
    PaperName(MEANING, "DR-Orp-*", "dr-orp:average=true", "dr-orp pools the types, as Asiya"),
    PaperName(MEANING, "DR-Orp-b", "dr-orp:average=true,form=back-off"),
    PaperName(MEANING, "DR-Orp-i", "dr-orp:average=true,form=interpolation"),
    PaperName(MEANING, "DR-Orp-{type}", "dr-orp:type={type}"),
    PaperName(MEANING, "SR-Or-*", "sr-or", "SR-Or without a star is sr-or:type=names"),
    PaperName(MEANING, "SR-Or-{type}", "sr-or:type={type}"),
    PaperName(MEANING, "SR-Mr-*", "sr-mr"),
    PaperName(MEANING, "SR-Mr-{type}", "sr-mr:type={type}"),
    PaperName(MEANING, "SR-Orv", "sr-orv"),
    PaperName(MEANING, "SR-Orv-*", "sr-orv"),
    PaperName(MEANING, "SR-Mrv-*", "sr-mrv"),
    PaperName("Popović 2017", "chrF++", "chrf:word_order=2"),
)
"""In the order of the papers. Braces hold a number, decompositions, a share, a type."""

LEFT_OUT = {
    r"(sp|cp|dp|ne)-.*": (
        f"{MEANING} name overlaps of chunks, constituents, dependencies and entities (SP, CP, DP, "
        f"NE) without a definition"
    ),
    r"meteor-next|maxsim|tesla|amber|mterater|rte|dcu-lfg|meant": f"{PORT} name it only",
    r"hter": f"{EDPM}: it is a human score, ter against references that people edited",
}
"""Names that papers mention, and why they are no metrics here."""

EXAMPLES = {"n": "4", "of": "dl,lh", "gamma": "0.25", "type": "pred"}
"""Values for the parts in braces."""
_PARTS = {
    "n": r"\d+",
    "of": r"\w+(?:[,;+]\w+)*",
    "gamma": r"\d*\.?\d+",
    "type": r"[^\s,:()\[\]]+?",
}
_FORMS = {"b": "back-off", "i": "interpolation"}


def _in_latin(name: str) -> str:
    return name.replace("ρ", "rho").replace("τ", "tau")  # noqa: RUF001  as printed


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    patterns = []
    for name in PAPER_NAMES:
        if " " in name.here:  # a formula, which is read as it is printed
            continue
        pattern = re.escape(_in_latin(name.printed))
        for part, values in _PARTS.items():
            pattern = pattern.replace(re.escape(f"{{{part}}}"), f"(?P<{part}>{values})")
        form = r"(?:_(?P<form>[bi]))?" if name.paper == MEANING and name.here != "ol" else ""
        patterns.append((re.compile(pattern + form, re.IGNORECASE), name.here))
    patterns += [
        (re.compile(f"{metric}_(?P<form>[bi])", re.IGNORECASE), metric)
        for metric in ("sr-or", "sr-mr", "sr-orv", "sr-mrv", "dr-stm", "dr-or", "dr-orp")
    ]
    # Types come last: `*`, b and i are none.
    return tuple(sorted(patterns, key=lambda pair: "<type>" in pair[0].pattern))


def resolved(text: str) -> str | None:
    """Return a metric written as `name:option=value` for a paper's name of it; None for others."""
    for pattern, here in _patterns():
        if match := pattern.fullmatch(_in_latin(text)):
            parts = {key: value for key, value in match.groupdict().items() if value}
            form = _FORMS.get(parts.pop("form", "").lower())
            if "of" in parts:
                parts["of"] = re.sub("[,;]", "+", parts["of"].lower())
            metric = here.format(**parts)
            return f"{metric}{',' if ':' in metric else ':'}form={form}" if form else metric
    return None


def near(text: str) -> str:
    """Return for the message of an unknown metric why it is left out, or names that are near."""
    for pattern, reason in LEFT_OUT.items():
        if re.fullmatch(pattern, text, re.IGNORECASE):
            return f"; left out: {reason}"
    printed = {
        name.printed.format(**EXAMPLES).lower(): name
        for name in PAPER_NAMES[::-1]
        if name.printed.lower() != name.here
    }
    matches = difflib.get_close_matches(text.lower(), printed, 3, 0.75)
    hints = [f"{printed[match].printed} is {printed[match].here}" for match in matches]
    return f"; in papers {', '.join(hints)}" if hints else ""

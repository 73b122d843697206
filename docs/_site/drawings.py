"""Draws the figures that are no charts of a report: results with rivals, and how things work.

Each is an SVG of 400 units, so that its text can be read on a phone, in the colours that the
reader's screen asks for, with a title and a description for readers of screens.
"""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

import portmert
from research import speech

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs/figures"
PAGE = ROOT / "docs/explanation/does-it-help.md"
SPEECH = ROOT / "docs/how-to/speech.md"
WIDTH = 400
STYLE = (
    "text{font:12px sans-serif;fill:#22242a}.b{font-weight:bold}.s{fill:#5a5d65}.m{text-anchor:"
    "middle}.e{text-anchor:end}.l{stroke:#5a5d65;stroke-width:1.2;fill:none}.t{fill:#2b62c0;stroke"
    ":#2b62c0}.r{fill:#8a8d95;stroke:#8a8d95}.o{fill:none;stroke:#8a8d95;stroke-width:1.6}.x{fill:"
    "#2b62c0}.i{stroke:#2b62c0;stroke-width:3;fill:none}.box{fill:none;stroke:#5a5d65}.area{fill:#8a8d9533}@media(prefers-color-scheme:dark){text{fill:#e8e6e1}.s{"
    "fill:#b3b6bd}.l,.box{stroke:#b3b6bd}.t{fill:#7aa7f0;stroke:#7aa7f0}.x{fill:#7aa7f0}.i{stroke:#7aa7f0}.r{fill:"
    "#9a9da5;stroke:#9a9da5}.o{stroke:#9a9da5}}"
)
"""t: tuned; r: a rival; o: without tuning; s: said softly."""

ROW = re.compile(
    r"^\| (?P<task>[^|]+?) \| (?P<before>[\d.]+) \| (?P<tuned>[\d.]+) \| "
    r"(?P<gain>[-+][\d.]+) \((?P<low>[-+]?[\d.]+) to (?P<high>[-+]?[\d.]+)\) \|"
    r" (?P<rival>[^|]*?) \| [^|]*\|$",
    re.MULTILINE,
)


@dataclasses.dataclass(frozen=True)
class Result:
    """A row of the first table of "Does it help?"."""

    task: str
    metric: str
    beside: str
    before: float
    tuned: float
    interval: tuple[float, float]
    """Ends of the 95 % interval of tuned minus before."""
    rival: str

    @property
    def rival_score(self) -> float | None:
        """The score of the rival, where the table has one."""
        number = re.search(r": ([\d.]+)$", self.rival)
        return float(number[1]) if number else None

    @property
    def gain(self) -> tuple[float, float, float]:
        """Gain and the ends of its interval; above 0 is better."""
        low, high = self.interval
        gain = self.tuned - self.before
        return (-gain, -high, -low) if self.metric == "WER" else (gain, low, high)


def results() -> list[Result]:
    """Return the rows; metric and rival are as in the row before where a row names none."""
    table = PAGE.read_text(encoding="utf-8").partition("\n## ")[0]
    rows: list[Result] = []
    for match in ROW.finditer(table):
        head, _, beside = match["task"].partition(", beside ")
        task, _, metric = head.rpartition(", ")
        if not metric or not beside:
            task, metric, beside = head, rows[-1].metric, rows[-1].beside
        low, high = sorted(float(match[end]) for end in ("low", "high"))
        before, tuned = float(match["before"]), float(match["tuned"])
        rows.append(Result(task, metric, beside, before, tuned, (low, high), match["rival"]))
    return rows


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Return a line of text."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(words)}</text>'


def circle(x: float, y: float, kind: str, radius: float = 4.5) -> str:
    """Return a dot."""
    return f'<circle cx="{x:.1f}" cy="{y:g}" r="{radius:g}" class="{kind}"/>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "l") -> str:
    """Return a line."""
    return f'<path d="M{x1:.1f} {y1:g}L{x2:.1f} {y2:g}" class="{kind}"/>'


def arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a line with a tip at its end."""
    return line(x1, y1, x2, y2).replace("/>", ' marker-end="url(#tip)"/>')


def svg(title: str, description: str, height: float, parts: Sequence[str]) -> str:
    """Return a figure."""
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8" class="l"/></marker></defs>'
    )
    return "\n".join([
        (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="560" '
        'role="img" aria-labelledby="title desc">'),
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(description)}</desc>',
        f"<style>{STYLE}</style>",
        *([tip] if any("#tip" in part for part in parts) else []),
        *parts,
        "</svg>\n",
    ])  # fmt: skip


def drawn_results() -> str:
    """Return a row for each task: before, a rival, and tuned with its interval."""
    rows = results()
    parts = [
        circle(8, 12, "o"), text(18, 16, "before"),
        circle(100, 12, "r", 6), text(112, 16, "a rival"),
        line(172, 12, 192, 12, "i"), circle(182, 12, "t"),
        text(198, 16, "tuned, 95 % interval of the gain"),
    ]  # fmt: skip
    for number, row in enumerate(rows):
        top = 40 + 66 * number
        ends = [row.before + end for end in row.interval]
        marks = [row.before, row.tuned, *ends]
        marks += [] if row.rival_score is None else [row.rival_score]
        low, high = min(marks), max(marks)
        sign = -1 if row.metric == "WER" else 1

        def place(score: float, low: float = low, high: float = high, sign: int = sign) -> float:
            share = (score - low) / (high - low)
            return 12 + 376 * (share if sign > 0 else 1 - share)

        unit = f"{row.metric}, {'lower' if sign < 0 else 'higher'} is better \N{RIGHTWARDS ARROW}"
        rival = f"; {row.rival}" if row.rival else ""
        parts += [
            f"<!-- {row.task} -->",
            text(4, top, row.task, "b"), text(396, top, unit, "s e"),
            line(8, top + 16, 392, top + 16, "s l"),
            circle(place(row.before), top + 16, "o"),
            line(place(ends[0]), top + 16, place(ends[1]), top + 16, "i"),
            "" if row.rival_score is None else circle(place(row.rival_score), top + 16, "r", 6),
            circle(place(row.tuned), top + 16, "t", 3.6),
            (f'<text x="4" y="{top + 38}" class="s">{escape(f"{row.beside} {row.before:.2f}")}'
            f'{escape(rival)}; <tspan class="x">tuned {row.tuned:.2f}</tspan></text>'),
        ]  # fmt: skip
    gains = "; ".join(f"{row.task}: {row.before:g} to {row.tuned:g} {row.metric}" for row in rows)
    return svg(
        "Tuned weights beside no tuning and beside a rival in each task",
        gains, 40 + 66 * len(rows), parts,
    )  # fmt: skip


def drawn_choice() -> str:
    """Return a list of three hypotheses whose choice two weights decide."""
    hypotheses = (("they broke down the plan", -2.0, 0.3), ("they have a plan", -3.0, 0.2),
                  ("they adopted the plan", -2.5, 0.8))  # fmt: skip
    weightings = ((1.0, 0.0), (1.0, 2.0))
    parts = [
        text(4, 31, "hypothesis", "b"),
        text(208, 31, "lm", "b e"),
        text(250, 31, "qe", "b e"),
    ]
    for column, (lm, quality) in enumerate(weightings):
        x = 322 + 72 * column
        parts += [text(x, 16, f"{lm:g} \N{MIDDLE DOT} lm", "b e"),
                  text(x, 31, f"+ {quality:g} \N{MIDDLE DOT} qe", "b e")]  # fmt: skip
        scores = [lm * a + quality * b for _, a, b in hypotheses]
        best = max(range(len(scores)), key=scores.__getitem__)
        for row, score in enumerate(scores):
            y = 56 + 24 * row
            if row == best:
                parts.append(
                    f'<rect x="{x - 48}" y="{y - 15}" width="52" height="21" class="box"/>'
                )
            parts.append(text(x, y, f"{score:g}", "e b x" if row == best else "e"))
    for row, (words, lm, quality) in enumerate(hypotheses):
        y = 56 + 24 * row
        parts += [
            text(4, y, words), text(208, y, f"{lm:g}", "e"), text(250, y, f"{quality:g}", "e")
        ]  # fmt: skip
    parts.append(text(4, 134, "Model score = weights times features; the highest is chosen.", "s"))
    return svg(
        "The weights decide which hypothesis of a list is chosen",
        "Three hypotheses with the features lm and qe. Their model scores under two pairs of "
        "weights; the highest score of each pair is framed, on another hypothesis each time.",
        144, parts,
    )  # fmt: skip


def drawn_loop() -> str:
    """Return the loop of `portmert tune`."""
    steps = (
        (70, 30, "decode", "the dev set"), (300, 30, "merge", "with earlier lists"),
        (300, 130, "search", "over all lists"), (70, 130, "new weights", "for the decoder"),
    )  # fmt: skip
    parts = []
    for x, y, what, where in steps:
        parts += [f'<rect x="{x - 66}" y="{y - 24}" width="132" height="48" rx="5" class="box"/>',
                  text(x, y - 3, what, "b m"), text(x, y + 14, where, "s m")]  # fmt: skip
    parts += [
        arrow(138, 30, 232, 30), text(185, 24, "n-best lists", "s m"),
        arrow(300, 56, 300, 104), arrow(232, 130, 138, 130), text(185, 148, "best weights", "s m"),
        arrow(70, 104, 70, 56), text(78, 84, "again", "s"),
    ]  # fmt: skip
    return svg(
        "The loop of portmert tune",
        "The decoder decodes the dev set to n-best lists; they are merged with the earlier lists; "
        "a search over all lists finds weights; the decoder gets them and decodes again.",
        162, parts,
    )  # fmt: skip


def drawn_links() -> str:
    """Return a reference and a hypothesis whose links cross otherwise."""
    parts = []
    source = ("Recently", "I", "visited", "Paris")
    xs = (44, 140, 230, 330)
    for top, name, words, at in (
        (0, "reference", source, (0, 1, 2, 3)),
        (112, "hypothesis", ("I", "visited", "Paris", "recently"), (3, 0, 1, 2)),
    ):
        parts += [text(4, top + 14, f"source and {name}", "s")]
        parts += [text(x, top + 36, f"source {n}", "m") for n, x in enumerate(xs, 1)]
        parts += [text(x, top + 92, word, "m b") for x, word in zip(xs, words, strict=True)]
        parts += [line(xs[n], top + 42, xs[to], top + 78) for n, to in enumerate(at)]
    parts.append(text(4, 226, "v = 1 if the links cross as in the reference; here v = 0.5.", "s"))
    return svg(
        "Links that cross: the order of a hypothesis beside its reference",
        "In the reference the words are in the order of the source, so no link crosses. In the "
        "hypothesis the first source word comes last, and its link crosses three others.",
        234, parts,
    )  # fmt: skip


CROSSVAL = ROOT / "docs/how-to/crossval.md"
COMPARED = re.compile(
    r"^(?P<name>\S.*?) {2,}chrf .* (?P<gain>[-+][\d.]+) +"
    r"(?P<low>[-+][\d.]+)\.\.(?P<high>[-+][\d.]+) ",
    re.MULTILINE,
)


def drawn_crossval() -> str:
    """Return the rows of the page on cross-validation as dots with intervals."""
    rows = [
        (match["name"], float(match["gain"]), float(match["low"]), float(match["high"]))
        for match in COMPARED.finditer(CROSSVAL.read_text(encoding="utf-8"))
    ]
    low, high = min(row[2] for row in rows) - 0.3, max(0, *(row[3] for row in rows)) + 0.3

    def place(value: float) -> float:
        return 8 + 384 * (value - low) / (high - low)

    bottom = 34 + 46 * len(rows)
    parts = [
        text(4, 14, "chrF on unseen text, minus bagged", "b"),
        text(396, 14, "better \N{RIGHTWARDS ARROW}", "s e"),
        line(place(0), 24, place(0), bottom, "s l"),
    ]  # fmt: skip
    for number, (name, gain, *ends) in enumerate(rows):
        top = 42 + 46 * number
        kind = "t" if ends[0] <= 0 <= ends[1] else "r"
        parts += [
            text(4, top, name), text(396, top, f"{gain:+.2f}", "e"),
            line(place(ends[0]), top + 14, place(ends[1]), top + 14, "i" if kind == "t" else "l"),
            circle(place(gain), top + 14, kind),
        ]  # fmt: skip
    parts += [
        text(place(value), bottom + 16, f"{value:g}", "s m")
        for value in range(int(low), int(high) + 1, 2)
    ]
    parts.append(
        text(4, bottom + 38, "Intervals (95 %) that hold 0 are blue: no difference is shown.", "s")
    )
    return svg(
        "What cross-validation shows: the difference of each row from the first search",
        "; ".join(f"{name}: {gain:+g} ({a:+g} to {b:+g})" for name, gain, a, b in rows),
        bottom + 46, parts,
    )  # fmt: skip


UTTERANCE = "yweweler-361"
LANGUAGE = (12, 10)
"""Weights of the language model: the recogniser's, and a smaller one."""


def strings() -> tuple[list[tuple[str, ...]], list[list[float]], str]:
    """Return the strings of a lattice, their scores under both weights, and the reference."""
    folder = ROOT / "configs/speech/lattices"
    lists = portmert.Lists.from_graphs(
        folder / "test", {"acoustic": 0.1, "language": 1.2, "length": 0.0},
        refs=folder / "test.text", ids=True,
    ).nbest  # fmt: skip
    segment = (lists.ids or ()).index(UTTERANCE)
    rows = range(*lists.offsets[segment : segment + 2])
    columns = [name for name, _ in lists.feature_names]
    acoustic, language = (columns.index(name) for name in ("acoustic", "language"))
    scores = [
        [
            float(lists.features[row, acoustic] + weight * lists.features[row, language])
            for row in rows
        ]
        for weight in LANGUAGE
    ]
    texts = (folder / "test.text").read_text(encoding="utf-8")
    reference = re.search(rf"^{UTTERANCE} (.*)$", texts, re.MULTILINE)
    assert reference is not None  # noqa: S101
    return [tuple(lists.texts.words(row)) for row in rows], scores, reference[1]


def graph_of(paths: Sequence[tuple[str, ...]]) -> list[tuple[int, int, str]]:
    """Return the arcs of the smallest graph that has just these paths; 0 is its beginning."""
    names: dict[frozenset[tuple[str, ...]], int] = {}
    arcs: list[tuple[int, int, str]] = []

    def node(rests: frozenset[tuple[str, ...]]) -> int:
        if rests not in names:
            names[rests] = len(names)
            for word in sorted({rest[0] for rest in rests if rest}):
                behind = frozenset(rest[1:] for rest in rests if rest[:1] == (word,))
                arcs.append((names[rests], node(behind), word))
        return names[rests]

    node(frozenset(paths))
    return arcs


def places_of(
    arcs: Sequence[tuple[int, int, str]], way: Sequence[tuple[int, int, str]]
) -> dict[int, tuple[float, float]]:
    """Return the place of each node, in columns by its longest way; nodes of `way` are above."""
    column = {0: 0}
    for _ in arcs:
        for begin, end, _word in arcs:
            if begin in column:
                column[end] = max(column.get(end, 0), column[begin] + 1)
    above = {node for arc in way for node in arc[:2]}
    last = max(column.values())
    return {
        node: (12 + 376 * number / last, 100 if node in above else 172)
        for node, number in column.items()
    }


def drawn_lattice() -> str:
    """Return a lattice of a spoken number, with its best paths under two weights."""
    paths, scores, reference = strings()
    arcs = graph_of(paths)
    best = [paths[max(range(len(paths)), key=of.__getitem__)] for of in scores]

    def way(path: Sequence[str]) -> list[tuple[int, int, str]]:
        on: list[tuple[int, int, str]] = []
        for word in path:
            begin = on[-1][1] if on else 0
            on.append(next(arc for arc in arcs if arc[0] == begin and arc[2] == word))
        return on

    chosen = [way(path) for path in best]
    places = places_of(arcs, chosen[1])
    parts = []
    for arc in arcs:
        (x1, y1), (x2, y2) = (places[node] for node in arc[:2])
        beside = [one for one in arcs if one[:2] == arc[:2]]
        bend = 46 * (beside.index(arc) - (len(beside) - 1) / 2)
        if x2 - x1 > 100:  # over another node
            bend = -164
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        where, side = (x, y + bend / 2 + (-5 if bend <= 0 else 15)), "m"
        if y1 != y2:
            where, side = ((x + 10, y + bend / 2 + 8), "") if bend < 0 or y1 > y2 else (
                (x - 6, y + bend / 2 + 8), "e"
            )  # fmt: skip
        kind = "i" if any(arc in on for on in chosen) else "l"
        dash = ' stroke-dasharray="5 4"' if arc in chosen[0] and arc not in chosen[1] else ""
        curve = f"M{x1:.1f} {y1:g}Q{x:.1f} {y + bend:g} {x2:.1f} {y2:g}"
        parts += [f'<path d="{curve}" class="{kind}"{dash}/>', text(*where, arc[2], side)]
    parts += [circle(x, y, "t", 4) for x, y in places.values()]
    said = [f"language model x {n}: {' '.join(p)}" for n, p in zip(LANGUAGE, best, strict=True)]
    parts += [
        '<path d="M4 214L30 214" class="i" stroke-dasharray="5 4"/>', text(36, 218, said[0]),
        line(4, 234, 30, 234, "i"), text(36, 238, said[1]),
        text(4, 260, f"Spoken was: {reference}.", "s"),
    ]  # fmt: skip
    return svg(
        "A lattice: each path is a hypothesis, and the weights decide which one is best",
        f"A graph of {len(arcs)} words with {len(paths)} paths. {'; '.join(said)}; spoken was "
        f"{reference}.",
        270, parts,
    )  # fmt: skip


def drawn_language() -> str:
    """Return the word error rate of the recorded digits over the language model's weight."""
    features, stats, offsets = speech.read(ROOT / "configs/speech")
    segments = np.arange(len(offsets) - 1)
    weights = np.arange(7, 41)
    rates = {}
    for half, name in enumerate(("dev", "test")):
        part = speech.part(features, stats, offsets, segments[half::2])
        points = (np.array([1.0, weight, 0.0]) for weight in weights)
        rates[name] = [100 * speech.error_rate(*part, point) for point in points]
    found = re.search(r"LM weight \(lw, alpha\) ([\d.]+)", SPEECH.read_text(encoding="utf-8"))
    assert found is not None  # noqa: S101
    tuned = float(found[1])

    def across(weight: float) -> float:
        return 34 + 354 * (weight - 6) / 34

    def down(rate: float) -> float:
        return 190 - 14 * (rate - 24)

    parts = [
        text(4, 14, "word error rate, %", "b"), text(396, 14, "lower is better", "s e"),
        (f'<rect x="{across(7):.1f}" y="24" width="{across(17) - across(7):.1f}" height="166" '
         'class="area"/>'),
        text(across(12), 38, "Kaldi's grid", "s m"),
        line(across(tuned), 44, across(tuned), 190, "s l"),
        text(across(tuned) + 4, 40, f"tuned: {tuned:g}", "x"),
        line(34, 190, 388, 190),
    ]  # fmt: skip
    for rate in range(24, 35, 2):
        parts += [line(30, down(rate), 34, down(rate)), text(27, down(rate) + 4, f"{rate}", "s e")]
    parts += [text(across(weight), 206, f"{weight}", "s m") for weight in range(10, 41, 5)]
    parts.append(text(211, 224, "weight of the language model; acoustics 1, words 0", "m"))
    for name, kind, beside in (("test", "o", 16), ("dev", "i", -8)):
        points = zip(weights, rates[name], strict=True)
        curve = "L".join(f"{across(weight):.1f} {down(rate):.1f}" for weight, rate in points)
        parts += [
            f'<path d="M{curve}" class="{kind}"/>',
            text(388, down(rates[name][-1]) + beside, name, "b e x" if name == "dev" else "b e s"),
        ]
    lowest = {name: weights[int(np.argmin(of_set))] for name, of_set in rates.items()}
    return svg(
        "Word error rate of spoken digits by the weight of the language model",
        "; ".join(
            f"{name}: {of_set[0]:.1f} % at 7, {min(of_set):.1f} % at {lowest[name]}, "
            f"{of_set[-1]:.1f} % at 40"
            for name, of_set in rates.items()
        ),
        234, parts,
    )  # fmt: skip


def drawn() -> Iterator[tuple[Path, str]]:
    """Yield each figure."""
    yield FIGURES / "results.svg", drawn_results()
    yield FIGURES / "choice.svg", drawn_choice()
    yield FIGURES / "loop.svg", drawn_loop()
    yield FIGURES / "links.svg", drawn_links()
    yield FIGURES / "crossval.svg", drawn_crossval()


def measured() -> Iterator[tuple[Path, str]]:
    """Yield each figure that is computed from the example data."""
    yield FIGURES / "lattice.svg", drawn_lattice()
    yield FIGURES / "language.svg", drawn_language()

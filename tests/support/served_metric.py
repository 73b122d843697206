"""A program that answers METEOR's protocol with a metric of ours: served_metric.py NAME."""

import sys

import numpy as np

import portmert
from portmert.metrics._base import Batch, Texts, Vocabulary


def main():
    metric, words = portmert.metric(sys.argv[1]), Vocabulary()
    for line in sys.stdin:
        kind, *fields = line.rstrip("\n").split(" ||| ")
        if kind == "EVAL":
            numbers = [float(metric.score(np.array(fields[0].split(), dtype=float)))]
        else:
            (numbers,) = metric.stats(batch_of(fields, words)).tolist()
        sys.stdout.write(" ".join(map(repr, numbers)) + "\n")
        sys.stdout.flush()


def batch_of(fields, words):
    """Return a segment of references, a hypothesis and perhaps their links."""
    sources, groups = None, [None] * len(fields)
    if fields[-1].startswith("links: "):
        source, *rows = fields.pop().removeprefix("links: ").split(";")
        sources = np.array([int(source)], dtype=np.int32)
        groups = [[tuple(map(int, link.split("-"))) for link in row.split()] for row in rows]
    texts = [
        Texts.from_lines(lines, words, None if sources is None else links)
        for lines, links in ((fields[-1:], groups[-1:]), (fields[:-1], groups[:-1]))
    ]
    return Batch(texts[0], np.array([0, 1]), texts[1], np.array([0, len(fields) - 1]), sources)


if __name__ == "__main__":
    main()

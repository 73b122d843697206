"""Small comparisons: outputs of several systems, references and links."""

import numpy as np
from hypothesis import strategies as st

from portmert.metrics._base import Vocabulary
from portmert.tuner.evaluation.comparison.material import Material
from portmert.tuner.texts.corpus import References
from tests.oracles.metrics import Text
from tests.support.strategies_metrics import arrays

LINES = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=6).map(tuple)


@st.composite
def materials(draw, *, systems=2, replicas=2, references=1):
    """A material, and what is in it: outputs[n][s] and references[s][r] as token tuples."""
    segments = draw(st.integers(1, 4))
    count = systems * replicas
    outputs = [[draw(LINES) for _ in range(segments)] for _ in range(count)]
    golds = [[draw(LINES) for _ in range(references)] for _ in range(segments)]
    return material_of(outputs, golds, systems=systems), outputs, golds


def material_of(outputs, golds, *, systems, source_lengths=None, links=None, gold_links=None):
    """Return a material of token lists; links[n][s] and gold_links[s][r] are sets of pairs."""
    vocabulary = Vocabulary()

    def texts(lines, pairs):
        rows = [
            Text(tuple(tokens), frozenset(pairs[n] if pairs else ()))
            for n, tokens in enumerate(lines)
        ]
        return arrays(rows, vocabulary)

    flat = [tokens for of_segment in golds for tokens in of_segment]
    flat_links = [pairs for of_segment in gold_links for pairs in of_segment] if links else None
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in golds])]).astype(np.int64)
    return Material(
        systems=("x", "y")[:systems],
        replicas=(len(outputs) // systems,) * systems,
        texts=texts(
            [tokens for lines in outputs for tokens in lines],
            [pairs for of_output in links for pairs in of_output] if links else None,
        ),
        references=References(
            texts(flat, flat_links),
            offsets,
            None if source_lengths is None else np.array(source_lengths, dtype=np.int32),
        ),
        sources=None,
        links="gold" if links else None,
    )

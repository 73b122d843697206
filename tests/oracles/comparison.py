"""Slow twins of the comparison: dictionaries and loops."""

from collections import Counter


def ngrams(tokens, order):
    return Counter(tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1))


def right_ngrams(outputs, references):
    """N-gram -> clipped matches of one output, and n-gram -> largest counts in references.

    `outputs`: S token lists; `references`: S lists of token lists.
    """
    matched, known = Counter(), Counter()
    for tokens, of_segment in zip(outputs, references, strict=True):
        for order in range(1, 5):
            limits = Counter()
            for reference in of_segment:
                limits |= ngrams(reference, order)
            known += limits
            matched += ngrams(tokens, order) & limits
    return matched, known


def agreement_error(first, second):
    """AER of two lists of sets of links, all of them sure."""
    sizes = sum(map(len, first)) + sum(map(len, second))
    common = sum(len(one & other) for one, other in zip(first, second, strict=True))
    return 1 - 2 * common / sizes if sizes else 0.0

"""Slow twins of the comparison: dictionaries and loops."""

from collections import Counter


def ngrams(tokens, order):
    return Counter(tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1))


def right_ngrams(outputs, references):
    """N-gram -> clipped matches of one output, and n-gram -> largest counts in references.

    `outputs`: S token lists; `references`: S lists of token lists.
    """
    matched, largest = Counter(), Counter()
    for tokens, of_segment in zip(outputs, references, strict=True):
        for order in range(1, 5):
            limits = Counter()
            for reference in of_segment:
                limits |= ngrams(reference, order)
            largest += limits
            matched += ngrams(tokens, order) & limits
    return matched, largest


def agreement_error(first, second):
    """AER of two lists of sets of links, all of them sure."""
    sizes = sum(map(len, first)) + sum(map(len, second))
    common = sum(len(links & reference) for links, reference in zip(first, second, strict=True))
    return 1 - 2 * common / sizes if sizes else 0.0

"""A slow twin of the best strings of a graph: all derivations, one by one."""

import itertools


def strings(arcs, goal, weights):
    """Return [(string, score of its best derivation)] of a node, best first.

    An arc is (head, tails, body, {feature: value}); of its body, -1 - t stands for tail t.
    """
    best = {}
    for words, features in derivations(arcs, goal):
        score = sum(weights[name] * value for name, value in features.items())
        best[words] = max(score, best.get(words, float("-inf")))
    return sorted(best.items(), key=lambda item: -item[1])


def derivations(arcs, node):
    """Yield the words and the features of each derivation of a node."""
    for head, tails, body, features in arcs:
        if head != node:
            continue
        for parts in itertools.product(*(list(derivations(arcs, tail)) for tail in tails)):
            words = []
            for item in body:
                words += [item] if isinstance(item, str) else parts[-1 - item][0]
            totals = dict(features)
            for _, of_tail in parts:
                for name, value in of_tail.items():
                    totals[name] = totals.get(name, 0.0) + value
            yield tuple(words), totals

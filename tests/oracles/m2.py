"""MaxMatch by trying all ways through the lattice, for short sentences."""

from functools import cache


def steps_of(source, hypothesis):
    """The steps of all cheapest edit paths, with substitutions that cost 1 and that cost 2."""
    end, found = (len(source), len(hypothesis)), set()
    for price in (1, 2):

        @cache
        def paths(place, price=price):
            """Cost and steps of the cheapest ways from the beginning to a place."""
            i, j = place
            if place == (0, 0):
                return 0, frozenset()
            ways = []
            if i and j:
                same = source[i - 1] == hypothesis[j - 1]
                ways.append(((i - 1, j - 1), 0 if same else price))
            ways += [((i - 1, j), 1)] if i else []
            ways += [((i, j - 1), 1)] if j else []
            costs = {before: paths(before)[0] + cost for before, cost in ways}
            least = min(costs.values())
            steps = set()
            for before, cost in costs.items():
                if cost == least:
                    steps |= paths(before)[1] | {(before, place)}
            return least, frozenset(steps)

        found |= paths(end)[1]
    return found


def max_match(source, hypothesis, gold):  # noqa: C901  all of one search
    """Correct, proposed and gold edits; `gold` has (first, last, corrections as tuples of words).

    Gold edits stand in order, none twice.
    """
    end, steps = (len(source), len(hypothesis)), steps_of(source, hypothesis)

    def kept(step):
        (i, j), (k, m) = step
        return k == i + 1 and m == j + 1 and source[i] == hypothesis[j]

    def onward(path, place):
        """All ways on from a place with at most two words kept."""
        if path:
            yield path, place
        for step in steps:
            if step[0] == place and sum(map(kept, [*path, step])) <= 2:
                yield from onward([*path, step], step[1])

    @cache
    def best(place, used):
        """Gold edits, minus steps outside, minus other edits: the best from a place to the end."""
        if place == end:
            return (0, 0, 0), 0
        found = []
        shortest = {}
        for path, target in onward([], place):
            if target not in shortest or len(path) < len(shortest[target]):
                shortest[target] = path
        for target, path in shortest.items():
            if all(map(kept, path)):
                if len(path) == 1:
                    (g, s, e), n = best(target, used)
                    found.append(((g, s - 1, e), n))
                continue
            words = tuple(hypothesis[place[1] : target[1]])
            match = [
                number
                for number, (first, last, corrections) in enumerate(gold)
                if number not in used
                and (first, last) == (place[0], target[0])
                and words in corrections
            ]
            if match:
                (g, s, e), n = best(target, used | {match[0]})
                found.append(((g + 1, s, e), n + 1))
            (g, s, e), n = best(target, used)
            found.append(((g, s - len(path), e - 1), n + 1))
        return max(found, key=lambda item: item[0])

    (correct, _, _), proposed = best((0, 0), frozenset())
    return correct, proposed, len(gold)

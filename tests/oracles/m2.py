"""The edits of the M2 scorer by lists of edits, for short sentences."""

from functools import cache


def steps_of(source, hypothesis, price):
    """The steps of all cheapest edit paths, with substitutions that cost `price`."""

    @cache
    def paths(place):
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

    return paths((len(source), len(hypothesis)))[1]


def listed(source, hypothesis):
    """The scorer's list of edits, and of each its steps, words kept and whether all are kept."""
    lattices = [steps_of(source, hypothesis, price) for price in (1, 2)]
    entries = sorted([*lattices[0], *lattices[1]])
    known = {}
    for (i, j), (k, m) in entries:
        same = k == i + 1 and m == j + 1 and source[i] == hypothesis[j]
        known[(i, j), (k, m)] = (1, int(same), same)
    places = sorted({(0, 0), *(place for step in entries for place in step)})
    for middle in places:
        for begin in places:
            for end in places:
                if (begin, middle) not in known or (middle, end) not in known:
                    continue
                a, b = known[begin, middle], known[middle, end]
                steps, kept = a[0] + b[0], a[1] + b[1]
                if kept <= 2 and steps < known.get((begin, end), (99,))[0]:
                    known[begin, end] = (steps, kept, a[2] and b[2])
                    entries.append((begin, end))
    return [one for one in entries if not known[one][2] or known[one][0] == 1], known, places


def insertion_costs(arcs, is_gold, number, costs, price):
    """Change the costs of the insertions at a place, from the left and the right in turns."""
    low, high, left, right = 0, number, 0, len(arcs) - 1
    side = "left"
    while left <= right:
        at = left if side == "left" or left == right else right
        side = "left" if at == left else "right"
        order = range(low, high) if side == "left" else reversed(range(low, high))
        match = next((g for g in order if is_gold(arcs[at], g)), None)
        if match is None:
            costs[arcs[at]] += 0.001
        else:
            costs[arcs[at]] = price
            low, high = (match + 1, high) if side == "left" else (low, match)
        step = 1 if side == "left" else -1
        place = at + step
        if match is not None:
            near, far = (0, 1) if side == "left" else (1, 0)
            while 0 <= place < len(arcs) and arcs[place][near] != arcs[at][far]:
                costs[arcs[place]] += 0.001
                place += step
        left, right = (place, right) if side == "left" else (left, place)
        if match is None:
            side = "right" if side == "left" else "left"


def max_match(source, hypothesis, gold):
    """Correct, proposed and gold edits; `gold` has (first, last, corrections as word tuples)."""
    entries, known, places = listed(source, hypothesis)

    def matches(edit, number):
        (i, j), (k, m) = edit
        first, last, corrections = gold[number]
        return (first, last) == (i, k) and tuple(hypothesis[j:m]) in corrections

    costs = costs_of(source, entries, known, gold, matches)
    path = cheapest(entries, costs, places)
    changed = [edit for edit in path if not known[edit][2]]
    correct, low = 0, 0
    for edit in changed:
        for number in range(len(gold)):
            if number >= low and matches(edit, number):
                correct, low = correct + 1, number + 1
    return correct, len(changed), len(gold)


def costs_of(source, entries, known, gold, matches):
    """What each edit costs: its steps, 0.001 for each time it is listed; a gold one much less."""
    costs, least = {one: float(known[one][0]) for one in entries}, float(-len(entries))
    for row in range(len(source) + 1):
        arcs = sorted(one for one in entries if one[0][0] == one[1][0] == row)
        own = [n for n, (first, last, _) in enumerate(gold) if first == last == row]
        insertion_costs(
            arcs, lambda edit, n, own=own: matches(edit, own[n]), len(own), costs, least
        )
    for one in entries:
        if one[0][0] != one[1][0] and not known[one][2]:
            is_gold = any(matches(one, n) for n in range(len(gold)))
            costs[one] = least if is_gold else costs[one] + 0.001
    return costs


def cheapest(entries, costs, places):
    """The edits of the cheapest path, by going through the list until nothing is better."""
    total, before = dict.fromkeys(places, float("inf")), {}
    total[0, 0] = 0.0
    for _ in places:
        for begin, end in entries:
            if total[begin] + costs[begin, end] < total[end]:
                total[end], before[end] = total[begin] + costs[begin, end], begin
    path, end = [], places[-1]
    while end in before:
        path.append((before[end], end))
        end = before[end]
    return path[::-1]

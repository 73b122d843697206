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


def edit_list(source, hypothesis):
    """The scorer's list of edits, and of each its steps, words kept and whether all are kept."""
    lattices = [steps_of(source, hypothesis, price) for price in (1, 2)]
    entries = sorted([*lattices[0], *lattices[1]])
    least = {}
    for (i, j), (k, m) in entries:
        same = k == i + 1 and m == j + 1 and source[i] == hypothesis[j]
        least[(i, j), (k, m)] = (1, int(same), same)
    places = sorted({(0, 0), *(place for step in entries for place in step)})
    for middle in places:
        for begin in places:
            for end in places:
                if (begin, middle) not in least or (middle, end) not in least:
                    continue
                a, b = least[begin, middle], least[middle, end]
                steps, unchanged = a[0] + b[0], a[1] + b[1]
                if unchanged <= 2 and steps < least.get((begin, end), (99,))[0]:
                    least[begin, end] = (steps, unchanged, a[2] and b[2])
                    entries.append((begin, end))
    return [edit for edit in entries if not least[edit][2] or least[edit][0] == 1], least, places


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
    entries, table, places = edit_list(source, hypothesis)

    def matches(edit, number):
        (i, j), (k, m) = edit
        first, last, corrections = gold[number]
        return (first, last) == (i, k) and tuple(hypothesis[j:m]) in corrections

    costs = costs_of(source, entries, table, gold, matches)
    path = cheapest(entries, costs, places)
    changed = [edit for edit in path if not table[edit][2]]
    correct, low = 0, 0
    for edit in changed:
        for number in range(len(gold)):
            if number >= low and matches(edit, number):
                correct, low = correct + 1, number + 1
    return correct, len(changed), len(gold)


def costs_of(source, entries, table, gold, matches):
    """What each edit costs: its steps, 0.001 for each time it is listed; a gold one much less."""
    costs, least = {edit: float(table[edit][0]) for edit in entries}, float(-len(entries))
    for row in range(len(source) + 1):
        arcs = sorted(edit for edit in entries if edit[0][0] == edit[1][0] == row)
        here = [n for n, (first, last, _) in enumerate(gold) if first == last == row]
        insertion_costs(
            arcs, lambda edit, n, row=here: matches(edit, row[n]), len(here), costs, least
        )
    for edit in entries:
        if edit[0][0] != edit[1][0] and not table[edit][2]:
            is_gold = any(matches(edit, n) for n in range(len(gold)))
            costs[edit] = least if is_gold else costs[edit] + 0.001
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

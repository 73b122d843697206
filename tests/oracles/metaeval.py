"""Slow twins of meta-evaluation and human evaluation, from the formulas of section 12."""

import itertools
import math


def kendall_counts(human, metric):
    """Concordant, discordant, and all pairs that people did not tie."""
    concordant = discordant = total = 0
    for h, m in zip(human, metric, strict=True):
        for a, b in itertools.combinations(range(len(h)), 2):
            better, worse = (a, b) if h[a] > h[b] else (b, a)
            if h[a] == h[b]:
                continue
            total += 1
            concordant += m[better] > m[worse]
            discordant += m[better] < m[worse]
    return concordant, discordant, total


def pearson(x, y, w, undefined=0.0):
    """Weighted; where a side is constant, `undefined`."""
    total = sum(w)
    if total == 0:
        return undefined
    mx = sum(c * a for a, c in zip(x, w, strict=True)) / total
    my = sum(c * b for b, c in zip(y, w, strict=True)) / total
    xx = sum(c * (a - mx) ** 2 for a, c in zip(x, w, strict=True))
    yy = sum(c * (b - my) ** 2 for b, c in zip(y, w, strict=True))
    xy = sum(c * (a - mx) * (b - my) for a, b, c in zip(x, y, w, strict=True))
    return xy / math.sqrt(xx * yy) if xx > 1e-12 and yy > 1e-12 else undefined


def sampled(human, metric, lengths, rows, systems):
    """Rows and systems of a bootstrap sample written out, `rows` being how often each is in."""
    segments = [s for s, times in enumerate(rows) for _ in range(int(times))]
    return (
        [[human[s][m] for m in systems] for s in segments],
        [[metric[s][m] for m in systems] for s in segments],
        [lengths[s] for s in segments],
    )


def removed(table):
    """Each row without its mean."""
    return [[value - sum(row) / len(row) for value in row] for row in table]


def pearsons(human, metric, lengths, undefined=0.0):
    """The four Pearson correlations of tables of rows, and that of differences within rows."""
    correlations = {}
    for name, h, m in (
        ("pearson", human, metric),
        ("pearson_mean_removed", removed(human), removed(metric)),
    ):
        for suffix, of_row in (("", [1.0] * len(lengths)), ("_weighted", lengths)):
            correlations[name + suffix] = pearson(
                [v for row in m for v in row],
                [v for row in h for v in row],
                [w for row, w in zip(h, of_row, strict=True) for _ in row],
                undefined,
            )
    deltas = [
        [a - b for row in table for a, b in itertools.permutations(row, 2)]
        for table in (metric, human)
    ]
    correlations["pearson_deltas"] = pearson(*deltas, [1.0] * len(deltas[0]), undefined)
    return correlations


def standardised(table):
    """Mean 0, variance 1 over all cells; zeros if constant."""
    cells = [value for row in table for value in row]
    mean = sum(cells) / len(cells)
    spread = math.sqrt(sum((value - mean) ** 2 for value in cells) / len(cells))
    return [[(value - mean) / spread if spread > 1e-12 else 0.0 for value in row] for row in table]


def exchanged(first, second, signs):
    """Both tables with the cells exchanged whose sign is -1."""
    tables = []
    for table, second_table in ((first, second), (second, first)):
        tables.append(
            [
                [a if s > 0 else b for a, b, s in zip(x, y, t, strict=True)]
                for x, y, t in zip(table, second_table, signs, strict=True)
            ]
        )
    return tables


def fleiss_kappa(ratings):
    """Ratings: for each item the category each judge chose."""
    judges = len(ratings[0])
    categories = {c for item in ratings for c in item}
    agreement = sum(
        (sum(item.count(c) ** 2 for c in categories) - judges) / (judges * (judges - 1))
        for item in ratings
    ) / len(ratings)
    chance = sum(
        (sum(item.count(c) for item in ratings) / (len(ratings) * judges)) ** 2 for c in categories
    )
    return 1.0 if math.isclose(chance, 1.0) else (agreement - chance) / (1 - chance)


def sign_test(wins, losses):
    """One-sided and two-sided p of the exact sign test."""
    n = wins + losses

    def tail(k):
        return sum(math.comb(n, i) for i in range(k, n + 1)) / 2**n

    return tail(wins), min(1.0, 2 * tail(max(wins, losses)))


def by_item(human, metric):
    """Mean over rows in which people's scores differ of Pearson's r within the row."""
    pairs = [(h, m) for h, m in zip(human, metric, strict=True) if len(set(h)) > 1]
    correlations = [pearson(m, h, [1.0] * len(h)) for h, m in pairs]
    return sum(correlations) / len(correlations) if correlations else None


def pairwise_accuracy(human, metric):
    """Share of pairs of systems that people order and the metric orders alike."""
    right = total = 0
    for a, b in itertools.combinations(range(len(human)), 2):
        if human[a] != human[b]:
            total += 1
            right += (human[a] - human[b]) * (metric[a] - metric[b]) > 0
    return right / total if total else None


def accuracy_with_ties(human, metric, epsilon):
    """Mean over rows of the share of pairs that both order alike or both tie."""
    rows = []
    for h, m in zip(human, metric, strict=True):
        right = total = 0
        for a, b in itertools.combinations(range(len(h)), 2):
            total += 1
            if abs(m[a] - m[b]) <= epsilon:
                right += h[a] == h[b]
            else:
                right += (h[a] - h[b]) * (m[a] - m[b]) > 0
        rows.append(right / total)
    return sum(rows) / len(rows)


def calibrated(human, metric):
    """The smallest epsilon of the highest accuracy, among 0 and all differences."""
    differences = {abs(a - b) for m in metric for a, b in itertools.combinations(m, 2)}
    return max(
        sorted({0.0} | differences),
        key=lambda epsilon: (round(accuracy_with_ties(human, metric, epsilon), 12), -epsilon),
    )


def soft_pairwise(human, metric, swaps):
    """1 - |p_human - p_metric|, mean over pairs; scores of systems are means of segments'."""

    def p_better(table, a, b):
        def gap(signs):
            return sum(s * (row[a] - row[b]) for s, row in zip(signs, table, strict=True))

        observed = gap([1] * len(table))
        large = sum(gap(signs) >= observed - 1e-9 for signs in swaps)
        return (1 + large) / (len(swaps) + 1)

    pairs = list(itertools.combinations(range(len(human[0])), 2))
    return sum(1 - abs(p_better(human, a, b) - p_better(metric, a, b)) for a, b in pairs) / len(
        pairs
    )


def king_and_orange(references, systems):
    """Of references' scores [r][c] and systems' beside them [r][c][a]."""
    king, orange = [], []
    for reference, rows in zip(references, systems, strict=True):
        for score, system_scores in zip(reference, rows, strict=True):
            king.append(all(score >= system_score for system_score in system_scores))
            orange += [score >= system_score for system_score in system_scores]
    return sum(king) / len(king), sum(orange) / len(orange)


def judgments_written_out(judgments, metric):
    """Of (segment, system, judge, score): x and y of each, and its segment."""
    x = [metric[segment][system] for segment, system, *_ in judgments]
    return x, [score for *_, score in judgments], [segment for segment, *_ in judgments]


def judgment_pairs(judgments, metric):
    """Concordant, discordant and all pairs of one judge's judgments of two systems."""
    right = wrong = total = 0
    for (s, a, j, h), (t, b, k, g) in itertools.combinations(judgments, 2):
        if (s, j) == (t, k) and a != b and h != g:
            total += 1
            product = (h - g) * (metric[s][a] - metric[s][b])
            right += product > 0
            wrong += product < 0
    return right, wrong, total


def group_removed(values, groups):
    """Each value without the mean of its group."""
    means = {
        group: sum(v for v, g in zip(values, groups, strict=True) if g == group)
        / groups.count(group)
        for group in groups
    }
    return [v - means[g] for v, g in zip(values, groups, strict=True)]

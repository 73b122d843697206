"""Computes edit distances of segments with one reference each. TER's, with shifts: terp.py."""

import numpy as np

from .._base import FloatArray, IntArray
from .compiled import Segments, kernel, longest_row


@kernel
def edit_distances(segments: Segments, long_jumps: bool) -> FloatArray:
    """Return (H,) float64: the edit distance of each hypothesis.

    With `long_jumps` a path may also go from any place in the hypothesis to any other after each
    reference word, at the cost of 1; hypothesis words that it jumps over cost nothing.
    """
    tokens, token_offsets, offsets, reference_tokens, reference_token_offsets, _ = segments
    longest = longest_row(token_offsets)
    row = np.empty(longest + 1, dtype=np.int64)  # cost of having come to each place
    distances = np.empty(token_offsets.size - 1)
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        for h in range(offsets[s], offsets[s + 1]):
            hypothesis = tokens[token_offsets[h] : token_offsets[h + 1]]
            n = hypothesis.size
            for i in range(n + 1):
                row[i] = min(i, 1) if long_jumps else i
            for j in range(reference.size):
                corner = row[0]
                row[0] += 1
                least = row[0]
                for i in range(1, n + 1):
                    above = row[i]
                    changed = corner + (hypothesis[i - 1] != reference[j])
                    row[i] = min(changed, min(above, row[i - 1]) + 1)
                    least = min(least, row[i])
                    corner = above
                if long_jumps:
                    for i in range(n + 1):
                        row[i] = min(row[i], least + 1)
            distances[h] = row[n]
    return distances


@kernel
def edit_kinds(segments: Segments) -> FloatArray:
    """Return (H, 3) float64: substitutions, insertions, deletions of a cheapest path.

    Among equally cheap steps to a place, an insertion comes first, then a deletion, then a pair.
    """
    tokens, token_offsets, offsets, reference_tokens, reference_token_offsets, _ = segments
    longest = longest_row(reference_token_offsets)
    row = np.empty((longest + 1, 4), dtype=np.int64)  # cost, substitutions, insertions, deletions
    kinds = np.empty((token_offsets.size - 1, 3))
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        for h in range(offsets[s], offsets[s + 1]):
            for j in range(reference.size + 1):
                row[j, 0], row[j, 1], row[j, 2], row[j, 3] = j, 0, 0, j
            for k in range(token_offsets[h], token_offsets[h + 1]):
                corner = (row[0, 0], row[0, 1], row[0, 2], row[0, 3])
                row[0, 0] += 1
                row[0, 2] += 1
                for j in range(1, reference.size + 1):
                    differ = np.int64(tokens[k] != reference[j - 1])
                    above = (row[j, 0], row[j, 1], row[j, 2], row[j, 3])
                    changed, extra, missed = corner[0] + differ, above[0] + 1, row[j - 1, 0] + 1
                    if changed < extra and changed < missed:
                        row[j, 0], row[j, 1] = changed, corner[1] + differ
                        row[j, 2], row[j, 3] = corner[2], corner[3]
                    elif missed < extra:
                        row[j, 0], row[j, 1] = missed, row[j - 1, 1]
                        row[j, 2], row[j, 3] = row[j - 1, 2], row[j - 1, 3] + 1
                    else:
                        row[j, 0] = extra
                        row[j, 2] += 1
                    corner = above
            for kind in range(3):
                kinds[h, kind] = row[reference.size, 1 + kind]
    return kinds


@kernel
def edit_pairs(segments: Segments) -> IntArray:
    """Return (E, 2) int64: the words of each edit of `edit_kinds`, of the reference first.

    -1 is no word: an insertion has no reference word, a deletion no hypothesis word.
    """
    tokens, token_offsets, offsets, reference_tokens, reference_token_offsets, _ = segments
    pairs = np.empty((tokens.size + reference_tokens.size, 2), dtype=np.int64)
    count = 0
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        for h in range(offsets[s], offsets[s + 1]):
            text = tokens[token_offsets[h] : token_offsets[h + 1]]
            row = np.arange(reference.size + 1)
            steps = np.empty((text.size + 1, reference.size + 1), dtype=np.int8)
            steps[0] = 2  # a deletion
            for k in range(text.size):
                corner, row[0], steps[k + 1, 0] = row[0], k + 1, 1  # an insertion
                for j in range(1, reference.size + 1):
                    changed = corner + np.int64(text[k] != reference[j - 1])
                    extra, missed = row[j] + 1, row[j - 1] + 1
                    corner = row[j]
                    if changed < extra and changed < missed:
                        row[j], steps[k + 1, j] = changed, 0
                    elif missed < extra:
                        row[j], steps[k + 1, j] = missed, 2
                    else:
                        row[j], steps[k + 1, j] = extra, 1
            k, j = text.size, reference.size
            while k or j:
                step = steps[k, j]
                k, j = k - (step != 2), j - (step != 1)
                wrong = reference[j] if step != 1 else -1
                right = text[k] if step != 2 else -1
                if wrong != right:
                    pairs[count, 0], pairs[count, 1] = wrong, right
                    count += 1
    return pairs[:count]


@kernel
def equal_words(segments: Segments) -> FloatArray:
    """Return (H, 2) float64: the words that a cheapest path leaves unchanged, and its edits.

    Words that both texts begin with, then those that both end with, are paired first. Of what is
    between, the path is traced back from the end: a missing reference word is a step if it costs
    1 there, else an extra hypothesis word if the cost falls by 1 from the place before the pair
    to the place before the extra word, else a pair (rapidfuzz, which jiwer calls).
    """
    tokens, token_offsets, offsets, reference_tokens, reference_token_offsets, _ = segments
    longest = longest_row(reference_token_offsets)
    costs = np.empty(longest + 1, dtype=np.int64)  # of the beginnings of the reference
    equal = np.empty(longest + 1, dtype=np.int64)
    counts = np.empty((token_offsets.size - 1, 2))
    for s in range(offsets.size - 1):
        whole = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        for h in range(offsets[s], offsets[s + 1]):
            text = tokens[token_offsets[h] : token_offsets[h + 1]]
            begin = 0
            while begin < min(text.size, whole.size) and text[begin] == whole[begin]:
                begin += 1
            end = 0
            while (
                end < min(text.size, whole.size) - begin
                and text[text.size - 1 - end] == whole[whole.size - 1 - end]
            ):
                end += 1
            hypothesis = text[begin : text.size - end]
            reference = whole[begin : whole.size - end]
            for i in range(reference.size + 1):
                costs[i], equal[i] = i, 0
            for j in range(hypothesis.size):
                corner, corner_equal = costs[0], equal[0]
                costs[0] += 1
                for i in range(1, reference.size + 1):
                    differ = np.int64(hypothesis[j] != reference[i - 1])
                    before, before_equal = costs[i], equal[i]  # without this hypothesis word
                    costs[i] = min(corner + differ, min(before, costs[i - 1]) + 1)
                    if costs[i] == costs[i - 1] + 1:
                        equal[i] = equal[i - 1]
                    elif before != corner - 1:
                        equal[i] = corner_equal + 1 - differ
                    corner, corner_equal = before, before_equal
            counts[h, 0] = begin + equal[reference.size] + end
            counts[h, 1] = costs[reference.size]
    return counts

"""Computes RIBES's links between unique words and how far they keep their order."""

import numpy as np

from .._base import FloatArray, IntArray, TokenArray
from .compiled import Segments, helper, kernel, longest_row

OUT_OF_REACH = 1 << 40
"""More than any length: that of a phrase that does not exist."""


@helper
def _unique_phrases(
    hypothesis: TokenArray, reference: TokenArray, lengths: IntArray, places: IntArray
) -> None:
    """Find for each hypothesis word the shortest phrase from it on that is unique in both texts.

    Its length (`OUT_OF_REACH`: there is none) and where it begins in the reference; both modified
    in place. A phrase is unique in a text if it is longer than what others there share with it.
    """
    # Words shared from i and from j on.
    hypothesis_runs = np.zeros(hypothesis.size + 1, dtype=np.int64)
    reference_runs = np.zeros(reference.size + 1, dtype=np.int64)
    for i in range(hypothesis.size - 1, -1, -1):
        word = hypothesis[i]
        repeated = 0
        for j in range(hypothesis.size):
            hypothesis_runs[j] = hypothesis_runs[j + 1] + 1 if hypothesis[j] == word else 0
            if j != i:
                repeated = max(repeated, hypothesis_runs[j])
        longest = 0
        for j in range(reference.size):
            reference_runs[j] = reference_runs[j + 1] + 1 if reference[j] == word else 0
            if reference_runs[j] > longest:
                repeated = max(repeated, longest)
                longest = reference_runs[j]
                places[i] = j
            else:
                repeated = max(repeated, reference_runs[j])
        lengths[i] = repeated + 1 if repeated < longest else OUT_OF_REACH


@kernel
def rank_agreements(segments: Segments) -> FloatArray:
    """Return (H, 2) float64: the share of linked pairs of words in rising order, and the links.

    A word is linked if it is unique in both texts, by itself or with as little context as makes it
    so, to its left rather than to its right.

    One link alone has no order: the share is then 1 for a reference of one word, otherwise 0.
    """
    tokens, token_offsets, offsets, reference_tokens, reference_token_offsets, _ = segments
    longest = longest_row(token_offsets)
    places = np.empty(longest, dtype=np.int64)
    right, right_places = np.empty_like(places), np.empty_like(places)
    left, left_places = np.empty_like(places), np.empty_like(places)
    agreements = np.zeros((token_offsets.size - 1, 2))
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_token_offsets[s] : reference_token_offsets[s + 1]]
        for h in range(offsets[s], offsets[s + 1]):
            hypothesis = tokens[token_offsets[h] : token_offsets[h + 1]]
            _unique_phrases(hypothesis, reference, right, right_places)
            _unique_phrases(hypothesis[::-1].copy(), reference[::-1].copy(), left, left_places)
            links = 0
            rising = 0
            for i in range(hypothesis.size):
                mirrored = hypothesis.size - 1 - i
                if min(left[mirrored], right[i]) == OUT_OF_REACH:
                    continue
                place = right_places[i]
                if left[mirrored] <= right[i]:
                    place = reference.size - 1 - left_places[mirrored]
                for k in range(links):
                    rising += places[k] < place
                places[links] = place
                links += 1
            agreements[h, 1] = links
            if links > 1:
                agreements[h, 0] = rising / (links * (links - 1) / 2)
            elif links == 1 and reference.size == 1:
                agreements[h, 0] = 1.0
    return agreements

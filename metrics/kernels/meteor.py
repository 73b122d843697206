"""Searches for METEOR's alignments.

The reference is read from left to right; a state is a set of links of its first words. Of two
states with the same hypothesis words in use and the same last link only the better one goes on.
The most that the rest of the reference can add is known from a search in which hypothesis words
may be used any number of times. With this bound few states are kept at first, and more only if a
dropped one might have been better.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import FloatArray, IntArray, TokenArray
from .compiled import Segments, helper, kernel, longest_row, mixed, table_size
from .lexicon import Phrases, Words, are_synonyms

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
"""Modules."""
CHUNKS, COLUMNS = 20, 23
"""Where the counts of a hypothesis have its chunks, and how many there are."""
START, LENGTH, TAKES, MODULE, VALUE = range(5)
"""Columns of links: hypothesis position and length, words of the reference, module, worth."""
PLACE, END, WORTH, PARENT, LINK, NEXT = range(6)
"""Columns of states: words of the reference read; end of the last link if the next may go on from
it, otherwise -1; value; state it came from; link taken, -1 for none; next state of the place."""
WORD = 32
"""Bits of a number that are used."""
NOTHING = -(1 << 62)
"""Below every value."""
WIDEST = 1 << 9
"""Most states kept at one place of the reference."""
EFFORT = 1 << 18
"""Most states made in one search, whatever is kept."""


class Prepared(NamedTuple):
    """The properties of a pair of texts, beside its links, that the search reads.

    Parameters
    ----------
    after : (m,) int64
        Reference words of the same even group behind each word; -1 where the group is not even.
    bits : (L, W) int64
        Hypothesis words of each link that other links compete for.
    alive : (m + 1, W) int64
        Bits that links from each place on may use.
    members : (m, W) int64
        Bits of the even group of each reference word.
    skippable : (m,) bool
        Whether a best alignment may leave a reference word out, as far as its group tells.
    chunk : int
        The cost of a new chunk.
    """

    after: IntArray
    bits: IntArray
    alive: IntArray
    members: IntArray
    skippable: NDArray[np.bool_]
    chunk: int


class Reach(NamedTuple):
    """The most that the rest of a reference can add: from each place, and with each link."""

    remaining: IntArray
    worth: IntArray


@helper
def _find_links(
    texts: tuple[TokenArray, TokenArray],
    known_words: Words,
    phrases: Phrases,
    text: int,
    weights: tuple[int, int],
    work: tuple[TokenArray, IntArray],
    links: IntArray,
    begins: IntArray,
) -> IntArray:
    """Return the links that are possible, by reference position.

    They are written into `links`, or into a longer copy. Those of reference word j become
    `begins[j]:begins[j + 1]`.

    Parameters
    ----------
    texts
        The hypothesis, and the reference of number `text`.
    weights
        What a link of equal words is worth, and any other link.
    work
        The first array is modified: the stems of the hypothesis. The second is -1 for every word,
        before and after: where the hypothesis has it.
    """
    hypothesis, reference = texts
    own_stems, first_place = work
    stems, synonyms, synonym_offsets, _ = known_words
    occurrence_ends, places, entries = phrases.occurrences
    widths, phrase_words, phrase_offsets = phrases.widths, phrases.words, phrases.offsets
    n, m = hypothesis.size, reference.size
    exact, inexact = weights
    count = 0
    occurrence, last = occurrence_ends[text], occurrence_ends[text + 1]
    for i in range(n):
        own_stems[i] = stems[hypothesis[i]]
        if occurrence < last:
            first_place[hypothesis[i]] = i  # any place: whether it is there at all
    for j in range(m):
        begins[j] = count
        word, stem = reference[j], stems[reference[j]]
        while count + n > links.shape[0]:
            links = np.concatenate((links, np.empty_like(links)))
        alone = synonym_offsets[word] == synonym_offsets[word + 1]
        for i in range(n):
            if own_stems[i] == stem:  # equal words have equal ones
                module = EXACT if hypothesis[i] == word else STEM
            elif alone or not are_synonyms(word, hypothesis[i], synonyms, synonym_offsets):
                continue
            else:
                module = SYNONYM
            links[count, START], links[count, LENGTH], links[count, TAKES] = i, 1, 1
            links[count, MODULE] = module
            links[count, VALUE] = 2 * (exact if module == EXACT else inexact)
            count += 1
        singles = count
        while occurrence < last and places[occurrence] == j:
            entry = entries[occurrence]
            occurrence += 1
            begin = phrase_offsets[entry]
            size = phrase_offsets[entry + 1] - begin
            if first_place[phrase_words[begin]] < 0:
                continue
            for i in range(n - size + 1):
                k = 0
                while k < size and hypothesis[i + k] == phrase_words[begin + k]:
                    k += 1
                if k < size:
                    continue
                is_known = False  # from a module that comes first, or from the same pair again
                for link in range(begins[j], count):
                    is_known = is_known or (
                        links[link, START] == i
                        and links[link, LENGTH] == size
                        and links[link, TAKES] == widths[entry]
                        and (link >= singles or size == 1)
                    )
                if is_known:
                    continue
                if count == links.shape[0]:
                    links = np.concatenate((links, np.empty_like(links)))
                links[count, START], links[count, LENGTH] = i, size
                links[count, TAKES], links[count, MODULE] = widths[entry], PARAPHRASE
                links[count, VALUE] = inexact * (size + widths[entry])
                count += 1
    begins[m] = count
    for i in range(n):
        first_place[hypothesis[i]] = -1
    return links


@helper
def _root(parents: IntArray, node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@helper
def _groups(links: IntArray, begins: IntArray, n: int) -> tuple[IntArray, IntArray, IntArray]:
    """Find words that links connect.

    Returns
    -------
    group : (n + m,) int64
        Number of the group of each hypothesis word, then of each reference word.
    sizes : (n + m, 2) int64
        Hypothesis and reference words of each group.
    even : (n + m,) int64
        1 where all words of a group's two sides are linked, one to one, at equal worth: then as
        many links as the smaller side has words are possible, whichever one takes. Otherwise 0.
    """
    m = begins.size - 1
    parents = np.empty(n + m, dtype=np.int64)
    for node in range(n + m):
        parents[node] = node
    for j in range(m):
        for link in range(begins[j], begins[j + 1]):
            root = _root(parents, n + j)
            for i in range(links[link, START], links[link, START] + links[link, LENGTH]):
                parents[_root(parents, i)] = root
            for k in range(j, j + links[link, TAKES]):
                parents[_root(parents, n + k)] = root
    group = np.empty(n + m, dtype=np.int64)
    sizes = np.zeros((n + m, 2), dtype=np.int64)
    for node in range(n + m):
        group[node] = _root(parents, node)
        sizes[group[node], 0 if node < n else 1] += 1
    counts = np.zeros(n + m, dtype=np.int64)
    worths = np.zeros(n + m, dtype=np.int64)
    even = np.full(n + m, 1, dtype=np.int64)
    for j in range(m):
        for link in range(begins[j], begins[j + 1]):
            root = group[n + j]
            counts[root] += 1
            if worths[root] == 0:
                worths[root] = links[link, VALUE]
            if links[link, VALUE] != worths[root] or links[link, TAKES] + links[link, LENGTH] > 2:
                even[root] = 0
    for root in range(n + m):
        if counts[root] != sizes[root, 0] * sizes[root, 1]:
            even[root] = 0
    return group, sizes, even


@helper
def _bounds(links: IntArray, begins: IntArray, skippable: NDArray[np.bool_], chunk: int) -> Reach:
    """Return what the rest can add at most: from each place, and with each link.

    The first is with no link that could go on; a link's is without the cost of its chunk.
    """
    m = begins.size - 1
    remaining = np.zeros(m + 1, dtype=np.int64)
    worth = np.empty(begins[m], dtype=np.int64)
    for j in range(m - 1, -1, -1):
        remaining[j] = remaining[j + 1] if skippable[j] else NOTHING
        for link in range(begins[j], begins[j + 1]):
            after = j + links[link, TAKES]
            end = links[link, START] + links[link, LENGTH]
            best = remaining[after]
            if after < m:
                for following in range(begins[after], begins[after + 1]):
                    if links[following, START] == end:
                        best = max(best, worth[following])
            worth[link] = links[link, VALUE] + best
            remaining[j] = max(remaining[j], worth[link] - chunk)
    return Reach(remaining, worth)


@helper
def _prepare(links: IntArray, begins: IntArray, n: int) -> Prepared:
    """Turn worths into values, and hypothesis words that compete into bits.

    `VALUE` of each link becomes what it adds: worth before chunks before distance; that of an even
    group no worth, since it has as many links in every best alignment. Modified in place.
    """
    m = begins.size - 1
    group, sizes, even = _groups(links, begins, n)
    slots = np.full(n, -1, dtype=np.int64)
    count = 0
    for i in range(n):
        if sizes[group[i], 0] + sizes[group[i], 1] > 2:
            slots[i] = count
            count += 1
    words = (count + WORD - 1) // WORD
    bits = np.zeros((begins[m], words), dtype=np.int64)
    alive = np.zeros((m + 1, words), dtype=np.int64)
    members = np.zeros((m, words), dtype=np.int64)
    after = np.full(m, -1, dtype=np.int64)
    skippable = np.ones(m, dtype=np.bool_)
    previous = np.zeros(n + m, dtype=np.int64)
    chunk = n * m + 1  # more than all distances
    link_worth = chunk * (min(n, m) + 1)  # more than all chunks
    for j in range(m - 1, -1, -1):
        root = group[n + j]
        for w in range(words):
            alive[j, w] = alive[j + 1, w]
        for link in range(begins[j], begins[j + 1]):
            start = links[link, START]
            for i in range(start, start + links[link, LENGTH]):
                if slots[i] >= 0:
                    bits[link, slots[i] // WORD] |= 1 << (slots[i] % WORD)
            for w in range(words):
                alive[j, w] |= bits[link, w]
                members[j, w] |= bits[link, w]
            worth = 0 if even[root] else links[link, VALUE] * link_worth
            links[link, VALUE] = worth - abs(start - j)
        if even[root] and begins[j] < begins[j + 1]:
            after[j] = previous[root]
            previous[root] += 1
            skippable[j] = sizes[root, 1] > sizes[root, 0]
    return Prepared(after, bits, alive, members, skippable, chunk)


@helper
def _ones(bits: int) -> int:
    """Return how many bits are set."""
    count = 0
    while bits != 0:
        bits &= bits - 1
        count += 1
    return count


@helper
def _goes_on(links: IntArray, begins: IntArray, place: int, end: int) -> bool:
    """Return whether a link of reference word `place` begins at hypothesis word `end`."""
    if place + 1 < begins.size:
        for link in range(begins[place], begins[place + 1]):
            if links[link, START] == end:
                return True
    return False


@helper
def _insert(
    state: IntArray, bits: IntArray, states: IntArray, used: IntArray, count: int, table: IntArray
) -> tuple[int, bool]:
    """Put a state into the hash table, or in the place of a worse one of the same future.

    `states`, `used` and `table` are modified in place; the state would be number `count`.

    Returns
    -------
    number : int
        Number of the state, or of the state with the same future that it was compared with.
    new : bool
        Whether it had none.
    """
    slot = mixed(state[PLACE], state[END] + 1)
    for w in range(bits.size):
        slot = mixed(slot, bits[w])
    slot &= table.size - 1
    while table[slot] >= 0:
        old = table[slot]
        same = states[old, PLACE] == state[PLACE] and states[old, END] == state[END]
        for w in range(bits.size):
            same = same and used[old, w] == bits[w]
        if same:
            if state[WORTH] > states[old, WORTH]:
                for column in (WORTH, PARENT, LINK):
                    states[old, column] = state[column]
            return int(old), False
        slot = (slot + 1) & (table.size - 1)
    table[slot] = count
    for column in range(state.size):
        states[count, column] = state[column]
    for w in range(bits.size):
        used[count, w] = bits[w]
    return count, True


@helper
def _keep_best(states: IntArray, hopes: IntArray, size: int, width: int) -> tuple[int, int]:
    """Keep the `width` highest of `size` states in their order; of equal ones the first.

    Returns
    -------
    width, lost : int
        How many are kept, and the highest hope that is not. `states` is modified in place.
    """
    low, high = hopes[0], hopes[0]  # the lowest hope kept is in between
    for k in range(size):
        low, high = min(low, hopes[k]), max(high, hopes[k])
    while low < high:
        middle = low + (high - low + 1) // 2
        above = 0
        for k in range(size):
            above += hopes[k] >= middle
        if above >= width:
            low = middle
        else:
            high = middle - 1
    ties = width
    for k in range(size):
        ties -= hopes[k] > low
    count, lost = 0, NOTHING
    for k in range(size):
        if hopes[k] > low or (hopes[k] == low and ties > 0):
            ties -= hopes[k] == low
            states[count] = states[k]
            count += 1
        else:
            lost = max(lost, hopes[k])
    return count, lost


@helper
def _search(
    links: IntArray,
    begins: IntArray,
    prepared: Prepared,
    bounds: Reach,
    limits: tuple[int, int],
    path: IntArray,
) -> tuple[int, int, int]:
    """Search for the best alignment.

    Parameters
    ----------
    limits
        Most states that go on at a place; the value to beat.
    path
        Modified in place: the links of what is found, from the last to the first.

    Returns
    -------
    best, dropped, size : int
        The value found, NOTHING if there is no better one; no alignment that was dropped is worth
        more than the second; number of links.
    """
    width, beaten = limits
    after, bits, alive, members, skippable, chunk = prepared
    remaining, worth = bounds
    m, words = begins.size - 1, bits.shape[1]
    capacity = width * (begins[m] + m) + 1
    states, used = np.empty((capacity, 6), dtype=np.int64), np.zeros((capacity, words), np.int64)
    table = np.full(table_size(capacity), -1, dtype=np.int64)
    heads, tails = np.full(m + 1, -1, dtype=np.int64), np.full(m + 1, -1, dtype=np.int64)
    successor, successor_bits = np.empty(6, dtype=np.int64), np.zeros(words, dtype=np.int64)
    states[0, PLACE], states[0, END], states[0, WORTH] = 0, -1, 0
    states[0, PARENT], states[0, LINK], states[0, NEXT] = -1, -1, -1
    heads[0], tails[0], count, dropped = 0, 0, np.int64(1), NOTHING  # not a literal, see below
    here, hopes = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    for j in range(m):
        size, state = 0, heads[j]
        while state >= 0:  # those go on that may still beat the value
            hope = remaining[j]
            if states[state, END] >= 0:
                for link in range(begins[j], begins[j + 1]):
                    if links[link, START] == states[state, END]:
                        hope = max(hope, worth[link])
            hope += states[state, WORTH]
            if hope > beaten:
                here[size], hopes[size] = state, hope
                size += 1
            state = states[state, NEXT]
        if size > width:
            size, lost = _keep_best(here, hopes, size, width)
            dropped = max(dropped, lost)
        for rank in range(size):
            state = here[rank]
            free = skippable[j]
            if free and after[j] >= 0:
                unused = 0
                for w in range(words):
                    unused += _ones(members[j, w] & ~used[state, w])
                free = unused <= after[j]  # the words behind it can take them all
            successor[PARENT] = state
            # From a state that may leave word j out, the link before the first one is no link.
            for link in range(begins[j] if not free else begins[j] - 1, begins[j + 1]):
                clash = False
                if link < begins[j]:
                    successor[PLACE], successor[END], successor[LINK] = j + 1, -1, -1
                    successor[WORTH] = states[state, WORTH]
                    for w in range(words):
                        successor_bits[w] = used[state, w] & alive[j + 1, w]
                else:
                    place = j + links[link, TAKES]
                    successor[PLACE], successor[LINK] = place, link
                    successor[END] = links[link, START] + links[link, LENGTH]
                    successor[WORTH] = states[state, WORTH] + links[link, VALUE]
                    if links[link, START] != states[state, END]:
                        successor[WORTH] -= chunk
                    if not _goes_on(links, begins, place, successor[END]):
                        successor[END] = -1
                    for w in range(words):
                        clash = clash or (used[state, w] & bits[link, w]) != 0
                        successor_bits[w] = (used[state, w] | bits[link, w]) & alive[place, w]
                if clash:
                    continue
                number, is_new = _insert(successor, successor_bits, states, used, count, table)
                if is_new:  # the last of the states of its place
                    count += 1
                    states[number, NEXT] = -1
                    if heads[successor[PLACE]] < 0:
                        heads[successor[PLACE]] = number
                    else:
                        states[tails[successor[PLACE]], NEXT] = number
                    tails[successor[PLACE]] = number
    state, size = heads[m], 0
    if state < 0 or states[state, WORTH] <= beaten:
        return NOTHING, dropped, 0
    best = states[state, WORTH]
    while state >= 0:
        if states[state, LINK] >= 0:
            path[size] = states[state, LINK]
            size += 1
        state = states[state, PARENT]
    return best, dropped, size


@helper
def _best_links(links: IntArray, begins: IntArray, n: int) -> tuple[IntArray, int]:
    """Return the links of the best alignment, from the last to the first, and how many there are.

    `links` is modified in place.
    """
    prepared = _prepare(links, begins, n)
    bounds = _bounds(links, begins, prepared.skippable, prepared.chunk)
    widest = max(1, min(WIDEST, EFFORT // (begins[begins.size - 1] + begins.size)))
    path = np.empty(begins.size, dtype=np.int64)
    # Not literals, for which numba would compile the search once more.
    width, best, size = 1, np.int64(NOTHING), 0
    while True:
        width = min(8 * width, widest)
        better, dropped, length = _search(links, begins, prepared, bounds, (width, best), path)
        if better > best:
            best, size = better, length
        if dropped <= best or width == widest:
            return path, size


@helper
def _compete(links: IntArray, begins: IntArray, free: NDArray[np.bool_]) -> bool:
    """Return whether two links share a word. `free` is True for every place, before and after."""
    competes, end = False, 0
    for j in range(begins.size - 1):
        for link in range(begins[j], begins[j + 1]):
            competes = competes or j < end
            end = max(end, j + links[link, TAKES])
            for i in range(links[link, START], links[link, START] + links[link, LENGTH]):
                competes = competes or not free[i]
                free[i] = False
    for link in range(begins[begins.size - 1]):
        for i in range(links[link, START], links[link, START] + links[link, LENGTH]):
            free[i] = True
    return competes


@kernel
def alignments(
    segments: Segments,
    first: IntArray,
    words: Words,
    phrases: Phrases,
    weights: tuple[int, int],
) -> tuple[FloatArray, TokenArray]:
    """Count the links of the best alignment of each hypothesis, and map words along them.

    Most worth, then fewest chunks, then least distance of the words linked.

    Parameters
    ----------
    segments
        Hypotheses and references.
    first : (H,) int64
        The first hypothesis of the segment that has the same matches.
    words
        Function words are listed.
    phrases
        In the references.
    weights
        Worth of each word linked, exactly and otherwise.

    Returns
    -------
    counts : (H, 23) float64
        The first four are 0. For each module content words of hypothesis and reference, then
        function words of both; then chunks, and all linked words of hypothesis and reference.
    mapped : (T,) int32
        The tokens of the hypotheses; a word linked to one word is that word of the reference.
    """
    tokens, token_offsets, offsets, reference_tokens, reference_offsets, _ = segments
    counts, mapped = np.zeros((token_offsets.size - 1, COLUMNS)), tokens.copy()
    is_function = words.in_list
    first_place = np.full(words.stems.size, -1, dtype=np.int64)
    n, m = longest_row(token_offsets), longest_row(reference_offsets)
    # Sized for the longest hypothesis and reference; shorter ones use the beginning.
    links, own_stems = np.empty((n + m, 5), dtype=np.int64), np.empty(n, dtype=np.int32)
    all_begins, free = np.zeros(m + 1, dtype=np.int64), np.ones(n, dtype=np.bool_)
    for s in range(offsets.size - 1):
        reference = reference_tokens[reference_offsets[s] : reference_offsets[s + 1]]
        begins = all_begins[: reference.size + 1]
        for h in range(offsets[s], offsets[s + 1]):
            if first[h] < h:  # linked as an earlier hypothesis with the same words
                for column in range(4, COLUMNS):
                    counts[h, column] = counts[first[h], column]
                base = token_offsets[first[h]]
                for i in range(token_offsets[h + 1] - token_offsets[h]):
                    if mapped[base + i] != tokens[base + i]:
                        mapped[token_offsets[h] + i] = mapped[base + i]
                continue
            hypothesis = tokens[token_offsets[h] : token_offsets[h + 1]]
            links = _find_links(
                (hypothesis, reference),
                words,
                phrases,
                s,
                weights,
                (own_stems, first_place),
                links,
                begins,
            )
            if _compete(links, begins, free):
                path, size = _best_links(links, begins, hypothesis.size)
            else:  # all links together
                size = begins[reference.size]
                path = np.empty(size, dtype=np.int64)
                for k in range(size):
                    path[k] = size - 1 - k
            end, next_place, j = -1, -1, 0
            for k in range(size):
                link = path[size - 1 - k]  # the path begins with the last link
                while begins[j + 1] <= link:
                    j += 1
                start, column = links[link, START], 4 + 4 * links[link, MODULE]
                if start != end or j != next_place:
                    counts[h, CHUNKS] += 1
                end, next_place = start + links[link, LENGTH], j + links[link, TAKES]
                counts[h, CHUNKS + 1] += links[link, LENGTH]
                counts[h, CHUNKS + 2] += links[link, TAKES]
                for i in range(start, end):
                    counts[h, column + (2 if is_function[hypothesis[i]] else 0)] += 1
                    if links[link, MODULE] != PARAPHRASE:
                        mapped[token_offsets[h] + i] = reference[j]
                for i in range(j, next_place):
                    counts[h, column + (3 if is_function[reference[i]] else 1)] += 1
    return counts, mapped

"""Slow twins of what is derived from parses, from the rules as they are written."""

from __future__ import annotations

from tests.oracles.metrics import Tree

# After Collins (1999), appendix A.
TABLE = """
ADJP | left | NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP | right | RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP | right | CC RB IN
FRAG, UCP, X | right |
INTJ, PRN, NX | left |
LST | right | LS :
NAC | left | NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
PP | right | IN TO VBG VBN RP FW
PRT | right | RP
QP | left | $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC | right | VP NP ADVP ADJP PP
S | left | TO IN VP S SBAR ADJP UCP NP
SBAR | left | WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ | left | SQ S SINV SBARQ FRAG
SINV | left | VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ | left | VBZ VBD VBP VB MD VP SQ
UCP | right |
VP | left | TO VBD VBN MD VBZ VB VBG VBP AUX AUXG VP ADJP NN NNS NP
WHADJP | left | CC WRB JJ ADJP
WHADVP | right | CC WRB
WHNP | left | WDT WP WP$ WHADJP WHPP WHNP
WHPP | right | IN TO FW
"""
RULES = {
    parent.strip(): (side.strip(), priority.split())
    for parents, side, priority in (line.split("|") for line in TABLE.strip().splitlines())
    for parent in parents.split(",")
}
CATEGORIES = [*RULES, "NP", "NML"]
TAGS = [
    "NN",
    "NNS",
    "NNP",
    "POS",
    "JJ",
    "JJR",
    "JJS",
    "CD",
    "DT",
    "VB",
    "VBZ",
    "IN",
    "TO",
    "CC",
    ",",
    ":",
    "-LRB-",
    "''",
    "$",
    "RB",
    "PRP",
    "WDT",
]


def head_place(parent, kids):
    """The place of the head among children, given by label without functions."""
    head = noun_phrase_head(kids) if parent == "NP" else ruled_head(parent, kids)
    if head >= 2 and kids[head - 1] in ("CC", "CONJP"):
        left = [
            place
            for place in range(head - 1)
            if kids[place] not in (",", ".", ":", "``", "''", '"', "'", "-LRB-", "-RRB-", "#")
        ]
        if left:
            return left[-1]
    return head


def noun_phrase_head(kids):
    forwards = range(len(kids))
    backwards = forwards[::-1]
    if kids[-1] == "POS":
        return len(kids) - 1
    for order, names in (
        (backwards, "NN NNP NNPS NNS NX POS JJR"),
        (forwards, "NP"),
        (backwards, "$ ADJP PRN"),
        (backwards, "CD"),
        (backwards, "JJ JJS RB QP"),
    ):
        hits = [place for place in order if kids[place] in names.split()]
        if hits:
            return hits[0]
    return len(kids) - 1


def ruled_head(parent, kids):
    side, priority = RULES.get(parent, ("left", []))
    order = range(len(kids)) if side == "left" else range(len(kids))[::-1]
    for name in priority:
        hits = [place for place in order if kids[place] == name]
        if hits:
            return hits[0]
    return order[0]


def plain(label):
    if label[0] == "-":
        return label
    for sign in "-=":
        label = label.split(sign)[0]
    return label


def heads(tree):
    """(head, label) of each word of a constituency tree."""
    links = {}
    count = 0

    def walk(node):
        nonlocal count
        if not node.children:
            count += 1
            return count
        words = [walk(child) for child in node.children]
        kids = [plain(child.label) if child.children else "" for child in node.children]
        head = head_place(plain(node.label), kids)
        for place, word in enumerate(words):
            if place != head:
                links[word] = (words[head], f"{plain(node.label)}/{kids[place]}")
        return words[head]

    links[walk(tree)] = (0, "root")
    return tuple(links[word] for word in sorted(links))


def brackets(tree):
    inside = " ".join(map(brackets, tree.children))
    return f"({tree.label} {inside})" if tree.children else tree.label


def is_forest(heads):
    """Whether every word comes to the root by its heads."""
    for word in range(1, len(heads) + 1):
        place = word
        for _ in heads:
            if not 0 <= place <= len(heads):
                return False
            if place:
                place = heads[place - 1][0]
        if place != 0:
            return False
    return True


def example():
    noun_phrase = Tree("NP", (leaf("DT", "a"), leaf("JJ", "red"), leaf("NN", "pen")))
    verb_phrase = Tree("VP", (leaf("VBP", "have"), noun_phrase))
    return Tree("S", (Tree("NP", (leaf("PRP", "I"),)), verb_phrase))


def leaf(tag, word):
    return Tree(tag, (Tree(word),))

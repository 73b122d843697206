"""Files of parses for the `ptb` annotator, made of nothing but the words."""

from __future__ import annotations

from portmert.tuner.annotation.annotators._tokens import escaped
from tests.support.languages.derivation import Leaf


def tree(words):
    """A tree in brackets in which each word stands beside the rest of the sentence."""
    tags = (word[0].upper() if word[0].isalpha() else "X" for word in words)
    leaves = [f"({tag} {escaped(word)})" for tag, word in zip(tags, words, strict=True)]
    return " ".join(f"(S {leaf}" for leaf in leaves) + ")" * len(leaves)


def write_trees(path, lines):
    """Write the tree of each distinct line that is not empty; return what --annotator takes."""
    sentences = dict.fromkeys(tuple(line.split()) for line in lines if line.split())
    path.write_text("".join(f"{tree(words)}\n" for words in sentences))
    return f"ptb:files={path}"


def to_brackets(pair):
    """Return the constituents of the target sentence in brackets, as the Penn Treebank has."""
    return f"(S1 {_brackets(pair.tree)})"


def _brackets(node):
    if isinstance(node, Leaf):
        tag = "." if node.tag == "PUNCT" else node.tag
        return " ".join(f"({tag} {form})" for form in node.target)
    inside = [_brackets(node.children[child]) for child in node.target_order]
    return f"({node.label} {' '.join(text for text in inside if text)})"

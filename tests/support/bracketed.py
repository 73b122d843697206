"""Files of parses for the `ptb` annotator, made of nothing but the words."""

from __future__ import annotations

from tuner.annotation.annotators._tokens import escaped


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

"""Markup around texts and in them: SGML of evaluations, XML of Moses' input."""

import html
import re
from collections.abc import Iterable, Iterator

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_OF_MOSES = re.compile(
    r"<(?:/?zone|wall)\s*/?>|<[A-Za-z][\w.-]*\s[^<>]*\b(?:translation|entity)\s*=[^<>]*>"
)
"""Tags that no text has: a given translation, a placeholder, a zone, a wall."""
SGML = re.compile(r"\s*<(?:\?xml|!DOCTYPE|mteval|(?:ref|src|tst)set|doc|seg)\b", re.IGNORECASE)
_SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg\s*>|<doc\b([^>]*)>", re.IGNORECASE | re.DOTALL)
_DOCUMENT = re.compile(r"\bdocid\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)


def without_markup(line: str) -> str:
    """Return a line of a source without its tags, if one of them can only be Moses' markup.

    So it has the words that Moses counts (moses/XmlOption.cpp): a tag separates words and is none.
    """
    if "<" not in line or _OF_MOSES.search(line) is None:
        return line
    return " ".join(_TAG.sub(" ", line).split())


def sgml_segments(lines: Iterable[str]) -> Iterator[str]:
    """Yield the text of each `<seg>` of an SGML file, its entities as characters.

    Raises
    ------
    ValueError
        It has no segment, or a document twice, as where several references are in one file.
    """
    return (text for text, _ in sgml_in_documents(lines))


def sgml_in_documents(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the text of each `<seg>`, and the `docid` of its document; "" outside documents.

    Raises
    ------
    ValueError
        As `sgml_segments`.
    """
    documents: set[str] = set()
    empty, document = True, ""
    for match in _SEGMENT.finditer("\n".join(lines)):
        if match[1] is not None:
            empty = False
            yield " ".join(html.unescape(match[1]).split()), document
        elif name := _DOCUMENT.search(match[2]):
            document = name[1]
            if document in documents:
                raise ValueError(
                    f"document {document} stands twice; write each reference to a file of its own"
                )
            documents.add(document)
    if empty:
        raise ValueError("SGML without a <seg>; expected one for each segment")

"""Reads n-best lists of given texts, or what is said of those that are wrong."""

import pytest

from portmert.metrics._base import Vocabulary
from portmert.tuner.base.errors import InputError
from portmert.tuner.components import registry
from portmert.tuner.nbest.read import read_nbest


def read(folder, name, *texts, **options):
    """Write texts to files `list1`, `list2` and so on, and read these by the reader of a name."""
    paths = []
    for number, text in enumerate(texts, 1):
        path = folder / f"list{number}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        paths.append(path)
    return read_nbest(paths, Vocabulary(), reader=registry.reader(name), **options)


def fails(folder, name, *texts, **options):
    """Return the one line that is said of such lists."""
    with pytest.raises(InputError) as caught:
        read(folder, name, *texts, **options)
    message = str(caught.value).replace(f"{folder}/", "")
    assert "\n" not in message
    return message


def refusals(messages):
    """Return a test that lists are refused; `messages`: reader -> list -> begin of its message."""
    cases = [(name, *case) for name, texts in messages.items() for case in texts.items()]
    ids = [f"{name}-{number}" for number, (name, _, _) in enumerate(cases)]

    @pytest.mark.parametrize(("name", "text", "message"), cases, ids=ids)
    def refused(tmp_path, name, text, message):
        assert fails(tmp_path, name, text).startswith(message)

    return refused

"""Annotates in a process of its own: python -m portmert.tuner.annotation.annotators._worker.

Reads JSON lines: first the module of a backend and its options, then chunks of sentences, each
with the request. Answers each with one JSON line: `["ready"]`, `["annotations", [...]]`,
`["failed", why]` of a chunk, `["error", message]` where the backend cannot work at all.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
from typing import TYPE_CHECKING, Any

from portmert.tuner.annotation.annotators._base import Request
from portmert.tuner.annotation.annotators._wire import pack, unpack_request
from portmert.tuner.ground.errors import AnnotatorError, counted
from portmert.tuner.ground.processes import own_output

if TYPE_CHECKING:
    from portmert.tuner.annotation.annotators._workers import Parse


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    answers = own_output()
    module, options = json.loads(sys.stdin.readline())
    parse, first = _load(module, options)
    _say(answers, first)
    if parse is not None:
        for line in sys.stdin:
            request, sentences = json.loads(line)
            _say(answers, _answer(parse, sentences, unpack_request(request)))


def _load(module: str, options: dict[str, Any]) -> tuple[Parse | None, list[Any]]:
    try:
        return importlib.import_module(module).load(options), ["ready"]
    except AnnotatorError as error:
        return None, ["error", str(error)]
    except Exception as error:  # noqa: BLE001  libraries raise what they like on a bad model
        return None, ["error", f"cannot load the model: {_one_line(error)}"]


def _answer(parse: Parse, sentences: list[list[str]], request: Request) -> list[Any]:
    try:
        found = parse(sentences, request)
    except AnnotatorError as error:
        return ["error", str(error)]
    except Exception as error:  # noqa: BLE001  costs the sentence, not the run
        return ["failed", _one_line(error)]
    if len(found) != len(sentences):
        return [
            "error",
            f"{counted(len(found), 'answer')} to {counted(len(sentences), 'sentence')}",
        ]
    return ["annotations", [pack(annotation) for annotation in found]]


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _say(answers: Any, answer: list[Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()

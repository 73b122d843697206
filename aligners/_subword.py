"""Aligns pieces of words instead of words, and leads back."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from portmert.aligners._base import Links
from portmert.tuner.ground.errors import AlignerError

MODEL = "subword.model"
SEED = 1


class Subwords:
    """Splits one word at a time by a sentencepiece model."""

    def __init__(self, path: Path) -> None:
        import sentencepiece  # noqa: PLC0415  start-up time

        try:
            self._model: Any = sentencepiece.SentencePieceProcessor(model_proto=path.read_bytes())
        except OSError as error:
            raise AlignerError(f"{path}: {error.strerror or error}") from None
        except RuntimeError:
            raise AlignerError(f"{path}: is not a sentencepiece model") from None
        self._pieces: dict[str, list[str]] = {}

    def split(self, words: Sequence[str]) -> tuple[list[str], list[int]]:
        """Return the pieces of a sentence and the index of the word of each; no word has none."""
        pieces: list[str] = []
        owners: list[int] = []
        for index, word in enumerate(words):
            found = self._pieces.get(word)
            if found is None:
                # A character unknown to the model may normalise to nothing: the word stays whole.
                found = self._pieces[word] = self._model.encode(word, out_type=str) or [word]
            pieces.extend(found)
            owners.extend([index] * len(found))
        return pieces, owners


def project(links: Links, source_owners: Sequence[int], target_owners: Sequence[int]) -> Links:
    """Return links of words: two are linked if any of their pieces are."""
    return sorted({(source_owners[s], target_owners[t]) for s, t in links})


def train_subwords(path: Path, lines: Sequence[str], *, vocabulary_size: int) -> None:
    """Train a unigram model on the words of both sides and write it to `path`.

    Deterministic: all lines in their order, one thread, fixed seed.

    Raises
    ------
    AlignerError
        sentencepiece refuses (most often: the vocabulary size does not fit the text).
    """
    import sentencepiece  # noqa: PLC0415  start-up time

    sentencepiece.set_random_generator_seed(SEED)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            vocab_size=vocabulary_size,
            model_type="unigram",
            character_coverage=1.0,
            normalization_rule_name="identity",  # pieces of a word are pieces of this word
            hard_vocab_limit=False,  # a small text has fewer pieces than asked for
            shuffle_input_sentence=False,
            num_threads=1,
            max_sentence_length=1 << 20,
            minloglevel=2,
        )
    except (RuntimeError, ValueError) as error:
        message = " ".join(str(error).split())
        raise AlignerError(
            f"sentencepiece with vocab_size {vocabulary_size}: {message}; choose another size"
        ) from None
    path.write_bytes(model.getvalue())

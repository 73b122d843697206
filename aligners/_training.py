"""The base of trained aligners: their bitext, the folder of their models, pieces of words."""

import hashlib
import io
import json
import shutil
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from annotated_types import Ge
from pydantic.dataclasses import dataclass

from portmert.tuner.base import files, model_folders, programs
from portmert.tuner.base.errors import InputError, ProgramError, StateError, counted, faults_at
from portmert.tuner.base.markup import without_markup

from ._base import Aligner, Links, tokens

Rows = Sequence[Sequence[str]]
"""The tokens of each line."""

FORMAT = 1
"""The format of a saved model. A model of another format is refused, not misread."""

SUBWORDS = "subword.model"
SEED = 1


@dataclass(frozen=True)
class TrainedAligner(Aligner):
    """An aligner that learns from a bitext and keeps its models.

    The aligner is trained on the training bitext together with the pairs of the first call. Every
    later call with the same folder uses the same models. So the links of references and of
    hypotheses can be compared, and a later pair never changes the links of an earlier one.

    Parameters
    ----------
    timeout_seconds : float
        A program that prints nothing for this long is ended with an error. The default is a day;
        0: no limit.
    train_source, train_target : Path or None
        The training bitext, plain or compressed (.gz, .bz2, .xz, .zst). None: train only on the
        pairs to align.
    saved : Path or None
        Folder of the trained models. If it has none, they are trained and kept there. None: keep
        them in the working folder.
    subword : Path or None
        A sentencepiece model. Its pieces of words are aligned; two words are linked if any of
        their pieces are.
    vocab_size : int or None
        Train a sentencepiece model with this many pieces on both sides of the bitext.
    """

    timeout_seconds: Annotated[float, Ge(0)] = programs.PATIENCE_SECONDS
    train_source: Path | None = None
    train_target: Path | None = None
    saved: Path | None = None
    subword: Path | None = None
    vocab_size: Annotated[int, Ge(1)] | None = None

    settings: ClassVar[tuple[str, ...]]
    """The options on which the models depend, besides the bitext."""
    models: ClassVar[str]
    """What the models are, for their record; `{0.model}` stands for the option `model`."""

    def __post_init__(self) -> None:
        if (self.train_source is None) != (self.train_target is None):
            raise ValueError("train_source and train_target go together, one of them is missing")
        if self.subword is not None and self.vocab_size is not None:
            raise ValueError("subword names a model and vocab_size trains one: give one of them")

    def _settings(self) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in self.settings}
        return {"model": self.models.format(self), **options}

    @abstractmethod
    def _train(self, folder: Path, source: Rows, target: Rows) -> Mapping[str, Any]:
        """Fill a folder with models of a bitext; return notes for its record."""

    @abstractmethod
    def _align(self, folder: Path, source: Rows, target: Rows, workdir: Path) -> list[Links]:
        """Align pairs of lines of tokens with the models of a folder."""

    def align(self, *, source: Sequence[str], target: Sequence[str], workdir: Path) -> list[Links]:
        """Align line n of `source` with line n of `target`.

        Raises
        ------
        PortmertError
            A program is missing or fails, the training bitext or a saved model cannot be read or
            does not fit, or a line is longer than the aligner takes.
        ValueError
            `source` and `target` differ in length.
        """
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source lines, {len(target)} target lines")
        folder = self._models(source, target, workdir)
        return self._aligned(folder, source, target, workdir)

    def _aligned(
        self, folder: Path, source: Sequence[str], target: Sequence[str], workdir: Path
    ) -> list[Links]:
        """Align lines, in pieces of words if the folder holds a subword model."""
        rows = [[tokens(line) for line in side] for side in (source, target)]
        if not (folder / SUBWORDS).exists():
            return self._align(folder, rows[0], rows[1], workdir)
        subwords = Subwords(folder / SUBWORDS)
        split = [[subwords.split(row) for row in side] for side in rows]
        pieces = [[pieces for pieces, _ in side] for side in split]
        links = self._align(folder, pieces[0], pieces[1], workdir)
        owners = ([words for _, words in side] for side in split)
        return [project(*row) for row in zip(links, *owners, strict=True)]

    def _models(self, source: Sequence[str], target: Sequence[str], workdir: Path) -> Path:
        """Return the folder of the trained models, after training them if they are not there."""
        settings = {"format": FORMAT, **self._settings()}
        bitext: tuple[Sequence[str], Sequence[str]] = ([], [])
        if self.train_source is not None and self.train_target is not None:
            bitext = read_bitext(self.train_source, self.train_target)
        elif self.saved is not None:
            return _check_saved(self.saved, settings)
        fingerprint = {
            **settings,
            "training bitext": [digest(side) for side in bitext],
            "subword": self._subword_fingerprint(),
        }

        def make(aside: Path) -> Mapping[str, Any]:
            sides = [[*bitext[0], *source], [*bitext[1], *target]]
            rows = [[tokens(line) for line in side] for side in sides]
            if self.subword is not None:
                shutil.copyfile(self.subword, aside / SUBWORDS)
            elif self.vocab_size is not None:
                train_subwords(
                    aside / SUBWORDS,
                    [" ".join(row) for side in rows for row in side],
                    vocabulary_size=self.vocab_size,
                )
            if (aside / SUBWORDS).exists():
                subwords = Subwords(aside / SUBWORDS)
                rows = [[subwords.split(row)[0] for row in side] for side in rows]
            return self._train(aside, rows[0], rows[1])

        folder = self.saved
        if folder is None:
            key = hashlib.blake2b(json.dumps(fingerprint).encode(), digest_size=6).hexdigest()
            folder = workdir / f"{self._folder_name()}-{key}"
        model_folders.make_folder(folder, fingerprint, make)
        return folder

    def _folder_name(self) -> str:
        """Return what the name of a folder of models begins with."""
        return self.name()

    def _subword_fingerprint(self) -> str | int | None:
        if self.subword is None:
            return self.vocab_size
        with faults_at(self.subword, OSError, InputError):
            return hashlib.blake2b(self.subword.read_bytes(), digest_size=16).hexdigest()


def _check_saved(folder: Path, settings: Mapping[str, Any]) -> Path:
    record = model_folders.read_record(folder)
    if record is None:
        raise StateError(
            f"{folder}: no trained model there; name a training bitext to make one (train_source "
            f"and train_target), or name no model: then the pairs to align are trained on"
        )
    fingerprint = record["fingerprint"]
    if fingerprint.get("model") != settings["model"]:
        raise StateError(
            f"{folder}: holds a model {fingerprint.get('model')}, but {settings['model']} is "
            f"asked for"
        )
    if fingerprint.get("format") != settings["format"]:
        raise StateError(
            f"{folder}: holds a model of format {fingerprint.get('format')}, this version reads "
            f"{settings['format']}; train it again"
        )
    return folder


def usable(
    name: str, source: Rows, target: Rows, *, most: int | None = None, ratio: int | None = None
) -> tuple[list[int], dict[str, int]]:
    """Return which pairs an aligner can learn from, and notes on how many those are.

    Parameters
    ----------
    name
        The name of the aligner, for messages.
    most
        The most tokens of a side; None: any number.
    ratio
        The most tokens of a side for each of the other.

    Raises
    ------
    InputError
        There is none.
    """
    lengths = [(len(s), len(t)) for s, t in zip(source, target, strict=True)]
    used = [
        row
        for row, (s, t) in enumerate(lengths)
        if min(s, t) > 0 and max(s, t) <= min(most or s + t, (ratio or s + t) * min(s, t))
    ]
    if not used:
        size = f"none with 1 to {most} tokens on both sides" if most else "all with an empty side"
        times = f" and at most {ratio} times as many on one as on the other" if ratio else ""
        pairs = counted(len(source), "pair")
        raise InputError(f"{name}: no pair to train on: {pairs}, {size}{times}")
    return used, {"pairs": len(used), "pairs_left_out": len(source) - len(used)}


def check_lengths(source: Rows, target: Rows, *, most: int, program: str) -> None:
    """Refuse a line that a program would cut off in silence.

    Raises
    ------
    InputError
        A line has more than `most` tokens; says which pair, counted from 1.
    """
    for number, (s, t) in enumerate(zip(source, target, strict=True), 1):
        if max(len(s), len(t)) > most:
            raise InputError(
                f"pair {number}: {len(s)} and {len(t)} tokens, {program} takes at most {most}; "
                f"split the line, or choose another aligner"
            )


# The bitext.


def read_bitext(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Return the lines of both sides.

    Raises
    ------
    InputError
        A side cannot be read, or the sides differ in length.
    """
    left, right = [*map(without_markup, files.read_lines(source))], files.read_lines(target)
    if len(left) != len(right):
        raise InputError(
            f"{target}: {counted(len(right), 'line')}, {source} has {len(left)}; line n of one "
            f"must be the translation of line n of the other"
        )
    return left, right


def digest(lines: Sequence[str]) -> str:
    """Return a hash of a text, 32 hexadecimal digits."""
    content = hashlib.blake2b(digest_size=16)
    for line in lines:
        content.update(line.encode("utf-8"))
        content.update(b"\n")
    return content.hexdigest()


# Pieces of words.


class Subwords:
    """A sentencepiece model that splits one word at a time."""

    def __init__(self, path: Path) -> None:
        import sentencepiece  # noqa: PLC0415  start-up time

        try:
            with faults_at(path, OSError, InputError):
                content = path.read_bytes()
            self._model: Any = sentencepiece.SentencePieceProcessor(model_proto=content)
        except RuntimeError:
            raise InputError(f"{path}: is not a sentencepiece model") from None
        self._pieces: dict[str, list[str]] = {}

    def split(self, words: Sequence[str]) -> tuple[list[str], list[int]]:
        """Return the pieces of a sentence and, for each piece, the index of its word."""
        pieces: list[str] = []
        owners: list[int] = []
        for index, word in enumerate(words):
            word_pieces = self._pieces.get(word)
            if word_pieces is None:
                # A character unknown to the model may normalise to nothing: the word stays whole.
                word_pieces = self._pieces[word] = self._model.encode(word, out_type=str) or [word]
            pieces.extend(word_pieces)
            owners.extend([index] * len(word_pieces))
        return pieces, owners


def project(links: Links, source_owners: Sequence[int], target_owners: Sequence[int]) -> Links:
    """Return links of words: two words are linked if any of their pieces are."""
    return sorted({(source_owners[s], target_owners[t]) for s, t in links})


def train_subwords(path: Path, lines: Sequence[str], *, vocabulary_size: int) -> None:
    """Train a unigram model on the words of both sides and write it to `path`.

    Training is deterministic: all lines in their order, one thread, a fixed seed.

    Raises
    ------
    ProgramError
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
            normalization_rule_name="identity",  # the pieces of a word are parts of this word
            hard_vocab_limit=False,  # a small text has fewer pieces than asked for
            shuffle_input_sentence=False,
            num_threads=1,
            max_sentence_length=1 << 20,
            minloglevel=2,
        )
    except (RuntimeError, ValueError) as error:
        message = " ".join(str(error).split())
        raise ProgramError(
            f"sentencepiece with vocab_size {vocabulary_size}: {message}; choose another size"
        ) from None
    path.write_bytes(model.getvalue())

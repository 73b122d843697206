"""Holds what trained aligners share: their bitext, the folder of their models, pieces of words."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from portmert.aligners._base import Aligner, Links, tokens
from portmert.aligners._bitext import digest, read_bitext
from portmert.aligners._subword import MODEL, Subwords, project, train_subwords
from portmert.tuner.ground.errors import AlignerError
from portmert.tuner.ground.model_folders import make_folder, read_record

Rows = Sequence[Sequence[str]]
"""The tokens of each line."""

Train = Callable[[Path, Rows, Rows], Mapping[str, Any]]
"""Fill a folder with models of a bitext; return notes for its record."""

Align = Callable[[Rows, Rows], list[Links]]
"""Align pairs of lines of tokens."""


@dataclass(frozen=True)
class Training:
    """Says where the models of an aligner come from and where they are kept.

    Parameters
    ----------
    train_source, train_target, saved, subword, vocab_size
        As in the aligners that have these options.
    """

    train_source: Path | None
    train_target: Path | None
    saved: Path | None
    subword: Path | None
    vocab_size: int | None

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises
        ------
        ValueError
            An option does not go with another.
        """
        if (self.train_source is None) != (self.train_target is None):
            raise ValueError("train_source and train_target go together, one of them is missing")
        if self.subword is not None and self.vocab_size is not None:
            raise ValueError("subword names a model and vocab_size trains one: give one of them")

    def folder(
        self,
        name: str,
        settings: Mapping[str, Any],
        train: Train,
        *,
        source: Sequence[str],
        target: Sequence[str],
        workdir: Path,
    ) -> Path:
        """Return the folder of the trained models, after training them if they are not there.

        Parameters
        ----------
        name
            Begins the name of a folder made in `workdir`.
        settings
            All that the models depend on besides the bitext; `model` says what they are, and
            must be that of models found in `saved` without a bitext.
        train
            Gets the training bitext and, after it, the pairs of `source` and `target`.

        Raises
        ------
        AlignerError
            The bitext or a saved model cannot be read or does not fit, or training failed.
        ValueError
            `source` and `target` differ in length.
        """
        if len(source) != len(target):
            raise ValueError(f"{len(source)} source lines, {len(target)} target lines")
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
                shutil.copyfile(self.subword, aside / MODEL)
            elif self.vocab_size is not None:
                train_subwords(
                    aside / MODEL,
                    [" ".join(row) for side in rows for row in side],
                    vocabulary_size=self.vocab_size,
                )
            if (aside / MODEL).exists():
                subwords = Subwords(aside / MODEL)
                rows = [[subwords.split(row)[0] for row in side] for side in rows]
            return train(aside, rows[0], rows[1])

        if self.saved is not None:
            folder = self.saved
        else:
            key = hashlib.blake2b(json.dumps(fingerprint).encode(), digest_size=6).hexdigest()
            folder = workdir / f"{name}-{key}"
        make_folder(folder, fingerprint, make)
        return folder

    def _subword_fingerprint(self) -> str | int | None:
        if self.subword is None:
            return self.vocab_size
        try:
            return hashlib.blake2b(self.subword.read_bytes(), digest_size=16).hexdigest()
        except OSError as error:
            raise AlignerError(f"{self.subword}: {error.strerror or error}") from None


def training_of(aligner: Aligner) -> Training:
    """Return the options of training that an aligner was given."""
    return Training(*(getattr(aligner, field.name) for field in fields(Training)))


def align_with(
    folder: Path, source: Sequence[str], target: Sequence[str], align: Align
) -> list[Links]:
    """Align lines with the models of `folder`: in pieces of words if it holds a subword model."""
    rows = [[tokens(line) for line in side] for side in (source, target)]
    if not (folder / MODEL).exists():
        return align(rows[0], rows[1])
    subwords = Subwords(folder / MODEL)
    split = [[subwords.split(row) for row in side] for side in rows]
    links = align(*([pieces for pieces, _ in side] for side in split))
    owners = ([words for _, words in side] for side in split)
    return [project(*row) for row in zip(links, *owners, strict=True)]


def align_full(source: Rows, target: Rows, align: Align) -> list[Links]:
    """Call `align` with the pairs that have tokens on both sides; the others have no links."""
    full = [index for index, (s, t) in enumerate(zip(source, target, strict=True)) if s and t]
    found: list[Links] = [[] for _ in source]
    if full:
        links = align([source[index] for index in full], [target[index] for index in full])
        for index, row in zip(full, links, strict=True):
            found[index] = row
    return found


def check_lengths(source: Rows, target: Rows, *, limit: int, program: str) -> None:
    """Refuse a line that a program would cut off in silence.

    Raises
    ------
    AlignerError
        A line has more than `limit` tokens; says which pair, counted from 1.
    """
    for number, (s, t) in enumerate(zip(source, target, strict=True), 1):
        if max(len(s), len(t)) > limit:
            raise AlignerError(
                f"pair {number}: {len(s)} and {len(t)} tokens, {program} takes at most {limit}; "
                f"split the line, or choose another aligner"
            )


def _check_saved(folder: Path, settings: Mapping[str, Any]) -> Path:
    record = read_record(folder)
    if record is None:
        raise AlignerError(
            f"{folder}: no trained model there; name a training bitext to make one (train_source "
            f"and train_target), or name no model: then the pairs to align are trained on"
        )
    fingerprint = record["fingerprint"]
    if fingerprint.get("model") != settings["model"]:
        raise AlignerError(
            f"{folder}: holds a model {fingerprint.get('model')}, but {settings['model']} is "
            f"asked for"
        )
    if fingerprint.get("format") != settings["format"]:
        raise AlignerError(
            f"{folder}: holds a model of format {fingerprint.get('format')}, this version reads "
            f"{settings['format']}; train it again"
        )
    return folder

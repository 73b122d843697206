"""Links of source and target for metrics that need them; they are made once and kept.

Links of references are read from files, or made by the aligner and written beside the run. Links
of hypotheses come from the n-best list if the decoder gives them. Else the aligner makes them, in
one batch for all new pairs, and they are kept by (source, hypothesis).

The model of the aligner is trained before the first hypothesis is aligned: on its own training
bitext and the pairs of the dev set, never on hypotheses. So the links of a pair depend neither on
the pairs that were aligned before it, nor on the place where a run was interrupted.
"""

import hashlib
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from portmert.aligners._base import Aligner, Links, format_links, tokens
from portmert.metrics._base import IntArray, Ragged, Texts

from ..base.errors import InputError, StateError, counted
from ..base.files import TextFile, read_lines, write_text
from ..base.markup import without_markup
from ..base.warn import notice
from .corpus import References
from .joining import joined

Pairs = list[tuple[str, str]]

DATABASE = "links.sqlite3"


@contextmanager
def linking(
    aligner: Aligner | None, source: TextFile | None, references: Sequence[TextFile]
) -> Iterator["Linker | None"]:
    """Yield what links the texts of a test set and keeps nothing; None without an aligner."""
    if aligner is None:
        yield None
        return
    if source is None:
        raise InputError("word alignments need the source text; give --source")
    with tempfile.TemporaryDirectory() as folder:
        yield Linker(aligner, Path(folder), source, tuple(references), "test")


def links_made(
    linker: "Linker | None", texts: Texts, outputs: int, references: References
) -> Texts:
    """Return texts, `outputs` for each segment, with links if there is a linker."""
    if linker is None or references.source is None:
        return texts
    offsets = np.arange(len(references) + 1, dtype=np.int64) * outputs
    return linker.hypothesis_links(texts, offsets=offsets, sources=references.source)


@dataclass(frozen=True, eq=False)
class Linker:
    """Links made by one aligner and kept in one folder.

    Parameters
    ----------
    aligner
        None if all links are given; other links are then an `InputError`.
    folder
        The folder of the aligner's model and of the links of references and hypotheses.
    source, references
        The dev set: the aligner is trained on these pairs, besides its own bitext.
    name
        The name of these texts in notices and file names.
    """

    aligner: Aligner | None
    folder: Path
    source: TextFile
    references: tuple[TextFile, ...]
    name: str = "dev"

    def dev_links(self) -> tuple[Path, ...]:
        """Return files of links between the dev set's source and each reference, made once."""
        return self.reference_links(self.name, self.source, self.references)

    def _train(self) -> None:
        """Align the dev set first, which trains the aligner, whatever else is given."""
        if self.aligner is not None:
            self.dev_links()

    def reference_links(
        self, name: str, source: TextFile, references: Sequence[TextFile]
    ) -> tuple[Path, ...]:
        """Return files of links between a set's source and each reference, made once."""
        if name != self.name:  # not the dev set, which trains the model first
            self._train()
        files = tuple(
            self.folder / f"{name}-{number}.links" for number in range(1, len(references) + 1)
        )
        if all(file.is_file() for file in files):
            return files
        in_order, _, _ = joined([*references, source])
        *texts, sources = map(read_lines, in_order)
        for path, lines in zip(references, texts, strict=True):
            if len(lines) != len(sources):
                raise InputError(
                    f"{path}: {counted(len(lines), 'line')}, {source} has {len(sources)}; they "
                    f"must be translations line by line"
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        notice(f"aligning the {name} references")
        links = self._align([pair for lines in texts for pair in zip(sources, lines, strict=True)])
        for number, file in enumerate(files):
            rows = links[number * len(sources) : (number + 1) * len(sources)]
            write_text(file, "".join(format_links(row) + "\n" for row in rows))
        return files

    def hypothesis_links(
        self, texts: Texts, *, offsets: IntArray, sources: Sequence[str]
    ) -> Texts:
        """Return `texts` with links; unchanged if they have links.

        Parameters
        ----------
        texts : Texts
            H hypotheses; those of segment s are `offsets[s]:offsets[s + 1]`.
        sources
            S lines of tokens.
        """
        if texts.links is not None:
            return texts
        segments = np.repeat(np.arange(len(sources)), np.diff(offsets)).tolist()
        pairs = [
            (sources[segment], " ".join(texts.words(row))) for row, segment in enumerate(segments)
        ]
        self._train()
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / DATABASE
        keys = [  # no text holds a line end
            hashlib.blake2b("\n".join(pair).encode(), digest_size=20).digest() for pair in pairs
        ]
        pair_of_key = dict(zip(keys, pairs, strict=True))  # distinct, in order of arrival
        try:
            with closing(sqlite3.connect(path)) as database:
                links_of_key = self._from_database(database, pair_of_key)
        except sqlite3.Error as error:
            raise StateError(f"{path}: {error}; delete the file, it is made again") from None
        return replace(texts, links=Ragged.from_rows([links_of_key[key] for key in keys], 2))

    def _from_database(
        self, database: sqlite3.Connection, pair_of_key: dict[bytes, tuple[str, str]]
    ) -> dict[bytes, Links]:
        database.execute(
            "CREATE TABLE IF NOT EXISTS links (pair BLOB PRIMARY KEY, links BLOB NOT NULL) "
            "WITHOUT ROWID"
        )
        links = {}
        for key in pair_of_key:
            row = database.execute("SELECT links FROM links WHERE pair = ?", (key,)).fetchone()
            if row is not None:
                packed = np.frombuffer(row[0], dtype="<i4").reshape(-1, 2)
                links[key] = [(int(i), int(j)) for i, j in packed]
        missing = [key for key in pair_of_key if key not in links]
        if missing:
            notice(f"aligning {counted(len(missing), 'new hypothesis')}")
            new_links = self._align([pair_of_key[key] for key in missing])
            links.update(zip(missing, new_links, strict=True))
            rows = [(key, np.asarray(links[key], dtype="<i4").tobytes()) for key in missing]
            # A transaction is on disk whole or not at all, whenever the process dies.
            with database:
                database.executemany("INSERT INTO links VALUES (?, ?)", rows)
        return links

    def _align(self, pairs: Pairs) -> list[Links]:
        """Align pairs. A pair with an empty side has no links and does not reach the aligner."""
        if self.aligner is None:
            raise InputError(
                "the n-best list has no word alignment and there is no [aligner]; "
                "let the decoder print it, or name an aligner"
            )
        pairs = [(without_markup(source), target) for source, target in pairs]
        full = [index for index, pair in enumerate(pairs) if all(tokens(side) for side in pair)]
        workdir = self.folder / "aligner"
        workdir.mkdir(parents=True, exist_ok=True)
        aligned = self.aligner.align(
            source=[pairs[index][0] for index in full],
            target=[pairs[index][1] for index in full],
            workdir=workdir,
        )
        links: list[Links] = [[] for _ in pairs]
        for index, row in zip(full, aligned, strict=True):
            links[index] = row
        return links

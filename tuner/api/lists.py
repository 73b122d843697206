"""N-best lists, their references and their text steps, in one object: `Lists`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from portmert.metrics._base import Metric, Vocabulary

from ..base.arguments import checked
from ..base.columns import in_natural_order, unordered
from ..base.errors import ConfigError, InputError
from ..base.files import called
from ..base.frames import Frame
from ..base.options import file_key
from ..base.warn import Warnings, collected_warnings, notices_behind
from ..components import registry
from ..components.external import Outcome, scores_in, with_outcomes
from ..components.features import Feature, with_features
from ..families import names, provided
from ..nbest import check, systems
from ..nbest import read as files
from ..nbest.array_lists import lists_of_arrays
from ..nbest.findings import column_findings, direction_finding
from ..nbest.frame_lists import FrameColumns, lists_of_frame
from ..nbest.list_source import ListSource
from ..nbest.missing import MISSING, Missing, settled
from ..nbest.model import NBest, columns_added, segments_taken
from ..nbest.readers._base import Reader
from ..nbest.readers._json import JsonReader, plain_record, records_file
from ..nbest.records import Hypothesis, ListFile, SegmentNames, read_list
from ..texts import corpus, prepare, text_pipeline
from ..texts.annotator import Annotator
from ..texts.corpus import References
from ..texts.joining import read_by_id
from ..weights.feature_weights import FeatureWeights, value_labels
from . import texts
from .segments import ids_in_lines, matched
from .texts import PathLike, TextLike, text_file, text_files


class ReadOptions(TypedDict, total=False):
    """The options of `Lists.read` and the other constructors; `Lists` explains them."""

    refs: Sequence[TextLike] | PathLike
    source: TextLike | None
    ref_links: Sequence[TextLike] | PathLike
    ids: bool
    missing: Missing | None
    format: str | Reader
    systems: Sequence[str]
    features: Sequence[str]
    text: str | Sequence[str] | text_pipeline.TextPipeline
    text_model: PathLike | None
    annotator: str | Annotator | None
    annotation_cache: PathLike | None


class Original(NamedTuple):
    """A hypothesis as its JSON has it.

    Parameters
    ----------
    text
        With line ends, tabs and indentation.
    record
        Its own JSON object; None in formats where it has none.
    """

    text: str
    record: dict[str, Any] | None


@dataclass(frozen=True, eq=False, repr=False)
class Lists:
    r"""N-best lists with their references and text steps.

    Make one with `Lists.read`, `Lists.from_graphs`, `Lists.from_records`, `Lists.from_frame`,
    `Lists.from_arrays` or `Lists.read_dat`, and pass it to `optimize`, `crossval`, `rerank` and
    so on.

    Parameters
    ----------
    paths : FILE|DIR
        N-best list to merge with the others. If two lists have the same hypothesis, the one in the
        earlier list is kept.
    refs
        Reference translations: FILE, FILE.jsonl#KEY or FILE.tsv#COLUMN; in Python also lines.
    source
        Source text: FILE, FILE.jsonl#KEY or FILE.tsv#COLUMN; in Python a list of lines too. Word
        alignments and some metrics and features need it; a step src:STEP of `text` changes what
        metrics read.
    ref_links
        Word alignment of source and reference, lines as 0-0 1-2; one for each of `refs`, in the
        same order.
    ids
        Each line of the references, the source and the word alignments begins with the id of its
        segment, as in Kaldi's text files. Columns with ids, FILE.jsonl#KEY, need no option.
        Default: line n belongs to segment n of the lists, whose ids must be in order.
    missing
        Treatment of hypotheses that lack a text, a feature or an outcome: an `error`, `drop` them,
        leave out their whole `segment`, or `impute` the mean of the segment. A feature
        NAME.missing is then 1 there; without a text or an outcome they are dropped. By all but the
        first, segments without an answer in the lists, the references or the source are left out.
        A warning counts all this. Default: the rule of the weights, else error.
    format : NAME[:OPTION=VALUE,...]
        Format of the lists; auto guesses it from the content. `portmert components reader`
        explains the formats and their options.
    systems : NAME,NAME,...
        Names of the systems that made the lists, in their order, for lists with different
        features. Features are then called SYSTEM.FEATURE, and are 0 for hypotheses that the system
        did not find. The feature SYSTEM is 1 for its own. Equal texts are one hypothesis.
    features : NAME=FILE|NAME=METRIC@FILE|length|ratio|mbr:METRIC
        Add a feature. NAME=FILE has one number for each hypothesis in the order of the list (text,
        .gz or .npy; for several lists one file each, separated by commas), or lines such as
        utt-2 -1.5 by segment and number. NAME=FILE.jsonl#KEY and NAME=FILE.tsv#COLUMN are joined
        by id and index where they have them. -NAME=FILE negates numbers of which lower is better.
        NAME=chrf@FILE is the score against another system's output. Names with , @ or # are
        written in quotes. length is the number of tokens, ratio the length divided by the
        source's, mbr:chrf the mean score against all hypotheses of the segment.
    text : STEP,...
        Change the texts before scoring by these steps, in their order. hyp:STEP or ref:STEP
        changes one side only, src:STEP the source that metrics read. Steps: lowercase, nfc, nfd,
        nfkc, nfkd, unescape, plain-punct, no-punct, no-brackets, contractions, drop=WORD+WORD,
        debpe, spm-decode, spm-encode, and sacrebleu's tokenisers 13a, intl, char, zh, ja-mecab,
        ko-mecab, flores101, flores200, spBLEU-1K.
    text_model : FILE
        Sentencepiece model for the spm and flores steps.
    annotator : NAME[:OPTION=VALUE,...]
        Tagger or parser, for example udpipe:model=FILE. Metrics that compare syntax or meaning
        need one.
    annotation_cache : DIR
        Folder of the cache of tags and parses. Default: $PORTMERT_CACHE or the user's cache.

    Examples
    --------
    >>> import portmert
    >>> records = [
    ...     {"id": 0, "text": "a b", "features": {"LM": -2.0, "TM": -1.0}},
    ...     {"id": 0, "text": "b a", "features": {"LM": -1.0, "TM": -3.0}},
    ... ]
    >>> lists = portmert.Lists.from_records(records, refs=[["a b"]])
    >>> lists
    Lists(segments=1, hypotheses=2, features=LM TM, references=1)
    >>> lists.nbest.features.shape
    (2, 2)
    >>> portmert.optimize(lists, "bleu:max_order=1").score
    1.0
    """

    paths: tuple[PathLike, ...] = ()
    refs: Sequence[TextLike] | PathLike = ()
    source: TextLike | None = None
    ref_links: Sequence[TextLike] | PathLike = ()
    ids: bool = False
    missing: Literal["error", "drop", "segment", "impute"] | None = None
    format: str | Reader = "auto"
    systems: Sequence[str] = ()
    features: Sequence[str] = ()
    text: str | Sequence[str] | text_pipeline.TextPipeline = ""
    text_model: PathLike | None = None
    annotator: str | Annotator | None = None
    annotation_cache: PathLike | None = None
    in_memory: NBest | ListFile | ListSource | None = field(default=None, kw_only=True)
    origin: Lists | None = field(default=None, kw_only=True)
    columns: FrameColumns | None = field(default=None, kw_only=True)
    wanted: tuple[str, ...] | None = field(default=None, kw_only=True)

    @classmethod
    @checked
    def read(cls, paths: PathLike | Sequence[PathLike], **options: Unpack[ReadOptions]) -> Lists:
        """Read files and merge them; of equal hypotheses of a segment the first is kept.

        Parameters
        ----------
        paths
            One or more files: plain, .gz, .bz2, .xz or .zst; `-` is stdin.
        **options
            References, text steps and so on, see `Lists`.

        Raises
        ------
        PortmertError
            A file is wrong, or the files do not fit together; the message says where.
        """
        lists = cls((paths,) if isinstance(paths, Path | str) else tuple(paths), **options)
        _ = lists.nbest
        return lists

    @classmethod
    @checked
    def from_records(cls, records: Iterable[Any] | Any, **options: Unpack[ReadOptions]) -> Lists:
        r"""Take hypotheses from dicts, JSON texts or a data frame.

        A text may have several lines; `rerank` returns it unchanged.

        Parameters
        ----------
        records
            A record is what a line of a JSON file would be: a hypothesis, or a segment with a list
            of its hypotheses. A data frame of pandas or polars has a row for each hypothesis.
        **options
            See `Lists`. `format` names the keys, as `"jsonl:id=n,text=answer,features=LM+TM"`. The
            default keys are `id`, `text` and `features`.

        Examples
        --------
        >>> import portmert
        >>> records = [
        ...     {"id": 0, "text": "if a:\n    b", "features": {"LM": -2.0}},
        ...     {"id": 0, "text": "a b", "features": {"LM": -1.0}},
        ... ]
        >>> lists = portmert.Lists.from_records(records)
        >>> portmert.rerank(lists, {"LM": -1.0}).given
        ('if a:\n    b',)
        """
        return cls(in_memory=records_file(records), **options)

    @classmethod
    @checked
    def from_frame(
        cls,
        frame: Any,
        *,
        segment: str,
        features: Sequence[str],
        outcomes: Sequence[str] = (),
        index: str | None = None,
        text: str | None = None,
        missing: Missing = "error",
        refs: Sequence[TextLike] | PathLike = (),
    ) -> Lists:
        """Take hypotheses from a data frame with a row for each, by the names of its columns.

        Parameters
        ----------
        frame
            A data frame of pandas, polars or Arrow, or a dict of columns.
        segment
            Ids of segments: texts or whole numbers.
        features
            Numbers; `-NAME` is the column NAME negated, for numbers where less is better.
        outcomes
            What is known of each hypothesis, such as right or wrong; their names are metrics of
            these lists, with a hyphen before it if less is better: `optimize(lists, "-err")`.
        index
            Numbers of hypotheses in their segments, from 0 or 1. Default: the order of the rows.
        text
            Texts of hypotheses, which metrics of texts need. Default: none.
        missing
            What happens where a value is missing: an `"error"`; `"drop"` the hypothesis; leave out
            its `"segment"`; `"impute"` the mean of the segment, with a feature NAME.missing that
            is 1 there. Outcomes and texts are never imputed: such hypotheses are left out.
        refs
            The references, in the order in which segments come first, or with ids.

        Raises
        ------
        InputError
            A column is not there, or a value is not what it must be; says which column and row.

        Examples
        --------
        >>> import portmert
        >>> frame = {"q": ["a", "a", "b", "b"], "judge": [1, 2, 2, 1], "right": [0, 1, 1, 0]}
        >>> lists = portmert.Lists.from_frame(
        ...     frame, segment="q", features=["judge"], outcomes=["right"]
        ... )
        >>> portmert.optimize(lists, "right").score
        1.0
        """
        read = Frame.of(frame)
        columns = FrameColumns(segment, tuple(features), index, text, missing, read.library)
        with collected_warnings() as said:
            nbest = lists_of_frame(read, columns, tuple(outcomes))
        lists = cls(in_memory=nbest, refs=refs, missing=missing, columns=columns)
        lists.said.update(said)
        return lists

    @classmethod
    @checked
    def from_arrays(
        cls,
        features: ArrayLike,
        offsets: ArrayLike | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        scores: ArrayLike | None = None,
        stats: ArrayLike | None = None,
        missing: Missing = "error",
    ) -> Lists:
        """Take features, and a score or statistics of each hypothesis, from arrays.

        Parameters
        ----------
        features : (S, N, F), or (H, F) with offsets
            The features: S segments with N hypotheses each, or H hypotheses in all.
        offsets : (S + 1,), optional
            Hypotheses of segment s are rows `offsets[s]:offsets[s + 1]`.
        feature_names
            Names of the F features. Default: f0, f1 and so on.
        ids
            The ids of the S segments, by which scores in files are joined. Default: 0, 1, ...
        scores : (S, N), or (H,) with offsets
            A score of each hypothesis. `optimize` then maximises the mean over segments.
        stats : (S, N, K), or (H, K) with offsets
            The sufficient statistics of each hypothesis, as `metric.stats(batch)` returns them.
            `optimize` then needs the metric.
        missing
            What happens where a value is missing, which NaN stands for; see `Lists`.

        Raises
        ------
        ValueError
            Shapes do not fit together, or values are no finite numbers.

        Examples
        --------
        >>> import numpy as np, portmert
        >>> features = np.array([[[1.0, 0.0], [0.0, 2.0]], [[2.0, 0.0], [0.0, 1.0]]])
        >>> lists = portmert.Lists.from_arrays(features, scores=[[0.1, 0.9], [0.2, 0.8]])
        >>> round(portmert.optimize(lists, optimizer="mert").score, 4)
        0.85
        """
        may_lack = missing != "error"
        nbest = lists_of_arrays(
            features, offsets, feature_names, scores, stats, ids, may_lack=may_lack
        )
        return cls(in_memory=nbest, missing=missing)

    @classmethod
    @checked
    def read_dat(
        cls,
        features_dat: Sequence[PathLike],
        scores_dat: Sequence[PathLike],
        *,
        missing: Literal["error", "drop", "segment", "impute"] = "error",
    ) -> Lists:
        """Read Moses' features.dat files, and a scores.dat file for each of them.

        Parameters
        ----------
        features_dat : FILE
            Moses' features.dat.
        scores_dat : FILE
            Moses' scores.dat, one for each features.dat.
        missing
            What becomes of hypotheses with nan for a number: an `error`; `drop` them; leave out
            their whole `segment`; or `impute` a feature, as in lists.
        """
        read = provided("portmert.counted_lists", "moses-dat")
        files = list(map(Path, features_dat)), list(map(Path, scores_dat))
        return cls(in_memory=read(*files, may_lack=missing != "error"), missing=missing)

    @classmethod
    @checked
    def from_graphs(
        cls,
        graphs: PathLike | Sequence[PathLike],
        weights: PathLike | Mapping[str, float | Sequence[float]] | FeatureWeights | None = None,
        *,
        size: int = 100,
        around: bool = False,
        graph_format: str = "auto",
        **options: Unpack[ReadOptions],
    ) -> Lists:
        """Take the best distinct strings of search graphs.

        Parameters
        ----------
        graphs : FILE|DIR
            Search graphs in place of lists: a file with all segments, a folder with a file for
            each, or an archive, with the id of a segment above its graph.
        weights
            The weights under which strings are best. Default: 1, of words 0, or as in the graphs.
        size
            Number of strings of each segment.
        around
            Add half as many under each of eight random weights around, and let a search add those
            under the weights that it finds, and search once more.
        graph_format : NAME[:OPTION=VALUE,...]
            Format of the search graphs; auto guesses it from the content. `portmert components
            graph-reader` explains the formats and their options.
        **options
            References, text steps and so on, see `Lists`.

        Examples
        --------
        >>> import pathlib, portmert, tempfile
        >>> lattice = pathlib.Path(tempfile.mkdtemp(), "lattice")
        >>> _ = lattice.write_text("((('a',-1.0,1),('b',-2.0,1),),(('c',0.0,1),),)")
        >>> lists = portmert.Lists.from_graphs(lattice, {"LatticeCost": 1.0})
        >>> portmert.rerank(lists, {"LatticeCost": -1.0}).lines
        ('b c',)
        """
        paths = (graphs,) if isinstance(graphs, Path | str) else tuple(graphs)
        source = provided("portmert.list_sources", "graphs").of(
            paths, weights, size=size, around=around, graph_format=graph_format
        )
        return cls(in_memory=source, **options)

    @property
    def strings(self) -> ListSource | None:
        """What lists of search graphs are made of; None for other lists."""
        return self.in_memory if isinstance(self.in_memory, ListSource) else None

    def under(self, weights: Iterable[FeatureWeights]) -> Lists:
        """Return lists of search graphs with the best strings under more weights; others as is."""
        if self.strings is None:
            return self
        return replace(self, in_memory=self.strings.under(weights))

    @checked
    def with_feature(
        self, feature: str, values: ArrayLike | Callable[[str], float] | None = None
    ) -> Lists:
        """Return the lists with one more feature.

        Parameters
        ----------
        feature
            A feature written as in `features` of `Lists`; with `values`, only its name.
        values : (H,) or function, optional
            The value of the feature for each row of `nbest`; or a function that takes the text of
            a hypothesis, as it was given, and returns it.
        """
        nbest = self.nbest
        if values is None:
            nbest = self._with_features(nbest, [feature])
            changes: dict[str, Any] = {"features": (*self.features, feature)}
        else:
            if callable(values):
                values = [float(values(text)) for text in self.given]
            column = np.asarray(values, dtype=np.float64)
            if column.shape != (len(nbest.features),) or not np.isfinite(column).all():
                raise ValueError(
                    f"feature {feature}: values of shape {column.shape}; expected "
                    f"({len(nbest.features)},) finite values, one for each hypothesis"
                )
            if feature in dict(nbest.feature_names):
                raise ValueError(f"the lists have a feature {feature} already")
            nbest = columns_added(nbest, {feature: column})
            changes = {"paths": (), "in_memory": nbest}
        return self._with(nbest, **changes)

    def like(self, dev_lists: Lists) -> Lists:
        """Return these lists of a test set with the text steps of the lists tuned on.

        They also get the annotator, and the features that need no file.

        Raises
        ------
        ConfigError
            These lists have text steps or an annotator, which differ from those of the others.
        """
        for name in ("text", "text_model", "annotator"):
            own_value, dev_value = getattr(self, name), getattr(dev_lists, name)
            if own_value and own_value != dev_value:
                raise ConfigError(
                    f"the lists of the test set: {name} is {own_value!r}, that of the lists tuned "
                    f"on is {dev_value!r}; give both the same"
                )
        computed = [feature for feature in dev_lists.features if not Feature.parse(feature).files]
        names = ("text", "text_model", "annotator", "annotation_cache")
        inherited = {name: getattr(dev_lists, name) for name in names}
        inherited["systems"] = self.systems or dev_lists.systems
        inherited["features"] = tuple(dict.fromkeys([*self.features, *computed]))
        inherited["missing"] = self.missing or dev_lists.missing
        if inherited["missing"] not in (None, "error"):
            labels = value_labels(dev_lists.nbest.feature_names)
            inherited["wanted"] = tuple(name for name in labels if name.endswith(MISSING))
        is_like = all(getattr(self, name) == value for name, value in inherited.items())
        return self if is_like else replace(self, **inherited)

    def __len__(self) -> int:
        return len(self.nbest)

    def __repr__(self) -> str:
        refs = text_files(self.refs, "references")
        return f"Lists({self.nbest.described}, references={len(refs)})"

    @property
    def references(self) -> References | None:
        """The references in the order of the lists, before any text step."""
        return self.nbest.beside if self.refs else None

    @property
    def source_lines(self) -> tuple[str, ...] | None:
        """The source text in the order of the lists."""
        return None if self.nbest.beside is None else self.nbest.beside.source

    @property
    def is_joined(self) -> bool:
        """Whether the texts are not those of whole files.

        They are columns, were joined by ids, or segments may have been left out.
        """
        sides = [*text_files(self.refs, "references"), *([self.source] if self.source else [])]
        has_columns = any(file_key(side)[1] for side in sides if isinstance(side, Path | str))
        is_cut = self.is_in_memory or self.may_lack or has_columns
        return is_cut or (self.nbest.beside is not None and self.nbest.beside.ids is not None)

    @property
    def may_lack(self) -> bool:
        """Whether values may be missing."""
        return self.missing not in (None, "error")

    @property
    def is_in_memory(self) -> bool:
        """Whether the lists were made of records, arrays or frames."""
        return self.in_memory is not None and self.strings is None

    @cached_property
    def pipeline(self) -> text_pipeline.TextPipeline:
        """The text steps."""
        return texts.pipeline_of(self.text, self.text_model)

    @property
    def given(self) -> list[str]:
        """(H,) the texts of the hypotheses, as JSON or records have them; else their tokens."""
        if self.originals is not None:
            return [original.text for original in self.originals]
        texts = self.nbest.texts
        return [" ".join(texts.words(row)) for row in range(len(texts))]

    @cached_property
    def originals(self) -> tuple[Original, ...] | None:
        """(H,) the hypotheses as JSON files or records have them; None for other lists."""
        lines, originals = self.nbest.lines, self._in_files
        return (
            None if lines is None or originals is None else tuple(originals[row] for row in lines)
        )

    @cached_property
    def _in_files(self) -> list[Original] | None:
        """(L,) all hypotheses of JSON files or records, equal ones too; None for other lists."""
        if self.origin is not None:
            return self.origin._in_files  # noqa: SLF001  of the same class
        originals: list[Original] = []
        for source in self._sources:
            file = source if isinstance(source, ListFile) else read_list(source)
            file = replace(file, names=SegmentNames(drop=self.may_lack))
            reader = self.reader.detect(file)
            if not isinstance(reader, JsonReader):
                return None
            for answer in reader.records(file):
                if isinstance(answer, Hypothesis):
                    record = answer.record and plain_record(answer.record, file.where, 0)
                    originals.append(Original(answer.text or "", record))
        return originals

    @cached_property
    def _sources(self) -> tuple[PathLike | ListFile, ...]:
        """What the lists are read from; stdin is in memory, because it can be read only once."""
        if isinstance(self.in_memory, ListFile):
            return (self.in_memory,)
        return tuple(read_list(path) if str(path) == "-" else path for path in self.paths)

    @property
    def reader(self) -> Reader:
        """The reader of the lists' format."""
        return registry.reader(self.format) if isinstance(self.format, str) else self.format

    @property
    def findings(self) -> tuple[str, ...]:
        """What looks wrong about these lists, one line each: as read, and of their columns."""
        nbest = self.nbest
        outcomes = {name: values.__getitem__ for name, values in nbest.outcomes.items()}
        order = check.length_order(nbest)
        lines = (*check.few_segments(len(nbest)), order, *column_findings(nbest, outcomes))
        directions = map(direction_finding, outcomes)
        return tuple(filter(None, dict.fromkeys((*self.said, *lines, *directions))))

    @property
    def said(self) -> Warnings:
        """The warnings that reading them gave."""
        _ = self.nbest
        said: Warnings = self.__dict__["_said"]
        return said

    @cached_property
    def nbest(self) -> NBest:
        """The hypotheses, their features and the texts beside them."""
        with collected_warnings() as said:  # they are kept for the results
            nbest = self._read()
        self.__dict__["_said"] = said
        return nbest

    def _read(self) -> NBest:
        """Read lists and references and bring the texts into the order of the lists."""
        vocabulary = Vocabulary()
        if isinstance(self.in_memory, NBest):
            vocabulary = self.in_memory.texts.vocabulary
        elif self.strings is not None:
            vocabulary = self.strings.vocabulary
        beside, drop = self._beside, self.may_lack
        first = next(iter(beside["paths"]), beside["source"])
        options: Any = {**beside, "vocabulary": vocabulary, "drop": drop}
        is_alone = not beside["paths"] and beside["source"] is None
        references = None if is_alone else corpus.read_references(**options)
        names, count = SegmentNames(drop=drop), None
        if references is not None and references.ids is not None:
            places = {name: number for number, name in enumerate(references.ids)}
            names = SegmentNames(places, called(first), strict=self.ids, drop=drop)
        elif references is not None and beside["paths"] and not drop:
            count = len(references)
        nbest = self._merged(vocabulary, count, names)
        if references is not None and references.ids is None:
            like = ids_in_lines(first, nbest)
            if like is not None:
                references = corpus.read_references(**options, like=like)
        nbest = matched(nbest, references, names, first)
        if self.features:
            nbest = self._with_features(nbest, self.features)
        if self.missing is not None and self.may_lack:
            nbest = settled(nbest, self.missing, self.wanted)
        if nbest.beside is not None and nbest.beside.source_lengths is not None:
            check.check_links(nbest, nbest.beside.source_lengths)
        return nbest

    @property
    def _beside(self) -> dict[str, Any]:
        """The references, the source and the links as `corpus.read_references` takes them."""
        refs = text_files(self.refs, "references")
        links = text_files(self.ref_links, "links of references")
        if links and not refs:
            raise InputError("links of references, but no references of these lists; give both")
        source = None if self.source is None else text_file(self.source, "the source")
        if not self.ids:
            return {"paths": refs, "source": source, "links": links}
        if not refs and source is None:
            raise InputError("the ids of segments are those of references; give them too")
        return {
            "paths": tuple(map(read_by_id, refs)),
            "source": source and read_by_id(source),
            "links": tuple(map(read_by_id, links)),
        }

    def _merged(self, vocabulary: Vocabulary, count: int | None, names: SegmentNames) -> NBest:
        """Return the lists as they stand in the files."""
        if isinstance(self.in_memory, NBest):
            return self.in_memory
        if self.strings is not None:
            return self.strings.nbest(count, names)
        sources = self._sources
        options: Any = {"segments": count, "reader": self.reader, "names": names}
        read: Callable[[Sequence[Any]], NBest] = partial(
            files.read_nbest, vocabulary=vocabulary, **options
        )
        if not self.systems:
            return read(sources)
        groups = systems.groups_of(self.systems, len(sources))
        lists = []
        for name, members in groups:
            with notices_behind(name):
                lists.append(read(sources[members]))
        return systems.joined_systems(lists, [name for name, _ in groups])

    def metric_of(self, metric: registry.MetricLike | None) -> registry.MetricLike:
        """Return the outcome of these lists that a text names, or their only one for None.

        Other metrics are returned as they are.

        Raises
        ------
        ConfigError
            The text names another metric too.
        ValueError
            There is none, and no outcome alone.
        """
        outcomes = self.in_memory.outcomes if isinstance(self.in_memory, NBest) else {}
        if metric is None:
            if len(outcomes) != 1:
                some = f"an outcome ({', '.join(outcomes)})" if outcomes else "scores"
                raise ValueError(
                    f"give a metric; or {some}, as in Lists.from_arrays(features, scores=...); "
                    f"stats need the metric that they are of"
                )
            return Outcome(*outcomes)
        if not isinstance(metric, str) or metric.removeprefix("-") not in outcomes:
            return metric
        if metric in names("metric"):
            raise ConfigError(
                f"'{metric}' is an outcome of the lists and a metric; rename the outcome"
            )
        return Outcome(metric)

    def scored_by(self, metrics: Iterable[Metric]) -> Lists:
        """Return the lists with the scores computed outside that metrics read.

        Hypotheses that lack one are left out if `missing` says so.
        """
        outside = scores_in(metrics)
        if not outside:  # then nothing is read yet
            return self
        nbest = with_outcomes(self.nbest, outside, drop=self.may_lack)
        if nbest is self.nbest:
            return self
        with collected_warnings() as said:
            if self.missing is not None and self.may_lack:
                nbest = settled(nbest, self.missing)
        scored = self._with(nbest)
        scored.__dict__["_said"].update(said)
        scored.__dict__["_said"].left_out.update(said.left_out)
        return scored

    def in_order(self) -> Lists:
        """Return the lists in the order of their ids, in which searches do not depend on files."""
        ids = self.nbest.ids
        if ids is None or unordered(ids) is None:
            return self
        return self._with(segments_taken(self.nbest, np.array(in_natural_order(ids))))

    def _with(self, nbest: NBest, **changes: Any) -> Lists:
        changed = replace(self, origin=self.origin or self, **changes)
        changed.__dict__.update(nbest=nbest, _said=self.said.copied())
        return changed

    def _with_features(self, nbest: NBest, features: Sequence[str]) -> NBest:
        """Return the lists with features."""
        source = None if nbest.beside is None else nbest.beside.source
        return with_features(
            nbest,
            features,
            preparation=prepare.Preparation(self.pipeline),
            source_lengths=None if source is None else corpus.token_counts(source),
            drop=self.may_lack,
        )


ListsLike = Lists | NBest | PathLike | Sequence[PathLike]
"""Lists as public functions take them: `Lists`, or names of files, read with the defaults."""


def as_lists(lists: ListsLike) -> Lists:
    """Return lists given in any way; files are read when they are first needed."""
    if isinstance(lists, Lists):
        return lists
    if isinstance(lists, NBest):
        return Lists(in_memory=lists)
    paths = [lists] if isinstance(lists, Path | str) else lists
    if not isinstance(paths, list | tuple) or not all(
        isinstance(path, Path | str) for path in paths
    ):
        raise ValueError(
            f"lists are given as files or as portmert.Lists, found {type(lists).__name__}; arrays "
            f"become lists by portmert.Lists.from_arrays(features, scores=...), data frames by "
            f"from_frame(frame, segment=..., features=[...]), dicts by from_records"
        )
    return Lists(tuple(paths))

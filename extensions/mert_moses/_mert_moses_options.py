"""The command line of mert-moses.pl: what it asks for, and which options cannot be honoured."""

import glob
import math
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from portmert.tuner.base.errors import ConfigError, InputError, counted, faults_at
from portmert.tuner.base.numbers import parse_finite
from portmert.tuner.base.warn import notice
from portmert.tuner.components import registry
from portmert.tuner.decoders.moses import PATIENCE_SECONDS
from portmert.tuner.executors.opening import Workplace
from portmert.tuner.search import DEFAULT_OPTIMIZER
from portmert.tuner.search.optimizers._base import Optimizer

from ._program import OptionValues, ProgramOptions, parse_perl
from ._scorer import Scorer, read_scorer
from .mert import optimizer_of_type

OPTIONS = {
    name: kind
    for kind, names in {
        "s": "working-dir input refs decoder config queue-flags cache-model decoder-flags mertdir "
        "mertargs extractorargs proargs mertmertargs rootdir filtercmd filterfile qsubwrapper "
        "mosesparallelcmd transform-decoded-file activate-features range batch-mira-args "
        "promix-training promix-table spe-symal lambdas scorenbestcmd sctype scconfig executor "
        "text",
        "i": "inputtype nbest lattice-samples jobs number-of-random-directions random-restarts "
        "prev-aggregate-nbestlist maximum-iterations threads seed replicas",
        "f": "historic-interpolation minimum-required-change-in-weights required-gain "
        "timeout-seconds",
        "!": "filter-phrase-table",
        "": "continue skip-decoder shortest average closest nocase nonorm help verbose old-sge "
        "predictable-seeds historic-bests random-directions return-best-dev "
        "use-config-weights-for-first-run pairwise-ranked pro-starting-point batch-mira hg-mira "
        "multi-moses",
    }.items()
    for name in names.split()
}

REFUSED = {
    "hg-mira": "hypergraphs are not read, only n-best lists; --batch-mira works on these",
    "promix-training": "mixtures of phrase tables are not trained here",
    "promix-table": "mixtures of phrase tables are not trained here",
    "spe-symal": "simulated post-editing needs the script moses_sim_pe.py around the decoder",
    "lambdas": "the start weights are those of moses.ini; of EMS, leave out [TUNING] lambda",
    "transform-decoded-file": "--text debpe joins subwords of both texts for the "
    "scoring, --extractorargs '--filter COMMAND' changes each of their lines",
    "cache-model": "models are not copied; give a --config with local paths",
}
IGNORED = {
    "mertdir": "the programs in it are not needed",
    "queue-flags": "decoders run on this machine (--jobs=N processes), or where --executor says",
    "qsubwrapper": "--executor says where decoders run",
    "mosesparallelcmd": "--executor says where decoders run",
    "old-sge": "--executor says where decoders run",
    "scorenbestcmd": "lists are scored here",
    "nonorm": "text is never normalised, as in mert-moses.pl",
    "verbose": "there is no more to say",
    "multi-moses": "--jobs=N starts N decoders",
    "random-restarts": "the search restarts by itself (--mertmertargs '--set restarts=N')",
    "number-of-random-directions": "the search draws random directions by itself",
}
STARTS_OF_MERT = ("historic-bests", "pro-starting-point", "range")
"""Options on where the search begins. With one of them the default is a search with starts."""
FILTER = "filter-model-given-input.pl"
SCORE_FILES = "sctype= scconfig|c= scfile|S= ffile|F= random-seed|r="
HYPERGRAPHS = "it is for hypergraphs, which are not read"
PROGRAMS = {
    "mert": ProgramOptions(
        "pdim|d= ntry|n= nrandom|m= rseed|r= optimize|o= type|t= sctype|s= scconfig|c= scfile|S= "
        "ffile|F= ifile|i= sparse-weights|p= positive|P= threads|T= shard-count= shard-size= set= "
        "verbose|v= factors|f= filter|l= binary|b allow-duplicates",  # the last ones of extractor
        refused=dict.fromkeys(
            ("shard-count", "shard-size"),
            "averages of shards are not made here; portmert tune has replicas",
        ),
    ),
    "extractor": ProgramOptions(
        "sctype|s= scconfig|c= reference|r= binary|b nbest|n= scfile|S= ffile|F= prev-ffile|E= "
        "prev-scfile|R= factors|f= filter|l= allow-duplicates|d verbose|v="
    ),
    "pro": ProgramOptions(f"{SCORE_FILES} output-file|o= smooth-brevity-penalty|b set="),
    "kbmira": ProgramOptions(
        f"{SCORE_FILES} type|t= hgdir|H= reference|R= output-file|o= cparam|C= decay|D= iters|J= "
        "dense-init|d= sparse-init|s= streaming streaming-out no-shuffle model-bg verbose "
        "safe-hope hg-prune= set=",
        refused={
            "hgdir": "hypergraphs are not read, only n-best lists",
            "reference": HYPERGRAPHS,
            "hg-prune": HYPERGRAPHS,
            "streaming-out": "weights are written at the end",
            "model-bg": "not supported, the background is made of hope hypotheses",
        },
    ),
}
"""The options of Moses' programs, and `--set KEY=VALUE`, an option of our search."""
OF_MIRA = {"cparam": "c", "decay": "decay", "iters": "epochs"}
"""Option of kbmira -> the field of our optimizer."""
HONOURED = {
    "mert": {"type", "set", "positive", "optimize", "rseed", "threads", "sctype", "scconfig"},
    "extractor": {"sctype", "scconfig", "factors", "filter"},
    "pro": {"set", "random-seed"},
    "kbmira": {"set", "random-seed", "type", *OF_MIRA},
}
"""Program -> the options of it that are honoured here."""
ITSELF = "mert-moses gives it itself"
OWN = {
    "ntry": "the search restarts by itself",
    "nrandom": "the search chooses its directions by itself",
    "verbose": "there is no more to say",
    "streaming": "lists are in memory, compactly",
    "no-shuffle": "the order follows from the seed",
    "safe-hope": "both scores are in one unit",
    "allow-duplicates": "equal hypotheses count once",
    "binary": "text is written, and exact",
    "smooth-brevity-penalty": "the optimizer pro judges hypotheses on a background corpus",
}
"""Options of programs that are not honoured, and why, where the reason is not `ITSELF`."""
OF_BOTH = {"binary", "allow-duplicates", "factors", "filter"}
"""Options of extractor that mert lacks, as part of --mertargs."""
INPUT_TYPES = {0: "text", 2: "lattices", 3: "trees", 5: "tables", 6: "forests"}
"""What Moses reads, besides confusion networks (1), which our decoder refuses with a reason."""
OF_SEARCH = {"set", "type", *OF_MIRA}
"""Options of Moses' programs that have a meaning only if that program is to search."""
OF_SCORER = re.compile(r"--(sctype|scconfig)(?:\s+|=)(\S+)")


@dataclass(frozen=True)
class MertRequest:
    """The options of a command line of mert-moses; every file exists.

    Parameters
    ----------
    ranges
        Feature -> lowest and highest starting weight of its components, in order.
    active
        Columns that are tuned, `TM0_1`; empty: all.
    seed
        With 0, random numbers depend on the step alone, as in mert-moses.pl.
    replicas
        How many tunings there are, each with a seed of its own, from one first decoding.
    aggregate
        How many earlier lists are used; -1: all.
    least_gain
        A run ends when new weights gain at most so many standard errors; 0: not so.
    interpolation
        Share of new weights from the fourth run on; 0: no interpolation.
    from_pro
        The search that finds one of the starting points; None: there is none.
    timeout_seconds
        A decoder or filter that writes nothing for so long is ended; 0: none is.
    executor
        Where decoders run.
    """

    source: Path
    references: tuple[Path, ...]
    program: Path
    config: Path
    folder: Path
    scorer: Scorer
    optimizer: Optimizer
    flags: str = ""
    jobs: int = 1
    nbest: int = 100
    lattice_samples: int = 0
    iterations: int = 25
    threads: int = 1
    aggregate: int = -1
    least_change: float = 1e-5
    least_gain: float = 0.0
    interpolation: float = 0.0
    ranges: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    active: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    seed: int = 0
    replicas: int = 1
    predictable_seeds: bool = False
    historic_bests: bool = False
    return_best: bool = False
    go_on: bool = False
    skip_decoder: bool = False
    config_weights_first: bool = False
    from_pro: Optimizer | None = None
    filter_command: str = ""
    filter_input: Path | None = None
    timeout_seconds: float = PATIENCE_SECONDS
    executor: Workplace = field(default_factory=Workplace)


def read_request(arguments: Sequence[str]) -> MertRequest | None:
    """Return what a command line asks for; None for help.

    Raises
    ------
    click.UsageError
        Options that are wrong, or that cannot be honoured; says why.
    ConfigError, InputError
        An unknown metric, a missing file.
    """
    values, words = parse_perl(arguments, OPTIONS)
    names = ("input", "refs", "decoder", "config")
    if words and (twice := [f"--{name}" for name in names if name in values]):
        raise click.UsageError(
            f"{' and '.join(twice)} beside {' '.join(words)}; give --input, --refs, --decoder and "
            f"--config, or SRC REF DECODER INI in their place"
        )
    if words and len(words) != len(names):
        raise click.UsageError(
            f"{counted(len(words), 'word')} besides options ({' '.join(words)}); expected four: "
            f"SRC REF DECODER INI, or these by --input, --refs, --decoder and --config"
        )
    values.update({name: [word] for name, word in zip(names, words, strict=False)})
    if "help" in values:
        return None
    missing = [name for name in names if name not in values]
    if missing:
        raise click.UsageError(f"missing: {', '.join(missing)}; give SRC REF DECODER INI")
    if not values.last("working-dir", "mert-work"):
        raise click.UsageError("--working-dir is empty; expected the name of a folder")
    for name, reason in REFUSED.items():
        if values.last(name, "0") != "0":
            raise click.UsageError(f"--{name} cannot be honoured: {reason}")
    for name, reason in IGNORED.items():
        if name in values:
            notice(f"--{name} is ignored: {reason}")
    return _request(values)


def _request(values: OptionValues) -> MertRequest:
    of_programs = _arguments_of_programs(values)
    filter_command, filter_input = _filter(values)
    optimizer, pro_search = _optimizers(values, of_programs)
    least_gain = _float(values, "required-gain", 0, expected="0 or more standard errors")
    if least_gain and not optimizer.holds_out:
        raise click.UsageError(
            f"--required-gain: {optimizer.name()} holds no segments out; the default search does"
        )
    active = values.last("activate-features") or of_programs["mert"].last("optimize")
    return MertRequest(
        source=_file(values.last("input")),
        references=_references(values.last("refs")),
        program=_program(values.last("decoder")),
        config=_file(values.last("config")),
        folder=Path(values.last("working-dir", "mert-work")),
        scorer=_scorer(values, of_programs["extractor"]),
        optimizer=optimizer,
        flags=_flags(values),
        jobs=_whole(values, "jobs", 1),
        nbest=_whole(values, "nbest", 100),
        lattice_samples=_whole(values, "lattice-samples", 0, least=0),
        iterations=_whole(values, "maximum-iterations", 25),
        threads=_whole(values, "threads", of_programs["mert"].integer("threads", 1)),
        aggregate=_whole(values, "prev-aggregate-nbestlist", -1, least=-1),
        least_change=_float(
            values, "minimum-required-change-in-weights", 1e-5, expected="0 or more"
        ),
        least_gain=least_gain,
        interpolation=_float(
            values, "historic-interpolation", 0, expected="a share, 0 to 1", most=1
        ),
        ranges=_ranges(values.get("range", [])),
        active=tuple(re.findall(r"[^, ]+", active)),
        positive=tuple(of_programs["mert"].items_of("positive")),
        seed=_seed(values, of_programs),
        replicas=_whole(values, "replicas", 1),
        predictable_seeds="predictable-seeds" in values,
        historic_bests="historic-bests" in values,
        return_best="return-best-dev" in values,
        go_on="continue" in values,
        skip_decoder="skip-decoder" in values,
        config_weights_first="use-config-weights-for-first-run" in values,
        from_pro=pro_search if "pro-starting-point" in values else None,
        filter_command=filter_command,
        filter_input=filter_input,
        timeout_seconds=_float(
            values, "timeout-seconds", PATIENCE_SECONDS, expected="0 or more seconds"
        ),
        executor=Workplace.parse(values.last("executor", "local")),
    )


def _flags(values: OptionValues) -> str:
    flags = values.last("decoder-flags").strip()
    if "inputtype" not in values:
        return flags
    kind = values.integer("inputtype", 0)
    if kind != 1 and kind not in INPUT_TYPES:
        kinds = ", ".join(f"{number} ({name})" for number, name in INPUT_TYPES.items())
        raise click.UsageError(f"--inputtype {kind}: expected {kinds}")
    return f"{flags} -inputtype {kind}".strip()


def _arguments_of_programs(values: OptionValues) -> dict[str, OptionValues]:
    """Return the options given for each of Moses' programs, without those of the scorer."""
    shared, mira = (
        OF_SCORER.sub("", values.last(name)) for name in ("mertargs", "batch-mira-args")
    )
    arguments = {
        "mert": f"{shared} {values.last('mertmertargs')}",
        "extractor": values.last("extractorargs"),
        "pro": values.last("proargs"),
        "kbmira": mira,
    }
    by_program = {name: _parsed(name, text) for name, text in arguments.items()}
    for name in OF_BOTH & by_program["mert"].keys():
        by_program["extractor"].setdefault(name, by_program["mert"].pop(name))
    if by_program["kbmira"].last("type", "nbest") != "nbest":
        raise click.UsageError(f"--type hypergraph cannot be honoured: {REFUSED['hg-mira']}")
    unused = _unused(values)
    for program, options in PROGRAMS.items():
        for name in options.names:
            if name not in by_program[program]:
                continue
            if name not in HONOURED[program]:
                why = OWN.get(name, ITSELF)
            elif program in unused and name in OF_SEARCH:
                why = unused[program]
            elif name == "optimize" and "activate-features" in values:
                why = "--activate-features names them, as in mert-moses.pl"
            else:
                continue
            notice(f"{program} --{name} is ignored: {why}")
    return by_program


def _parsed(program: str, arguments: str) -> OptionValues:
    where = f"arguments for {program}, '{arguments.strip()}'"
    with faults_at(where, (click.UsageError, ValueError), click.UsageError):
        values = PROGRAMS[program].parse(shlex.split(arguments))
    if values.rest:
        raise click.UsageError(f"{where}: '{values.rest[0]}' is no option")
    return values


def _unused(values: OptionValues) -> dict[str, str]:
    """Return the programs of Moses that are not to search, and why."""
    unused = {}
    if searches := [name for name in ("pairwise-ranked", "batch-mira") if name in values]:
        unused["mert"] = f"--{searches[0]} asks for another search"
    if "pairwise-ranked" not in values and "pro-starting-point" not in values:
        unused["pro"] = "it needs --pairwise-ranked or --pro-starting-point"
    if "batch-mira" not in values:
        unused["kbmira"] = "it needs --batch-mira"
    return unused


def _check_alone(*names: str) -> None:
    if len(names := tuple(filter(None, names))) > 1:
        raise click.UsageError(f"--{' and --'.join(names)} contradict each other; give one")


def _seed(values: OptionValues, of_programs: Mapping[str, OptionValues]) -> int:
    """Return --seed, or what Moses' programs are given as theirs."""
    seed = 0
    for program, name in (("kbmira", "random-seed"), ("pro", "random-seed"), ("mert", "rseed")):
        seed = of_programs[program].integer(name, 0) or seed
    return _whole(values, "seed", seed, least=0)


def _whole(values: OptionValues, name: str, default: int, *, least: int = 1) -> int:
    value = values.integer(name, default)
    if value < least:
        raise click.UsageError(f"--{name} {value}: expected {least} or more")
    return value


def _float(
    values: OptionValues, name: str, default: float, *, expected: str, most: float = math.inf
) -> float:
    text = values.last(name, str(default))
    if not 0 <= float(text) <= most:
        raise click.UsageError(f"--{name} {text}: expected {expected}")
    return float(text)


def _scorer(values: OptionValues, arguments: OptionValues) -> Scorer:
    """Return the scorer, from the options of mert-moses.pl or from our own."""
    shared = OF_SCORER.findall(values.last("mertargs") or values.last("batch-mira-args"))
    inside = dict(reversed(shared))  # the first of several
    sctype, scconfig = (
        values.last(name) or arguments.last(name) or inside.get(name, "")
        for name in ("sctype", "scconfig")
    )
    lengths = [name for name in ("closest", "average", "shortest") if name in values]
    _check_alone(*lengths)
    config = [scconfig, *(f"reflen:{name}" for name in lengths)]
    config += ["case:false"] if "nocase" in values else []
    scorer = read_scorer(
        sctype or "BLEU",
        ",".join(config),
        factors=arguments.last("factors"),
        filter_command=arguments.last("filter"),
        text=values.last("text"),
    )
    for path in (scorer.source, *scorer.links):
        if path is not None and not os.path.isfile(path):  # noqa: PTH113  long names
            raise InputError(f"--scconfig: there is no file {path}")
    return scorer


def _optimizers(
    values: OptionValues, of_programs: Mapping[str, OptionValues]
) -> tuple[Optimizer, Optimizer | None]:
    """Return the search asked for, and that of PRO, if any; options of any search are checked."""
    kinds = ("pairwise-ranked", "pro-starting-point", "batch-mira")
    _check_alone(*(name for name in kinds if name in values))
    pro_search, pro_options = None, of_programs["pro"].settings()
    if pro_options or {*kinds[:2]} & values.keys():
        pro_search = registry.optimizer("pro", pro_options, where="--proargs")
    options = {
        ours: of_programs["kbmira"].last(name)
        for name, ours in OF_MIRA.items()
        if name in of_programs["kbmira"]
    }
    options |= of_programs["kbmira"].settings()
    mira = registry.optimizer("kbmira", options, where="--batch-mira-args")
    kind = DEFAULT_OPTIMIZER
    if any(name in values for name in STARTS_OF_MERT):
        kind = "powell"
    if "random-directions" in values:
        kind = "random-direction"
        _check_alone(
            "random-directions", "type" if of_programs["mert"].last("type", kind) != kind else ""
        )
    optimizer = optimizer_of_type(
        of_programs["mert"].last("type", kind), of_programs["mert"].settings()
    )
    why = _unused(values).get("mert", "")
    for name in ("random-directions", *STARTS_OF_MERT):
        if name in STARTS_OF_MERT and optimizer.restarts == 1:
            why = why or "the search has one start (restarts=1)"
        if name in values and why:
            notice(f"--{name} is ignored: {why}")
    if pro_search is not None and "pairwise-ranked" in values:
        return pro_search, pro_search
    return (mira if "batch-mira" in values else optimizer), pro_search


def _filter(values: OptionValues) -> tuple[str, Path | None]:
    """Return the command that filters the model, empty for none, and its input."""
    text = _file(values.last("filterfile") or values.last("input"))
    if values.last("filter-phrase-table", "1") == "0":
        for name in ("filtercmd", "filterfile", "rootdir"):
            if name in values:
                notice(f"--{name} is ignored: no phrase table is filtered")
        return "", None
    command = values.last("filtercmd")
    if not command and "rootdir" in values:
        command = shlex.quote(str(Path(values.last("rootdir")) / "training" / FILTER))
    command = command or shlex.quote(_filter_of_moses(values))
    try:
        program, *words = shlex.split(command)
    except ValueError as error:
        raise click.UsageError(f"--filtercmd '{command}': {error or 'no words'}") from None
    path = shutil.which(program)
    if path is None:
        raise ConfigError(
            f"--filtercmd {program}: not executable; name another, or give "
            f"--no-filter-phrase-table"
        )
    # It runs in the working folder.
    command = shlex.join([str(Path(path).absolute()), *words])
    return command, text


def _filter_of_moses(values: OptionValues) -> str:
    """Return the path of Moses' filter: among its scripts, beside its programs."""
    places = [Path(values.last("mertdir"))] if values.last("mertdir") else []
    places.append(_program(values.last("decoder")).resolve().parent)
    for place in places:
        for folder in (place, *(up / "scripts" / "training" for up in (place, place.parent))):
            if (folder / FILTER).is_file():
                return str((folder / FILTER).absolute())
    raise click.UsageError(
        f"the phrase tables are to be filtered, but there is no {FILTER} beside "
        f"{' or '.join(map(str, places))}, nor in scripts/training there; give --filtercmd=PATH, "
        f"or --no-filter-phrase-table"
    )


def _ranges(texts: Sequence[str]) -> dict[str, list[tuple[float, float]]]:
    """Read `tm:0..1,-1..1`: ranges of the first, second, ... component of a feature."""
    ranges: dict[str, list[tuple[float, float]]] = {}
    for text in texts:
        name = ""
        for item in text.split(","):
            head, colon, pair = item.rpartition(":")
            name = head if colon else name
            low, dots, high = pair.partition("..")
            least, most = parse_finite(low), parse_finite(high)
            if not name or not dots or least is None or most is None or least > most:
                raise click.UsageError(f"--range {text}: expected NAME:LOW..HIGH,LOW..HIGH")
            ranges.setdefault(name, []).append((least, most))
    return ranges


def _file(name: str) -> Path:
    path = Path(name).absolute()
    if not path.is_file():
        raise InputError(f"{name}: there is no such file")
    return path


def _program(name: str) -> Path:
    path = Path(name).absolute()
    if path.is_file() and os.access(path, os.X_OK):
        return path
    if "/" not in name and (on_path := shutil.which(name)):
        return Path(on_path).absolute()
    where = "" if "/" in name else " here or on PATH"
    raise InputError(f"{name}: not an executable file{where}; the third argument is the decoder")


def _references(stem: str) -> tuple[Path, ...]:
    """Return the reference files: one of this name, or stem0, stem1, ..., or stem.ref0, ..."""
    path = Path(stem).absolute()
    if path.is_file():
        return (path,)
    for start in (path, path.with_name(f"{path.name}.ref")):
        paths: list[Path] = []
        while (part := start.with_name(f"{start.name}{len(paths)}")).is_file():
            paths.append(part)
        later = [
            part.name
            for part in start.parent.glob(f"{glob.escape(start.name)}[0-9]*")
            if part.name[len(start.name) :].isdecimal() and part not in paths
        ]
        if later:
            raise InputError(
                f"{stem}: there is {min(later)}, but no {start.name}{len(paths)}; references are "
                f"numbered from 0, without a gap"
            )
        if paths:
            return tuple(paths)
    raise InputError(f"{stem}: there is no such file, nor {stem}0 or {stem}.ref0")

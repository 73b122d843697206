"""Read a file of weights of any form, and write other weights in the same form."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..base import files
from ..base.errors import InputError
from ..base.numbers import parse_number
from . import feature_weights, moses_ini, recognisers


@dataclass(frozen=True)
class WeightsFile:
    """The content of a file of weights.

    Parameters
    ----------
    weights
        Of a moses.ini without those that Moses does not tune, and with its file of sparse weights.
    form
        `json`; `moses.ini`; `dense`, lines `LM0= 0.5` of mert-moses.pl; `sparse`, lines
        `name 0.5`; `travatar`, lines `name=0.5`.
    length_penalty
        The length penalty of the weights; 0 for none.
    ini
        The whole moses.ini.
    tuned_on
        What the weights were tuned on.
    """

    weights: feature_weights.FeatureWeights
    form: str = "json"
    length_penalty: float = 0.0
    ini: moses_ini.MosesIni | None = None
    tuned_on: feature_weights.TunedOn = field(default_factory=feature_weights.TunedOn)

    def written(self, weights: feature_weights.FeatureWeights, path: Path) -> None:
        """Write other weights in this form.

        Of a moses.ini only numbers change; weights of sparse features that its [weight] section
        does not name go to a file beside it, `.sparse`.
        """
        with files.writing(path) as out:
            out.write(self.content(weights, path))

    def content(self, weights: feature_weights.FeatureWeights, path: Path) -> bytes:
        """Return what `written` writes to a file."""
        values = weights.values
        if self.ini is not None:
            weighted = self.ini.weighted
            sparse = {name: numbers for name, numbers in values.items() if name not in weighted}
            dense = {name: numbers for name, numbers in values.items() if name in weighted}
            return self.ini.with_weights(dense, extra=written_beside(path, sparse))
        if self.form == "dense":
            lines = (f"{name}= {number!r}\n" for name, row in values.items() for number in row)
            return "".join(lines).encode()
        if self.form in ("sparse", "travatar"):
            separator = " " if self.form == "sparse" else "="
            return sparse_text(values, separator).encode()
        content: dict[str, object] = {
            "weights": {name: list(numbers) for name, numbers in values.items()}
        }
        if self.length_penalty:
            content["length_penalty"] = self.length_penalty
        content |= self.tuned_on.as_json() | recognisers.written_terms(weights)
        return (json.dumps(content, indent=1) + "\n").encode()


def written_beside(path: Path, sparse: Mapping[str, Sequence[float]]) -> dict[str, list[str]]:
    """Write sparse weights beside a moses.ini; return the section that names their file."""
    if not sparse:
        return {}
    sparse_path = path.with_name(f"{path.name}.sparse")
    files.write_text(sparse_path, sparse_text(sparse))
    return {"weight-file": [str(sparse_path.resolve())]}


def read_weights_file(path: Path) -> WeightsFile:
    """Read a file of weights; what form it has shows in its content.

    Raises
    ------
    InputError
        It is none, or a weight is no finite number.
    """
    ini = moses_ini.read_moses_ini(path)  # the only one that is read: stdin can be read once
    where = ini.origin
    raw = (line.removesuffix("\r").encode("utf-8", "surrogateescape") for line in ini.lines)
    text = files.Lines(
        where, [files.decode_line(line, where, number) for number, line in enumerate(raw, 1)]
    )
    lines = [line.strip() for line in text]
    lines = [line for line in lines if line and not line.startswith("#")]
    if lines and "=" not in lines[0] and len(lines[0].split()) == 2:
        return WeightsFile(feature_weights.FeatureWeights(read_sparse(text)), "sparse")
    weights, alpha, tuned_on = feature_weights.read_tuned_weights(text)
    if lines[0].startswith("{"):
        return WeightsFile(weights, "json", alpha, tuned_on=tuned_on)
    if not ini.sections:
        return WeightsFile(weights, "dense" if "= " in lines[0] else "travatar")
    sparse_files = ini.values("weight-file")
    values = {
        **(read_sparse(Path(sparse_files[0])) if sparse_files else {}),
        **{name: row for name, row in weights.values.items() if name not in ini.untuneable},
    }
    if not values:
        raise InputError(f"{where}: no weights that Moses tunes")
    return WeightsFile(feature_weights.FeatureWeights(values), "moses.ini", ini=ini)


def sparse_text(weights: Mapping[str, Sequence[float]], separator: str = " ") -> str:
    """Return the text of the file.

    Raises
    ------
    InputError
        A feature has more than one weight: the file has no place for them.
    """
    for name, values in weights.items():
        if len(values) != 1:
            raise InputError(
                f"feature {name} has {len(values)} weights, and a file of sparse weights holds "
                f"one of each feature; name a moses.ini or our JSON first"
            )
    return "".join(f"{name}{separator}{row[0]!r}\n" for name, row in weights.items())


def read_sparse(
    path: files.TextFile, sizes: Mapping[str, int] | None = None
) -> dict[str, tuple[float, ...]]:
    """Read the file; a name may end with `=`. `sizes`: the features that have several weights.

    Raises
    ------
    InputError
        A line is something else, a weight is not finite, or a name stands twice.
    """
    weights: dict[str, tuple[float, ...]] = {}
    for number, line in enumerate(files.read_lines(path), 1):
        if line.startswith("#") or not line.strip():
            continue
        name, *values = line.split()
        name = name.removesuffix("=")
        row = [value for value in map(parse_number, values) if value is not None]
        if len(row) != len(values) or len(row) != (sizes or {}).get(name, 1):
            raise InputError(
                f"{path}:{number}: '{line}' is not a sparse weight, expected `name value`"
            )
        if not all(map(math.isfinite, row)):
            raise InputError(
                f"{path}:{number}: weight {' '.join(values)} of feature {name} is not finite"
            )
        if name in weights:
            raise InputError(f"{path}:{number}: feature {name} stands twice; leave one line of it")
        weights[name] = tuple(row)
    return weights

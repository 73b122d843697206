"""A decoder: says the source again, whole and without its last word."""

from __future__ import annotations

from pydantic.dataclasses import dataclass

from portmert.tuner.base.files import read_lines, write_text
from portmert.tuner.decoders._base import Decoder
from portmert.tuner.weights.feature_weights import FeatureWeights


@dataclass(frozen=True)
class Echo(Decoder):
    """Repeats the source."""

    def read_weights(self):
        return FeatureWeights({"Whole0": (1.0,), "Cut0": (0.5,)})

    def decode(self, weights, *, source, size, out, workdir):  # noqa: ARG002
        whole, cut = (weights.values[name][0] for name in ("Whole0", "Cut0"))
        lines = read_lines(source)
        rows = []
        for number, line in enumerate(lines):
            outputs = [
                (whole, line, "Whole0= 1 Cut0= 0"),
                (cut, line.rpartition(" ")[0], "Whole0= 0 Cut0= 1"),
            ]
            outputs.sort(key=lambda output: -output[0])
            rows += [
                f"{number} ||| {text} ||| {values} ||| {score} ||| 0-0\n"
                for score, text, values in outputs[:size]
            ]
        write_text(out, "".join(rows))

    def write_config(self, weights, path, *, header):  # noqa: ARG002
        write_text(path, f"{weights.values}\n")

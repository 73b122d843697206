"""A small Transformer for translation: training, n-best decoding, scoring. Needs PyTorch.

    python transformer.py train  MODEL --source FILE --target FILE [--right-to-left] [--dim 256 ...]
    python transformer.py decode MODEL --source FILE --out LIST [--nbest 50]
    python transformer.py score  MODEL --source FILE --target FILE --out FILE

Text is tokenised, one segment a line. A list is written as Marian writes it:
`segment ||| text ||| score= log-probability ||| log-probability / length`.
One thread and one seed give the same numbers on the same processor and version of PyTorch.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import time
from pathlib import Path

import sentencepiece
import torch
from torch import nn
from torch.nn import functional

PAD, UNKNOWN, BEGIN, END = range(4)
LONGEST = 64


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text, plain or gzipped."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


class Translator(nn.Module):
    """A pre-norm encoder and decoder; target embeddings are also the output layer."""

    def __init__(
        self,
        source_words: int,
        target_words: int,
        dim: int,
        heads: int,
        layers: tuple[int, int],
        dropout: float,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.source_table = nn.Embedding(source_words, dim, padding_idx=PAD)
        self.target_table = nn.Embedding(target_words, dim, padding_idx=PAD)
        for table in (self.source_table, self.target_table):
            nn.init.normal_(table.weight, std=dim**-0.5)
        self.dropout = nn.Dropout(dropout)
        common = {
            "d_model": dim,
            "nhead": heads,
            "dim_feedforward": 4 * dim,
            "dropout": dropout,
            "batch_first": True,
            "norm_first": True,
        }
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(**common),
            layers[0],
            nn.LayerNorm(dim),
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(**common), layers[1], nn.LayerNorm(dim)
        )
        position = torch.arange(LONGEST + 2)[:, None]
        rate = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        table = torch.zeros(LONGEST + 2, dim)
        table[:, 0::2], table[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        self.register_buffer("positions", table, persistent=False)

    def _embedded(self, table: nn.Embedding, words: torch.Tensor) -> torch.Tensor:
        scaled = table(words) * math.sqrt(self.dim)
        return self.dropout(scaled + self.positions[: words.shape[1]])

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        """Return (B, S, dim) states of the source."""
        return self.encoder(
            self._embedded(self.source_table, source), src_key_padding_mask=source == PAD
        )

    def decode(
        self, memory: torch.Tensor, source: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        """Return (B, T, dim) states before each next word."""
        width = target.shape[1]
        mask = torch.triu(torch.full((width, width), -math.inf), diagonal=1)
        return self.decoder(
            self._embedded(self.target_table, target),
            memory,
            tgt_mask=mask,
            tgt_key_padding_mask=torch.where(target == PAD, -math.inf, 0.0),
            memory_key_padding_mask=source == PAD,
        )

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Return scores of all words."""
        return states @ self.target_table.weight.T


class Model:
    """A translator with its two vocabularies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.options = json.loads((folder / "options.json").read_text())
        self.source, self.target = (
            sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.model"))
            for side in ("source", "target")
        )
        torch.manual_seed(self.options["seed"])
        self.net = Translator(
            self.source.get_piece_size(),
            self.target.get_piece_size(),
            self.options["dim"],
            self.options["heads"],
            tuple(self.options["layers"]),
            self.options["dropout"],
        )

    def load(self) -> Model:
        """Read the trained parameters."""
        self.net.load_state_dict(torch.load(self.folder / "model.pt", weights_only=True))
        self.net.eval()
        return self

    def source_ids(self, line: str) -> list[int]:
        """Return the pieces of a source line."""
        return [*self.source.encode(line)[: LONGEST - 1], END]

    def target_ids(self, line: str) -> list[int]:
        """Return the pieces of a target line in the order of decoding."""
        pieces = self.target.encode(line)[: LONGEST - 1]
        if self.options["right_to_left"]:
            pieces = pieces[::-1]
        return [BEGIN, *pieces, END]

    def text(self, ids: list[int]) -> str:
        """Return the text of decoded pieces."""
        return self.target.decode(ids[::-1] if self.options["right_to_left"] else ids)


class Stepwise:
    """The decoder one word at a time; keys and values of earlier words are kept."""

    def __init__(self, net: Translator, memory: torch.Tensor) -> None:
        self.net, self.length = net, 0
        self.heads = net.decoder.layers[0].self_attn.num_heads
        self.earlier: list[list[torch.Tensor]] = [[] for _ in net.decoder.layers]
        self.memory = []
        for layer in net.decoder.layers:
            weight, bias = layer.multihead_attn.in_proj_weight, layer.multihead_attn.in_proj_bias
            both = functional.linear(memory, weight[net.dim :], bias[net.dim :])
            self.memory.append([self._split(part) for part in both.chunk(2, -1)])

    def _split(self, states: torch.Tensor) -> torch.Tensor:
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _attended(
        self, attention: nn.MultiheadAttention, query: torch.Tensor, keys: list[torch.Tensor]
    ) -> torch.Tensor:
        rows = (part.expand(len(query), -1, -1, -1) for part in keys)
        found = functional.scaled_dot_product_attention(self._split(query), *rows)
        return attention.out_proj(found.transpose(1, 2).flatten(2))

    def states(self, last: torch.Tensor) -> torch.Tensor:
        """Return (B, dim) states after the last word of each prefix."""
        net = self.net
        x = (net.target_table(last) * math.sqrt(net.dim) + net.positions[self.length])[:, None]
        for number, layer in enumerate(net.decoder.layers):
            own, cross = layer.self_attn, layer.multihead_attn
            query, *new = functional.linear(
                layer.norm1(x), own.in_proj_weight, own.in_proj_bias
            ).chunk(3, -1)
            new = [self._split(part) for part in new]
            if self.length:
                new = [torch.cat(pair, 2) for pair in zip(self.earlier[number], new, strict=True)]
            self.earlier[number] = new
            x = x + self._attended(own, query, new)
            query = functional.linear(
                layer.norm2(x), cross.in_proj_weight[: net.dim], cross.in_proj_bias[: net.dim]
            )
            x = x + self._attended(cross, query, self.memory[number])
            x = x + layer.linear2(functional.relu(layer.linear1(layer.norm3(x))))
        self.length += 1
        return net.decoder.norm(x[:, 0])

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with these prefixes."""
        self.earlier = [[part[rows] for part in pair] for pair in self.earlier]


def padded(rows: list[list[int]]) -> torch.Tensor:
    """Return (B, longest) ids."""
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def train(options: argparse.Namespace) -> None:
    """Train a model; every 500 steps the state is kept, and a stopped training goes on from it."""
    folder = options.model
    folder.mkdir(parents=True, exist_ok=True)
    source, target = lines_of(options.source), lines_of(options.target)
    if not (folder / "options.json").exists():
        for side, text, size in (
            ("source", source, options.source_words),
            ("target", target, options.target_words),
        ):
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(text),
                model_prefix=str(folder / side),
                vocab_size=size,
                model_type=options.pieces,
                character_coverage=1.0,
                pad_id=PAD,
                unk_id=UNKNOWN,
                bos_id=BEGIN,
                eos_id=END,
                num_threads=1,
                minloglevel=2,
                normalization_rule_name="identity",
                hard_vocab_limit=False,
            )
        names = ("dim", "heads", "layers", "dropout", "right_to_left", "seed")
        (folder / "options.json").write_text(
            json.dumps({name: getattr(options, name) for name in names})
        )
    model = Model(folder)
    net = model.net
    pairs = [
        (model.source_ids(s), model.target_ids(t)) for s, t in zip(source, target, strict=True)
    ]
    pairs = [pair for pair in pairs if max(map(len, pair)) < 50]
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-9, betas=(0.9, 0.98), weight_decay=0.01)
    average = {name: value.detach().clone() for name, value in net.state_dict().items()}
    step, total, begin = 0, 0.0, time.monotonic()
    state = folder / "state.pt"
    if state.exists():
        kept = torch.load(state, weights_only=True)
        net.load_state_dict(kept["net"])
        optimizer.load_state_dict(kept["optimizer"])
        average, step = kept["average"], kept["step"]
    epoch_of = 0
    while step < options.steps:
        order = random.Random(1000 * options.seed + epoch_of)
        epoch_of += 1
        for batch in batches(pairs, order, options.batch):
            if step >= options.steps:
                break
            rate = options.rate * min(
                (step + 1) / options.warm_up, (options.warm_up / (step + 1)) ** 0.5
            )
            rate *= min(1.0, (options.steps - step) / (0.2 * options.steps))
            for group in optimizer.param_groups:
                group["lr"] = rate
            net.train()
            words, answer = padded([s for s, _ in batch]), padded([t for _, t in batch])
            states = net.decode(net.encode(words), words, answer[:, :-1])
            goal = answer[:, 1:]
            real = goal != PAD
            loss = functional.cross_entropy(
                net.logits(states[real]), goal[real], label_smoothing=0.1
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            step += 1
            total += loss.item()
            share = min(0.999, step / (step + 10))
            for name, value in net.state_dict().items():
                average[name].mul_(share).add_(value, alpha=1 - share)
            if step % 100 == 0:
                print(
                    f"step {step}: loss {total / 100:.3f}, {time.monotonic() - begin:.0f} s",
                    flush=True,
                )
                total = 0.0
            if step % 500 == 0:
                part = folder / "state.part"
                torch.save(
                    {
                        "net": net.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "average": average,
                        "step": step,
                    },
                    part,
                )
                part.replace(state)
    torch.save(average, folder / "model.pt")
    state.unlink(missing_ok=True)


def batches(pairs: list, order: random.Random, tokens: int) -> list[list]:
    """Return batches of about as many target tokens; pairs of similar length share a batch."""
    rows = sorted(order.sample(pairs, len(pairs)), key=lambda pair: (len(pair[1]), len(pair[0])))
    result, batch = [], []
    for pair in rows:
        if batch and (len(batch) + 1) * len(pair[1]) > tokens:
            result.append(batch)
            batch = []
        batch.append(pair)
    result.append(batch)
    order.shuffle(result)
    return result


@torch.inference_mode()
def decode(options: argparse.Namespace) -> None:
    """Write the n best translations of each segment, found by beam search."""
    model = Model(options.model).load()
    with options.out.open("w", encoding="utf-8") as out:
        for segment, line in enumerate(lines_of(options.source)):
            texts: dict[str, tuple[float, int]] = {}
            for score, ids in beam(model, model.source_ids(line), options.nbest + 10):
                texts.setdefault(" ".join(model.text(ids).split()), (score, len(ids) + 1))
            for text, (score, length) in list(texts.items())[: options.nbest]:
                out.write(
                    f"{segment} ||| {text} ||| score= {score:.3f} ||| {score / length:.4f}\n"
                )
            if segment % 100 == 99:
                print(f"{segment + 1} segments", flush=True)


def beam(model: Model, source: list[int], width: int) -> list[tuple[float, list[int]]]:
    """Return hypotheses with their log-probabilities, best by score / length first."""
    net = model.net
    words = torch.tensor([source])
    decoder = Stepwise(net, net.encode(words))
    prefixes, scores = torch.tensor([[BEGIN]]), torch.zeros(1)
    ended: list[tuple[float, list[int]]] = []
    for _ in range(min(LONGEST, 2 * len(source) + 10)):
        logs = functional.log_softmax(net.logits(decoder.states(prefixes[:, -1])), -1)
        logs[:, [PAD, UNKNOWN, BEGIN]] = -math.inf
        sums = (scores[:, None] + logs).flatten()
        best, where = sums.topk(min(2 * width, len(sums)))
        rows, chosen = where // logs.shape[1], where % logs.shape[1]
        finished = chosen == END
        for score, row in zip(best[finished][:width].tolist(), rows[finished][:width].tolist()):
            if math.isfinite(score):
                ended.append((score, prefixes[row, 1:].tolist()))
        going = (~finished & best.isfinite()).nonzero().flatten()[:width]
        if not len(going) or len(ended) >= 4 * width:
            break
        prefixes = torch.cat([prefixes[rows[going]], chosen[going][:, None]], 1)
        scores = best[going]
        decoder.keep(rows[going])
        if len(ended) >= width:
            worst = sorted((s / (len(i) + 1) for s, i in ended), reverse=True)[width - 1]
            if scores[0] / (prefixes.shape[1] + 3) < worst:
                break
    return sorted(ended, key=lambda entry: (-entry[0] / (len(entry[1]) + 1), entry[1]))


@torch.inference_mode()
def score(options: argparse.Namespace) -> None:
    """Write the log-probability of each target line given its source line."""
    model = Model(options.model).load()
    rows = [
        (model.source_ids(s), model.target_ids(t))
        for s, t in zip(lines_of(options.source), lines_of(options.target), strict=True)
    ]
    order = sorted(range(len(rows)), key=lambda row: len(rows[row][1]))
    scores = [0.0] * len(rows)
    for first in range(0, len(order), 64):
        some = order[first : first + 64]
        words, answer = padded([rows[r][0] for r in some]), padded([rows[r][1] for r in some])
        logs = functional.log_softmax(
            model.net.logits(model.net.decode(model.net.encode(words), words, answer[:, :-1])), -1
        )
        goal = answer[:, 1:]
        each = logs.gather(-1, goal[..., None])[..., 0].masked_fill(goal == PAD, 0.0).sum(1)
        for row, value in zip(some, each.tolist(), strict=True):
            scores[row] = value
    options.out.write_text("".join(f"{value:.4f}\n" for value in scores))


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["train", "decode", "score"])
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--nbest", type=int, default=50)
    parser.add_argument("--right-to-left", action="store_true")
    parser.add_argument("--pieces", default="unigram", choices=["unigram", "bpe"])
    parser.add_argument("--source-words", type=int, default=4000)
    parser.add_argument("--target-words", type=int, default=4000)
    parser.add_argument("--dim", type=int, default=192)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--layers", type=int, nargs=2, default=[3, 2])
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=3000, help="target tokens")
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--warm-up", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    {"train": train, "decode": decode, "score": score}[options.command](options)


if __name__ == "__main__":
    main()

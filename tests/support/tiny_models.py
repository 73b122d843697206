"""Tiny translation models, trained in a few seconds: data for the recipe of neural decoders.

The source is a line of letters, the target spells each letter as a word. One letter in ten of the
training data has the word of its neighbour, so that two models have different faults.
"""

from __future__ import annotations

import random
from typing import Any

import torch
from transformers import BartConfig, BartForConditionalGeneration

LETTERS = "abcdefghij"
WORDS = (
    "alfa", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliett",
)  # fmt: skip
PAD, BEGIN, END = 0, 1, 2
FIRST = 3
"""The first letter and the first word are this token."""


def encode(text: str) -> list[int]:
    """Return the tokens of a source."""
    return [LETTERS.index(letter) + FIRST for letter in text.replace(" ", "")] + [END]


def spell(ids: torch.Tensor) -> str:
    """Return the words of a target."""
    return " ".join(WORDS[k - FIRST] for k in ids.tolist() if k >= FIRST)


def pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Return sources and targets without faults."""
    rng = random.Random(seed)
    sources = ["".join(rng.choices(LETTERS, k=rng.randint(3, 7))) for _ in range(count)]
    return [(text, " ".join(WORDS[LETTERS.index(letter)] for letter in text)) for text in sources]


def trained(seed: int, steps: int) -> Any:
    """Return a model after some steps of training."""
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=FIRST + len(WORDS), d_model=32, encoder_layers=1, decoder_layers=1,
            encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=64,
            decoder_ffn_dim=64, max_position_embeddings=32, dropout=0.0, pad_token_id=PAD,
            bos_token_id=BEGIN, eos_token_id=END, decoder_start_token_id=BEGIN,
            forced_eos_token_id=None, forced_bos_token_id=None,
        )
    )  # fmt: skip
    rng = random.Random(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        length = rng.randint(3, 7)
        rows = [[rng.randrange(10) for _ in range(length)] for _ in range(32)]
        heard = [[(k + (rng.random() < 0.1)) % 10 for k in row] for row in rows]
        source = torch.tensor([[*(k + FIRST for k in row), END] for row in rows])
        target = torch.tensor([[*(k + FIRST for k in row), END] for row in heard])
        loss = model(input_ids=source, labels=target).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()

"""Make configs/best-of-n: GSM8K's problems, four real answers to each, and judges of them.

python -m research.gsm8k CLONE configs/best-of-n [--check]

CLONE is a clone of openai/grade-school-math (MIT licence). Its `example_model_solutions.jsonl` has
1,319 problems with the answers of four systems, and whether each answer is right. The answers to
a problem are shuffled, and nothing says which system wrote them. SEED draws 300 problems to tune
on, 300 to test on, and leaves 719 on which the verifier learns.

No judge sees which answer is right:

votes       share of the four answers with the same final number
verifier    conditional logit over word n-grams, learnt on the 719 other problems
lm          log probability per token under an n-gram model of the solutions of train.jsonl
calculator  share of the calculations <<a=b>> that are correct
numbers     share of the question's numbers that the answer uses
results     share of the calculated results that a later step or the final answer uses
length      tokens

--check shows the verifier's accuracy by its penalty in five folds of the 719 problems. PENALTY
was chosen so.
"""

from __future__ import annotations

import argparse
import ast
import json
import lzma
import math
import operator
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TypedDict

import click
import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array

SEED = 2021
SYSTEMS = ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification")
SIZES = {"candidates": 300, "test": 300}
ORDER = 4
"""Of the language model."""
PENALTY = 30.0
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
CALCULATION = re.compile(r"<<([^<>=]*)=([^<>]*)>>")
TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[a-z']+|[^\sa-z\d]")
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS = {name: number for number, name in enumerate(NAMES, start=1)}
WORDS |= {"twice": 2, "half": 2, "double": 2, "third": 3, "triple": 3, "quarter": 4, "dozen": 12}


class Problem(TypedDict):
    """A question and its answers, in the order of the lists."""

    id: str
    question: str
    texts: list[str]
    correct: list[bool]


def main() -> None:
    """Write the candidates, or check the verifier."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("clone", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    data = arguments.clone / "grade_school_math" / "data"
    rng = np.random.default_rng(SEED)
    problems = read_problems(data / "example_model_solutions.jsonl", rng)
    order = [problems[n] for n in rng.permutation(len(problems))]
    parts = {}
    for name, size in SIZES.items():
        parts[name] = sorted(order[:size], key=lambda problem: problem["id"])
        order = order[size:]
    if arguments.check:
        check(order)
        return
    verifier = Verifier(order)
    solutions = (data / "train.jsonl").read_text(encoding="utf-8").splitlines()
    answers = [json.loads(line)["answer"].replace("####", "A:") for line in solutions]
    lm = LanguageModel([tokens(answer) for answer in answers])
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, some in parts.items():
        lines = [json.dumps(row, ensure_ascii=False) for row in rows(some, verifier, lm)]
        content = lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9)
        (arguments.folder / f"{name}.jsonl.xz").write_bytes(content)


def read_problems(path: Path, rng: np.random.Generator) -> list[Problem]:
    """Read the problems; their answers are shuffled."""
    problems: list[Problem] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        answers = [row[SYSTEMS[n]] for n in rng.permutation(len(SYSTEMS))]
        problems.append(
            {
                "id": f"gsm8k-{number:04d}",
                "question": row["question"],
                "texts": [answer["solution"] for answer in answers],
                "correct": [answer["is_correct"] for answer in answers],
            }
        )
    return problems


def rows(
    problems: list[Problem], verifier: Verifier, lm: LanguageModel
) -> list[dict[str, object]]:
    """Return the lines of a file, a candidate each."""
    found: list[dict[str, object]] = []
    for problem in problems:
        marks = verifier.marks(problem)
        for number, (text, correct) in enumerate(
            zip(problem["texts"], problem["correct"], strict=True)
        ):
            judges = simple_judges(problem["question"], problem["texts"], number)
            judges |= {"lm": lm.log_probability(tokens(text)), "verifier": float(marks[number])}
            found.append(
                {
                    "id": problem["id"],
                    "question": problem["question"],
                    "text": text,
                    "answer": final_answer(text),
                    "correct": correct,
                    "features": {name: round(value, 3) for name, value in judges.items()},
                }
            )
    return found


def numbers(text: str) -> list[float]:
    """Return the numbers of a text."""
    return [float(one.replace(",", "")) for one in NUMBER.findall(text)]


def tokens(text: str) -> list[str]:
    """Return words and signs, without calculations; a number is <n>."""
    found = TOKEN.findall(CALCULATION.sub("", text).lower())
    return ["<n>" if one[0].isdigit() else one for one in found]


def final_answer(text: str) -> str:
    """Return the last number behind "A:", or nothing."""
    found = NUMBER.findall(text.rpartition("\nA:")[2]) if "\nA:" in text else []
    return f"{float(found[-1].replace(',', '')):g}" if found else ""


def simple_judges(question: str, texts: list[str], number: int) -> dict[str, float]:
    """Return what the judges that learn nothing say of one of the answers to a question."""
    text, answers = texts[number], [final_answer(one) for one in texts]
    calculations = CALCULATION.findall(text)
    asked = set(numbers(question))
    asked |= {WORDS[word] for word in re.findall("[a-z]+", question.lower()) if word in WORDS}
    used = set(numbers(CALCULATION.sub("", text)))
    used |= {one for calculation, _ in calculations for one in numbers(calculation)}
    later = [numbers(calculation) for calculation, _ in calculations[1:]]
    later.append(numbers(answers[number]))
    taken = [
        any(abs(result - one) < 0.006 for some in later[n:] for one in some)
        for n, (_, results) in enumerate(calculations)
        for result in numbers(results)
    ]
    correct = [is_correct(*calculation) for calculation in calculations]
    return {
        "votes": answers.count(answers[number]) / len(texts) if answers[number] else 0.0,
        "calculator": share(correct),
        "numbers": share([one in used or one / 100 in used for one in sorted(asked)]),
        "results": share(taken),
        "length": float(len(tokens(text))),
    }


def share(marks: list[bool]) -> float:
    """Return the share that is true; of nothing it is 0."""
    return sum(marks) / max(1, len(marks))


def is_correct(calculation: str, result: str) -> bool:
    """Return whether a calculation gives its result, to the digits that models write."""
    try:
        value = evaluate(ast.parse(calculation.replace(",", "").strip(), mode="eval").body)
        return abs(value - float(result.replace(",", ""))) < 0.006 * max(1.0, abs(value))
    except (SyntaxError, ValueError, KeyError, TypeError, ZeroDivisionError):
        return False


def evaluate(node: ast.expr) -> float:
    """Return the value of a sum, difference, product or quotient."""
    if isinstance(node, ast.BinOp):
        return float(OPERATORS[type(node.op)](evaluate(node.left), evaluate(node.right)))
    return float(ast.literal_eval(node))


class LanguageModel:
    """An n-gram model with Witten-Bell smoothing (Witten and Bell 1991)."""

    def __init__(self, texts: list[list[str]]) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()
        self.contexts: Counter[tuple[str, ...]] = Counter()
        self.types: Counter[tuple[str, ...]] = Counter()
        for text in texts:
            for ngram in self.ngrams(text):
                for start in range(ORDER):
                    part = ngram[start:]
                    self.types[part[:-1]] += part not in self.counts
                    self.counts[part] += 1
                    self.contexts[part[:-1]] += 1

    @staticmethod
    def ngrams(text: list[str]) -> list[tuple[str, ...]]:
        """Return a token and those before it, for each token and the end."""
        padded = ["<s>"] * (ORDER - 1) + text + ["</s>"]
        return [tuple(padded[n : n + ORDER]) for n in range(len(text) + 1)]

    def log_probability(self, text: list[str]) -> float:
        """Return the mean log probability of the tokens and the end."""
        logs = [math.log(self.probability(ngram)) for ngram in self.ngrams(text)]
        return sum(logs) / len(logs)

    def probability(self, ngram: tuple[str, ...]) -> float:
        """Return the probability of the last token after those before it."""
        if not ngram:
            return 1 / (1 + self.types[()])
        context = ngram[:-1]
        shorter = self.probability(ngram[1:])
        total = self.contexts[context] + self.types[context]
        return (self.counts[ngram] + self.types[context] * shorter) / total if total else shorter


class Verifier:
    """Conditional logit: which of the answers to a question is right, by their n-grams."""

    def __init__(self, problems: list[Problem], penalty: float = PENALTY) -> None:
        some = [one for one in problems if any(one["correct"]) and not all(one["correct"])]
        counts = Counter(
            ngram
            for one in some
            for text in one["texts"]
            for ngram in traits(one["question"], text)
        )
        frequent = sorted(ngram for ngram, count in counts.items() if count >= 5)
        self.columns = {ngram: n for n, ngram in enumerate(frequent)}
        right = np.array([one["correct"] for one in some], dtype=float)
        matrix = self.matrix(some)

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            scores = (matrix @ weights).reshape(right.shape)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares /= shares.sum(axis=1, keepdims=True)
            likelihood = (shares * right).sum(axis=1, keepdims=True)
            slopes = shares - shares * right / likelihood
            gradient = matrix.T @ slopes.ravel() + 2 * penalty * weights
            return penalty * weights @ weights - np.log(likelihood).sum(), gradient

        self.weights = minimize(loss, np.zeros(len(frequent)), jac=True, method="L-BFGS-B").x

    def matrix(self, problems: list[Problem]) -> csr_array:
        """Return which n-grams each answer has."""
        texts = [(one["question"], text) for one in problems for text in one["texts"]]
        cells = [
            (row, self.columns[ngram])
            for row, (question, text) in enumerate(texts)
            for ngram in traits(question, text)
            if ngram in self.columns
        ]
        places = tuple(np.array(cells).T)
        return csr_array((np.ones(len(cells)), places), shape=(len(texts), len(self.columns)))

    def marks(self, problem: Problem) -> np.ndarray:
        """Return a mark for each answer; higher is better."""
        return self.matrix([problem]) @ self.weights


def traits(question: str, text: str) -> set[str]:
    """Return words and pairs of words; a number is known, whole, or broken."""
    asked = set(TOKEN.findall(question.lower()))
    words = []
    for word in TOKEN.findall(text.lower()):
        if word[0].isdigit():
            kind = "<asked>" if word in asked else "<broken>" if "." in word else "<whole>"
            words.append(kind)
        else:
            words.append(word)
    return {*words, *(f"{one} {other}" for one, other in pairwise(words))}


def check(problems: list[Problem]) -> None:
    """Show the verifier's accuracy in five folds, for some penalties."""
    for penalty in (1.0, 3.0, 10.0, 30.0, 100.0):
        right = 0
        for fold in range(5):
            verifier = Verifier([one for n, one in enumerate(problems) if n % 5 != fold], penalty)
            unseen = problems[fold::5]
            right += sum(one["correct"][int(verifier.marks(one).argmax())] for one in unseen)
        click.echo(f"{penalty:g}: {100 * right / len(problems):.1f} %")


if __name__ == "__main__":
    main()

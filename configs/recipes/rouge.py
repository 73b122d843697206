"""ROUGE of rouge-score, the mean F of the segments: `--metric command:"python rouge.py rougeL"`."""

import sys

from rouge_score.rouge_scorer import RougeScorer

name, *options = sys.argv[1:]  # rouge1, rouge2 or rougeL; stem
scorer = RougeScorer([name], use_stemmer="stem" in options)
for line in sys.stdin:
    question, *texts = line.rstrip("\n").split(" ||| ")
    if question == "SCORE":
        *references, hypothesis = texts
        scores = [scorer.score(text, hypothesis)[name].fmeasure for text in references]
        print(max(scores), 1, flush=True)
    else:  # EVAL: sums of F and of segments
        total, segments = map(float, texts[0].split())
        print(total / segments, flush=True)

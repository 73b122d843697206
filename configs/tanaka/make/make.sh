#!/usr/bin/env bash
# Make the lists of configs/tanaka: some hours on one core.
#   make.sh CORPUS MOSES WORK OUT
# CORPUS is a checkout of https://github.com/odashi/small_parallel_enja (commit 312408a), MOSES a
# folder with bin/ and scripts/ of Moses, KenLM and MGIZA++. The Python found as `python` has torch,
# sentencepiece, kenlm and numpy; `portmert` is on PATH. Models and texts are kept in WORK.
set -euo pipefail
corpus=$1 moses=$2 work=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$work/models"
for side in ja en; do
  head -300 "$corpus/dev.$side" > "$work/dev.$side"
  head -300 "$corpus/test.$side" > "$work/test.$side"
  head -48500 "$corpus/train.$side" > "$work/train.$side"
  tail -1500 "$corpus/train.$side" | head -400 > "$work/qe.$side"
done
bash "$here/moses.sh" "$moses" "$work"
transformer() { python "$here/transformer.py" "$@"; }
train=(--source "$work/train.ja" --target "$work/train.en" --batch 2500)
transformer train "$work/models/l2r" "${train[@]}" --steps 1500 --seed 1
transformer train "$work/models/r2l" "${train[@]}" --steps 1700 --seed 2 --right-to-left \
  --pieces bpe --source-words 2500 --target-words 2500 --layers 2 2
transformer train "$work/models/reverse" --source "$work/train.en" --target "$work/train.ja" \
  --batch 2500 --steps 1500 --seed 3 --dim 160 --layers 2 2
for set in qe dev test; do
  [ $set = qe ] && most=8 || most=30
  for model in l2r r2l; do
    transformer decode "$work/models/$model" --source "$work/$set.ja" --nbest $most \
      --out "$work/$model.$set.nbest"
  done
done

align=(portmert align --train-source "$work/train.ja" --train-target "$work/train.en"
  --model "$work/models/aligner")
for set in dev test; do
  # The source of each hypothesis of r2l, then the hypotheses; of l2r the first ones.
  awk -F ' \\|\\|\\| ' 'NR == FNR {source[NR - 1] = $0; next} {print source[$1]}' \
    "$work/$set.ja" "$work/r2l.$set.nbest" > "$work/r2l.source"
  awk -F ' \\|\\|\\| ' '{print $2}' "$work/r2l.$set.nbest" > "$work/r2l.target"
  awk -F ' \\|\\|\\| ' '!seen[$1]++ {print $2}' "$work/l2r.$set.nbest" > "$work/l2r.target"
  "${align[@]}" --source "$work/r2l.source" --target "$work/r2l.target" --out "$work/r2l.$set.links"
  "${align[@]}" --source "$work/$set.ja" --target "$work/l2r.target" --out "$work/l2r.$set.links"
  "${align[@]}" --source "$work/$set.ja" --target "$work/$set.en" --out "$work/$set.links"
done
python "$here/features.py" "$work" "$out"

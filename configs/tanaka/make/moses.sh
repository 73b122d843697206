#!/usr/bin/env bash
# Train a phrase system with Moses and MGIZA++, and decode lists under its first weights.
#   moses.sh MOSES WORK      (MOSES: folder with bin/ and scripts/; WORK: train, qe, dev, test .ja .en)
set -euo pipefail
moses=$1 work=$2
"$moses/bin/lmplz" -o 4 --discount_fallback -S 20% -T "$work" < "$work/train.en" > "$work/lm.arpa"
"$moses/bin/build_binary" "$work/lm.arpa" "$work/lm.bin"
"$moses/scripts/training/train-model.perl" -root-dir "$work/moses" -corpus "$work/train" -f ja -e en \
  -alignment grow-diag-final-and -reordering msd-bidirectional-fe -external-bin-dir "$moses/bin" \
  -mgiza -mgiza-cpus 1 -cores 1 -lm "0:4:$work/lm.bin:8" -max-phrase-length 7 > "$work/moses.log" 2>&1
for set in qe dev test; do
  [ $set = qe ] && most=8 || most=50
  "$moses/bin/moses" -f "$work/moses/model/moses.ini" -threads 1 -n-best-list "$work/moses.$set.nbest" \
    $most distinct -print-alignment-info-in-n-best true < "$work/$set.ja" > "$work/moses.$set.out"
done

#!/bin/sh
# Train the Moses system of a condition of the replication, and select its dev segments.
#
#   configs/paper-port/train-moses.sh DATA SOURCE TARGET MOSES OUT
#   configs/paper-port/train-moses.sh pydocs-zh-en zh en ~/moses replication/zh-en
#
# DATA has train.SOURCE.gz, train.TARGET.gz, and dev and test: tokenised text, one segment a line.
# With several references these are dev.TARGET0, dev.TARGET1 and so on, else dev.TARGET.
# MOSES has the folders bin and scripts of Moses; bin has the programs of MGIZA++ too.
# OUT gets the texts, the links of all references (.links) and the model (model/moses.ini).
#
# Training, dev and test pairs are aligned together; phrases are extracted from training pairs alone.
# One processor does it in 5 to 15 minutes. What is there already is not made again.
set -eu
export LC_ALL=C
data=$(realpath "$1") source=$2 target=$3 moses=$(realpath "$4")
mkdir -p "$5" && cd "$5"

if [ ! -e train.done ]; then
    zcat "$data/train.$source.gz" > "train.$source"
    zcat "$data/train.$target.gz" > "train.$target"
    cp "train.$source" "all.$source" && cp "train.$target" "all.$target"
    for part in dev test; do
        for reference in "$data/$part.$target"*; do
            cat "$data/$part.$source" >> "all.$source"
            cat "$reference" >> "all.$target"
        done
    done

    "$moses/bin/lmplz" -o 5 -S 1G -T . < "train.$target" > lm.arpa
    "$moses/bin/build_binary" lm.arpa lm.bin

    # train CORPUS ALIGNMENT-STEPS: 1 to 3 align, 4 to 9 make the tables and moses.ini.
    train() {
        "$moses/scripts/training/train-model.perl" -root-dir "$PWD" -corpus "$PWD/$1" \
            -f "$source" -e "$target" -external-bin-dir "$moses/bin" -mgiza -mgiza-cpus 1 \
            -alignment grow-diag-final-and -reordering msd-bidirectional-fe \
            -lm "0:5:$PWD/lm.bin:8" -first-step "$2" -last-step "$3" >> train.log 2>&1
    }
    train all 1 3
    mv model/aligned.grow-diag-final-and all.links
    head -n "$(wc -l < "train.$source")" all.links > model/aligned.grow-diag-final-and
    train train 4 9

    # The links after those of the training pairs are those of dev and test, in the order above.
    first=$(($(wc -l < "train.$source") + 1))
    for part in dev test; do
        size=$(wc -l < "$data/$part.$source")
        cp "$data/$part.$source" .
        for reference in "$data/$part.$target"*; do
            name=$(basename "$reference")
            cp "$reference" .
            tail -n "+$first" all.links | head -n "$size" > "$name.links"
            first=$((first + size))
        done
    done
    touch train.done
fi

# select FILE N: N lines at equal distances, or all if there are not so many.
select() {
    awk -v n="$2" -v size="$(wc -l < "$1")" \
        'n >= size || int(NR * n / size) > int((NR - 1) * n / size)' "$1"
}
for file in dev.*; do
    for size in 50 200 500 1000; do
        select "$file" "$size" > "dev$size.${file#dev.}"
    done
done
rm -rf filtered
cat "dev.$source" "test.$source" > both
"$moses/scripts/training/filter-model-given-input.pl" filtered model/moses.ini both

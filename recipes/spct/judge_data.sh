#!/usr/bin/env bash
# Rows to train the judge of the package on: generated items and GSM8K's training questions, in 16 processes.
#     recipes/spct/judge_data.sh OUT.jsonl ROWS GSM8K_TRAIN.jsonl [forms]
# ROWS is about what comes out. With `forms`, a third of the verifier's rows ask for normal forms before the verdict.
# The same arguments give the same rows.
set -euo pipefail
out=$1 rows=$2 gsm8k=$3 forms=${4:-}
processes=${PROCESSES:-16}
export PYTHON=${PYTHON:-python3}
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
hard=(-k fraction:3 -k algebra:3 -k ratio:2 -k units:3 -k big:3 -k set:2 -k yesno:2 -k name:2 -k choice:2 -k clock:2 -k percent:2)
answers=(-k answers -k problems "${hard[@]}" --judge verifier --shape single)

# name, share of the rows in percent, flags
slice() {
    local name=$1 share=$2
    shift 2
    local count=$((rows * share / 100 / processes)) place
    for ((place = 0; place < processes; place++)); do
        printf '%s\0' "$parts/$name-$place.jsonl" "$((place * count))" "$count" "$*"
    done
}

plan() {
    if [[ $forms ]]; then
        slice en 28 "${answers[@]}" --language en
        slice zh-en 9 "${answers[@]}" --language zh --judge-options '{"language":"en"}'
        slice forms 18 "${answers[@]}" --language en --seed 3 --judge-options '{"forms":true}'
        slice forms-zh 7 "${answers[@]}" --language zh --seed 1 --judge-options '{"language":"en","forms":true}'
    else
        slice en 48 "${answers[@]}" --language en
        slice zh-en 14 "${answers[@]}" --language zh --judge-options '{"language":"en"}'
    fi
    slice zh 12 "${answers[@]}" --language zh --seed 2
    slice worked 9 --worked "$gsm8k" --judge verifier --shape single
    slice pairs 14 -k answers -k problems --judge pointwise --target verdict --shape pair --judge-options '{"language":"en"}'
    slice worked-pairs 3 --worked "$gsm8k" --judge pointwise --target verdict --shape pair
}

plan | xargs -0 -n 4 -P "$processes" bash -c \
    'read -ra flags <<<"$3"; exec "$PYTHON" -m assay data generate -o "$0" --start "$1" -n "$2" "${flags[@]}" >/dev/null' \
    || exit 1
cat "$parts"/*.jsonl >"$out"
wc -l "$out"

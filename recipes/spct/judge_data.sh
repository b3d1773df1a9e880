#!/usr/bin/env bash
# Rows to train the judge of the package on: generated items and GSM8K's training questions, in 16 processes.
#     recipes/spct/judge_data.sh OUT.jsonl ROWS GSM8K_TRAIN.jsonl
# ROWS is about what comes out. Every text writes the normal forms of the answers before its verdict.
# The same arguments give the same rows.
set -euo pipefail
out=$1 rows=$2 gsm8k=$3
processes=${PROCESSES:-16}
export PYTHON=${PYTHON:-python3}
parts=$(mktemp -d)
trap 'rm -rf "$parts"' EXIT
hard=(-k fraction:3 -k algebra:3 -k ratio:2 -k units:3 -k unit-asked:3 -k big:3 -k set:3 -k yesno:2 -k name:2 -k fact:3)
hard+=(-k choice:2 -k clock:2 -k percent:2 -k integer:2 -k decimal:2 -k interval:2)
answers=(-k answers -k problems "${hard[@]}" --judge verifier --shape single)
pairs=(--judge pointwise --target forms --shape pair)
english='{"language":"en","forms":true}'

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
    slice en 46 "${answers[@]}" --language en --judge-options "$english"
    slice zh-en 15 "${answers[@]}" --language zh --judge-options "$english"
    slice zh 9 "${answers[@]}" --language zh --seed 2 --judge-options '{"forms":true}'
    slice worked 9 --worked "$gsm8k" --judge verifier --shape single --judge-options "$english"
    slice pairs 17 -k answers -k problems "${pairs[@]}" --judge-options '{"language":"en"}'
    slice worked-pairs 4 --worked "$gsm8k" "${pairs[@]}"
}

plan | xargs -0 -n 4 -P "$processes" bash -c \
    'read -ra flags <<<"$3"; exec "$PYTHON" -m assay data generate -o "$0" --start "$1" -n "$2" "${flags[@]}" >/dev/null' \
    || exit 1
cat "$parts"/*.jsonl >"$out"
wc -l "$out"

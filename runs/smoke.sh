#!/bin/sh
# The whole path in small, on a CPU, in about two minutes: data, training, resuming, evaluation, a
# sweep, the report. Everything goes to the folder out/smoke, which is made anew.
#
#     runs/smoke.sh              with the python at hand
#     PYTHON=.venv/bin/python runs/smoke.sh
set -eu
cd "$(dirname "$0")/.."
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}"
out=out/smoke
permnet() { "${PYTHON:-python3}" -m permnet "$@"; }

rm -rf "$out"
mkdir -p "$out/results/runs"

permnet data PI1-4 --split test --limit 3

# Stopped in the middle on purpose, then resumed to the end.
tiny="--model.embedding 32 --model.hidden 32 --train.batch 256 --train.examples 20000
      --train.rate 0.003 --train.epochs 8 --train.evaluate-every 1 --train.evaluate-limit 1000"
permnet train PI1-4 --out "$out/pi4" --device cpu --test-limit 2000 --time-budget 12 $tiny
permnet train PI1-4 --out "$out/pi4" --device cpu --test-limit 2000 --resume $tiny

permnet eval "$out/pi4/last" --split validation --limit 1000
permnet resolve --model "$out/pi4/last" "a 1 b 2 c 3 <sep> 1 3 2"

permnet sweep smoke --out "$out/sweep" --device cpu --test-limit 500
cp "$out"/sweep/results/*.json "$out/results/runs/"
permnet report --results "$out/results" --out "$out"
permnet report --results "$out/results" --out "$out" --check
echo "smoke: all is well, see $out/RESULTS.md"

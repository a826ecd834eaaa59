#!/bin/sh
# The whole campaign: every table of the paper, on one GPU. Hours of an H200; what matters most
# comes first. Killed or out of time, start it again: finished runs are left alone, the others
# resumed, and whatever is finished goes into results/runs/ and the report.
#
#     runs/reproduce.sh                  all of it
#     runs/reproduce.sh table3 noise     only these sweeps, or rows such as permneti-PI10
#     OUT=/data/permnet SECONDS_LEFT=7000 PARALLEL=4 runs/reproduce.sh
#
# OUT is where the runs are kept (out/campaign); SECONDS_LEFT, if set, is when each sweep stops with
# checkpoints; PARALLEL, how many runs share the GPU.
set -eu
cd "$(dirname "$0")/.."
out="${OUT:-out/campaign}"
permnet() { "${PYTHON:-python3}" -m permnet "$@"; }

# Tables 1-5, PermNets by the paper's recipes, PD100 last; distractors; recipes of our own;
# ablations; baselines; and two more rates for baselines, worth it for those that failed only.
[ $# -gt 0 ] || set -- paper-permnets noise ours table6 table7 baselines rates
mkdir -p results/runs
status=0
for name in "$@"; do
    permnet sweep "$name" --out "$out" --parallel "${PARALLEL:-1}" \
        ${SECONDS_LEFT:+--time-budget "$SECONDS_LEFT"} || status=1
    if [ -d "$out/results" ]; then
        cp "$out"/results/*.json results/runs/
        permnet report --checkpoints "$out"
    fi
done
[ "$status" = 0 ] || echo "some runs failed: see above" >&2
exit "$status"

#!/bin/sh
# A campaign on a GPU that is lent for a while, through shells that end: it goes on without them.
#
#     runs/detached.sh start OUT SECONDS NAME…     begin, or go on with what OUT holds; for so long
#     runs/detached.sh show OUT                    how far it is
#     runs/detached.sh wait OUT SECONDS            the same when it has ended, or after so long
#     runs/detached.sh stop OUT                    end it, with checkpoints
#     runs/detached.sh pack OUT FOLDER [RUN…]      what is finished, and RUNs as they are, to FOLDER;
#                                                  `begun` stands for all that are not finished
#
#     PARALLEL=5 DATA=out/d20 runs/detached.sh start /tmp/c 1700 decompiler-switch-20 table7
#     runs/detached.sh pack /tmp/c out/c decompiler-switch-20-seed0
#
# NAMEs are sweeps, rows or runs, as `permnet sweep` knows them; what results/ has is left out.
# PARALLEL runs share the GPU, through MPS where it is installed, and BESIDE those of campaigns
# started apart (which give way to the others with CUDA_MPS_CLIENT_PRIORITY=1). Small ones do so well;
# beside one that fills the GPU they wait for every kernel. `kill $(cat OUT/runs/RUN/.lock)` stops a
# single run, with a checkpoint; `kill -9` takes all along that share the GPU. With WHOLE=1 no run is
# begun that would not end in time, by what like runs took. DATA is the folder of
# switch sets, which a run reads when it begins. The campaign has its own copy of the code, so OUT
# lies outside of the project, or in its folder out. `pack` writes results.tar.gz, with the log and
# the answers that `permnet score --recompile` judges, and, in parts of 15 MB that `cat` puts
# together, the folders of the RUNs with all that they need to go on: unpacked into OUT, they do.
set -eu
cd "$(dirname "$0")/.."

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

start() {
    out=$1 seconds=$2
    shift 2
    mkdir -p "$out/code"
    out=$(cd "$out" && pwd)
    data="${DATA:+$(mkdir -p "$DATA" && cd "$DATA" && pwd)}"
    # With .git, so that results say which commit they are of.
    tar c --exclude ./out --exclude ./vendor --exclude ./.venv . | tar x -C "$out/code"
    if command -v nvidia-cuda-mps-control >/dev/null; then
        nvidia-cuda-mps-control -d || echo "MPS is not started, or runs already" >&2
    fi
    cd "$out/code"
    set -- "$@" --missing --carry results --out "$out/runs" --parallel "${PARALLEL:-1}" \
        --beside "${BESIDE:-0}" --time-budget "$seconds" ${data:+--data "$data"} ${WHOLE:+--whole}
    # What is wrong with the request is said here, not in the log.
    "${PYTHON:-python3}" -m permnet sweep "$@" --dry-run
    PYTHONUNBUFFERED=1 setsid "${PYTHON:-python3}" -m permnet sweep "$@" >>"$out/log" 2>&1 </dev/null &
    echo $! >"$out/pid"
    echo "started: $out/log says how it goes"
}

pack() {
    out=$1 to=$2
    shift 2
    mkdir -p "$to"
    to=$(cd "$to" && pwd)
    cd "$out"
    tail -n 20 log
    { echo log; find runs -path 'runs/results/*' -o -path 'runs/*/answers/*'; } |
        tar czf "$to/results.tar.gz" -T -
    for run in "$@"; do
        folders=runs/$run
        [ "$run" != begun ] || folders=$(begun)
        rm -f "$to/$run.tar.gz."*
        [ -n "$folders" ] || continue
        # A checkpoint may be replaced while it is read: tar then fails, and is asked once more.
        tar cf "$to/part" --exclude best $folders || tar cf "$to/part" --exclude best $folders
        gzip -c "$to/part" | split -b 15M - "$to/$run.tar.gz."
        rm "$to/part"
    done
}

show() {
    cd "$1"
    tail -n 20 log
    for run in $(begun); do
        [ ! -e "$run/metrics.jsonl" ] || echo "${run#runs/} $(tail -n 1 "$run/metrics.jsonl")"
    done
}

running() {
    # A process that has ended may stay listed until it is asked about.
    grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$(cat "$1/pid")/status"
}

wait_for() {
    end=$(($(date +%s) + $2))
    while running "$1" && [ "$(date +%s)" -lt "$end" ]; do
        sleep 1
    done
    show "$1"
}

begun() {
    for file in runs/*/run.json; do
        [ ! -e "$file" ] || [ -e "${file%run.json}result.json" ] || echo "${file%/run.json}"
    done
}

[ $# -ge 2 ] || usage
case $1 in
    start) [ $# -ge 4 ] || usage; shift; start "$@" ;;
    show) show "$2" ;;
    wait) [ $# = 3 ] && [ "$3" -ge 0 ] || usage; wait_for "$2" "$3" ;;
    stop) cd "$2"; kill "$(cat pid)" ;;
    pack) [ $# -ge 3 ] || usage; shift; pack "$@" ;;
    *) usage ;;
esac

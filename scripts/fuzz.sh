#!/usr/bin/env bash
# Builds one fuzz target and runs it: scripts/fuzz.sh TARGET SECONDS. TARGET is gguf, jinja…: tests/fuzz/TARGET_fuzz.cc.
# Starts from the seeds in tests/fuzz/corpus/TARGET; what it finds new is kept in build/fuzz/corpus/TARGET for the next
# run. A crash leaves its input in build/fuzz/crashes and fails: mend the fault and add the input to the seeds.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# != 2 ] || [ ! -f "tests/fuzz/$1_fuzz.cc" ] || [[ ! $2 =~ ^[1-9][0-9]*$ ]]; then
  printf 'usage: scripts/fuzz.sh TARGET SECONDS\ntargets:' >&2
  for source in tests/fuzz/*_fuzz.cc; do printf ' %s' "$(basename "$source" _fuzz.cc)" >&2; done
  printf '\n' >&2
  exit 2
fi
target=$1 seconds=$2 build=build/fuzz

mkdir -p "$build/corpus/$target" "$build/crashes"
log=$build/fuzz-$target.log
# Several targets may be asked for at once; one build at a time.
if ! flock "$build" sh -c "cmake --preset fuzz -DINFERENS_TESTS=ON && cmake --build $build --target fuzz_$target" >"$log" 2>&1; then
  cat "$log"
  exit 1
fi

dictionary=()
[ -f "tests/fuzz/$target.dict" ] && dictionary=("-dict=tests/fuzz/$target.dict")
# A single allocation of 64 MB for inputs of some kilobytes is a fault, like a crash or ten seconds for one input.
exec "$build/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=64 \
  -max_len=16384 -print_final_stats=1 -verbosity=0 -artifact_prefix="$build/crashes/$target-" "${dictionary[@]}" \
  "$build/corpus/$target" "tests/fuzz/corpus/$target"

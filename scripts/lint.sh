#!/usr/bin/env bash
# Taste, kept by tools: clang-format for layout, check_layers.py for the house rules, clang-tidy for the list in .clang-tidy.
#
# usage: scripts/lint.sh format           rewrite the sources in the one layout
#        scripts/lint.sh check [FILE…]    report; FILEs narrow the slow part, clang-tidy
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest of a clang tool by its versioned Debian names, else the plain one.
tool() {
  local found
  found=$(compgen -c "$1-" | grep -E "^$1-[0-9]+$" | sort -t- -k3 -rn | head -n 1 || true)
  printf '%s' "${found:-$1}"
}
sources() { git ls-files -co --exclude-standard -- '*.h' '*.cc'; }

scripts/setup.sh dev
clang_format=$(tool clang-format)
case "${1:-check}" in
  format) sources | xargs "$clang_format" -i ;;
  check)
    shift || true
    failed=0
    python3 scripts/check_layers.py || failed=1
    sources | xargs "$clang_format" --dry-run -Werror || failed=1
    cmake --preset release >/dev/null
    if (($# == 0)); then mapfile -t files < <(git ls-files -- 'src/*.cc'); else files=("$@"); fi
    # The compile commands are g++'s; clang does not know all of its warnings.
    printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 4 "$(tool clang-tidy)" -p build/release --quiet \
      --extra-arg=-Wno-unknown-warning-option || failed=1
    exit "$failed"
    ;;
  *) printf "lint: '%s' is neither format nor check\n" "$1" >&2; exit 2 ;;
esac

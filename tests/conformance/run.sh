#!/usr/bin/env bash
# Runs the official SDKs against the server. They are installed under build/conformance, the versions that
# requirements.txt and package.json name; what cannot be installed (no network, no node) is said and left out.
# usage: run.sh TEST_SERVE_PROGRAM
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "$1")
work="$root/build/conformance"
mkdir -p "$work"

# Installs again only when the list of versions has changed.
install_python() {
  cmp -s "$root/tests/conformance/requirements.txt" "$work/requirements.done" && return 0
  python3 -m venv "$work/python" && "$work/python/bin/pip" install -q --disable-pip-version-check -r "$root/tests/conformance/requirements.txt" &&
    cp "$root/tests/conformance/requirements.txt" "$work/requirements.done"
}
install_node() {
  mkdir -p "$work/node" && cp "$root/tests/conformance/sdks.mjs" "$work/node/"
  cmp -s "$root/tests/conformance/package.json" "$work/package.done" && return 0
  cp "$root/tests/conformance/package.json" "$work/node/" && (cd "$work/node" && npm install --no-audit --no-fund --ignore-scripts --silent) &&
    cp "$root/tests/conformance/package.json" "$work/package.done"
}

if install_python >"$work/python.log" 2>&1; then
  export INFERENS_SDK_PYTHON="$work/python/bin/python"
else
  echo "conformance: SKIPPED for Python: its SDKs cannot be installed, see $work/python.log" >&2
fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "conformance: SKIPPED for JavaScript: there is no node or no npm" >&2
elif install_node >"$work/node.log" 2>&1; then
  export INFERENS_SDK_NODE="$work/node"
else
  echo "conformance: SKIPPED for JavaScript: its SDKs cannot be installed, see $work/node.log" >&2
fi
exec "$program" --gtest_brief=1 --gtest_filter='ConformanceTest.*'

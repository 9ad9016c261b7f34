#!/usr/bin/env bash
# Brings the one source package that Debian does not have into the clone: xgrammar (Apache-2.0), whose C++ core masks
# tokens for structured output. It is fetched by the user's own pip, so that mirrors, proxies and certificates are those
# that pip is set up with, and checked against its SHA-256. When it is already there, this returns at once.
#
# usage: scripts/fetch_sources.sh     INFERENS_XGRAMMAR_SDIST=FILE uses a file at hand, for machines without network
set -euo pipefail

version=0.2.9
sha256=87b466bca2475e29bb0323abc62c6c33cbcbcff47e5fb800a3e2099ac9620b90
root=${BASH_SOURCE[0]%/*}/..
target=$root/.deps/xgrammar-$version

[ ! -e "$target/include/xgrammar/xgrammar.h" ] || exit 0

fail() {
  printf 'setup: the sources of xgrammar %s (needed to build): %s\n' "$version" "$1" >&2
  exit 1
}

# Beside the target, so that the last step is one rename.
mkdir -p "$root/.deps"
work=$(mktemp -d "$root/.deps/fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT

# pip asks a source package's build system for its metadata before it keeps the package. This one needs a build system
# that is not wanted here; a stand-in answers, so that nothing else is downloaded and nothing of the package runs.
stand_in() {
  mkdir -p "$work/python/scikit_build_core"
  : >"$work/python/scikit_build_core/__init__.py"
  cat >"$work/python/scikit_build_core/build.py" <<'PYTHON'
import os


def prepare_metadata_for_build_wheel(directory, config_settings=None):
    name = "xgrammar.dist-info"
    os.makedirs(os.path.join(directory, name))
    with open(os.path.join(directory, name, "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\nName: xgrammar\nVersion: @VERSION@\n")
    return name
PYTHON
  sed -i "s/@VERSION@/$version/" "$work/python/scikit_build_core/build.py"
}

fetch() {
  python3 -m pip --version >/dev/null 2>&1 || fail 'python3 has no pip; install it (Debian: apt install python3-pip)'
  stand_in
  printf 'xgrammar==%s --hash=sha256:%s\n' "$version" "$sha256" >"$work/requirements.txt"
  printf 'setup: fetching the sources of xgrammar %s\n' "$version" >&2
  if ! PYTHONPATH=$work/python python3 -m pip download --quiet --no-input --disable-pip-version-check --no-deps \
    --no-binary :all: --no-build-isolation --require-hashes -r "$work/requirements.txt" -d "$work" >"$work/log" 2>&1; then
    tail -n 5 "$work/log" >&2
    fail "pip could not download them; is the network reachable? With a copy at hand: INFERENS_XGRAMMAR_SDIST=xgrammar-$version.tar.gz $0"
  fi
}

archive=${INFERENS_XGRAMMAR_SDIST:-}
if [ -z "$archive" ]; then
  work=$(cd "$work" && pwd)
  fetch
  archive=$work/xgrammar-$version.tar.gz
fi
[ -r "$archive" ] || fail "cannot read $archive"
printf '%s  %s\n' "$sha256" "$archive" | sha256sum --check --status || fail "$archive is not the expected file (SHA-256 $sha256)"
tar -xzf "$archive" -C "$work" "xgrammar-$version/cpp" "xgrammar-$version/include" "xgrammar-$version/3rdparty/picojson" \
  "xgrammar-$version/3rdparty/dlpack" "xgrammar-$version/LICENSE" "xgrammar-$version/NOTICE" || fail "cannot unpack $archive"
rm -rf "$target"
mv "$work/xgrammar-$version" "$target"

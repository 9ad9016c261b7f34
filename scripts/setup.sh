#!/usr/bin/env bash
# Installs the Debian packages that are missing; when none is, it returns at once without root and without network.
# It only adds: nothing already installed is named to apt, and nothing may be removed. Then fetch_sources.sh brings what
# Debian does not have.
#
# usage: scripts/setup.sh [build|test|dev]     each group holds the one before it; without a word: build
set -euo pipefail

# To build and run the program. python3-pip is what `inferens pull pypi:…` calls.
build_packages=(
  g++ cmake ninja-build make pkg-config ca-certificates
  libspdlog-dev nlohmann-json3-dev libutf8proc-dev libssl-dev libcurl4-openssl-dev libarchive-dev
  libcli11-dev libedit-dev libhwy-dev libxxhash-dev libsimdjson-dev prometheus-cpp-dev
  python3 python3-pip
)
# Boost.Asio with coroutine cancellation came with 1.81; Debian 12 has it beside an older default.
if grep -qx 'VERSION_ID="12"' /etc/os-release 2>/dev/null; then build_packages+=(libboost1.81-dev); else build_packages+=(libboost-dev); fi
# To run every test: GoogleTest, PCRE2 as the reference of the pre-tokenizers, and clang for fuzzing and sanitizers,
# and a cross compiler with qemu for the kernels of aarch64.
test_packages=(libgtest-dev libgmock-dev libpcre2-dev clang-19 libclang-rt-19-dev g++-aarch64-linux-gnu qemu-user)
# To change the code: make format, make lint, make bench.
dev_packages=(clang-format-19 clang-tidy-19 libbenchmark-dev)

fail() {
  printf 'setup: %s\n' "$1" >&2
  exit 1
}

case "${1:-build}" in
  build) wanted=("${build_packages[@]}") ;;
  test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
  dev) wanted=("${build_packages[@]}" "${test_packages[@]}" "${dev_packages[@]}") ;;
  *) fail "unknown group '$1'; use build, test or dev" ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  printf 'setup: this is not a Debian system; the build needs what Debian calls: %s\n' "${wanted[*]}" >&2
  exec "${BASH_SOURCE[0]%/*}/fetch_sources.sh"
fi

# dpkg-query exits 1 when a name is unknown to it; those are missing like the ones it knows and does not have.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done
((${#missing[@]})) || exec "${BASH_SOURCE[0]%/*}/fetch_sources.sh"

as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || fail "these packages are missing, and installing them needs root or sudo: ${missing[*]}"
  as_root=(sudo)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 "$@" </dev/null
}

printf 'setup: installing %s\n' "${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# An update that fails in part (a foreign source that is down) need not stop us: the installation says what is missing.
apt update >"$log" 2>&1 || printf 'setup: apt-get update had errors; trying with the package lists at hand\n' >&2
if ! apt install --no-install-recommends --no-remove "${missing[@]}" >>"$log" 2>&1; then
  tail -n 25 "$log" >&2
  fail "apt-get could not install: ${missing[*]} (Debian 12 and 13 have all of them; is the network reachable?)"
fi
"${BASH_SOURCE[0]%/*}/fetch_sources.sh"

#!/usr/bin/env bash
# The kernel tests on aarch64: cross-compiles the kernels (and googletest from its Debian sources) and runs them under
# qemu-user. Exit 77 (skipped) where the cross compiler or qemu is not installed.
# Usage: aarch64_under_qemu.sh SOURCE_DIR WORK_DIR
set -euo pipefail
source_dir=$1
work=$2
cxx=aarch64-linux-gnu-g++
gtest=/usr/src/googletest/googletest
for need in "$cxx" qemu-aarch64; do
  command -v "$need" >/dev/null || { echo "skipped: $need is not installed"; exit 77; }
done
[ -f "$gtest/src/gtest-all.cc" ] || { echo "skipped: googletest sources are not installed"; exit 77; }
mkdir -p "$work"
flags="-std=c++20 -O1 -ffp-contract=off -I$source_dir/src -I$source_dir/include -I$gtest/include -I$gtest"
sources="$gtest/src/gtest-all.cc $gtest/src/gtest_main.cc $source_dir/tests/kernels/matmul_test.cc
  $(ls "$source_dir"/src/formats/*.cc) $source_dir/src/kernels/isa.cc $source_dir/src/kernels/kernel_table.cc
  $source_dir/src/kernels/pack.cc $source_dir/src/kernels/row_block_rare.cc $source_dir/src/kernels/matmul.cc $source_dir/src/kernels/portable/kernels.cc
  $(ls "$source_dir"/src/base/*.cc | grep -v '/log\.cc$')"
objects=""
for s in $sources; do
  o="$work/$(echo "${s#"$source_dir"/}" | tr '/' '_').o"
  objects="$objects $o"
  [ "$o" -nt "$s" ] || echo "$cxx $flags -c $s -o $o"
done | xargs -r -P "$(nproc)" -I{} sh -c '{}'
for s in $sources; do objects="$objects $work/$(echo "${s#"$source_dir"/}" | tr '/' '_').o"; done
# shellcheck disable=SC2086
$cxx $flags -march=armv8.2-a+dotprod+fp16 -c "$source_dir/src/kernels/neon/kernels.cc" -o "$work/neon.o"
# shellcheck disable=SC2086
$cxx -static $objects "$work/neon.o" -lpthread -o "$work/test_kernels_aarch64"
qemu-aarch64 -cpu max "$work/test_kernels_aarch64" "${@:3}"

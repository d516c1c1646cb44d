#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# author.sh <clone of https://github.com/siboehm/SGEMM_CUDA> <build directory> - which mechanisms a kernel by another author
# loses by passes alone. Compiles its kernel 12 before and after to PTX (nvcc). Prints a line per mechanism: its name, and how
# often its evidence stands in the PTX before and after. Ends with 1 if one of the two cannot be compiled.
set -eu
clone=$1
build=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/klineage-author-XXXXXX")
trap 'rm -rf "$work"' EXIT

# the kernel alone: its file includes cuBLAS for others, and an instance has to be asked for
{
	echo 'const int WARPSIZE = 32;'
	git -C "$clone" show 60cba6f9b20a198116c76f18de8047f44df8c8b8:src/kernels/12_kernel_double_buffering.cuh | grep -v '#include <cublas'
	echo
	echo 'template __global__ void runSgemmDoubleBuffering2<128, 128, 16, 64, 64, 4, 8, 4, 128>'
	echo '(int, int, int, float, float *, float *, float, float *);'
} >"$work/before.cu"
"$build/bench/pass" copy-at-once scalar-load drop-bounds roll-loop drop-restrict unpad drop-swizzle unshuffle \
	<"$work/before.cu" >"$work/after.cu" 2>"$work/places"
for state in before after; do
	nvcc -arch=sm_80 -std=c++17 -ptx -o "$work/$state.ptx" "$work/$state.cu" 2>"$work/why" || { cat "$work/why" >&2; exit 1; }
done

# mechanism <name> <pattern>
mechanism () {
	echo "$1 $(grep -c "$2" "$work/before.ptx" || :) $(grep -c "$2" "$work/after.ptx" || :)"
}

mechanism cp-async 'cp\.async\.c[ag]'
mechanism vector-load '\(ld\|st\)\.global.*\.v4\.'
mechanism launch-bounds '\.maxntid'
# copies of the product beyond the one that a loop has
echo "unroll $(($(grep -c 'fma\.rn\.f32' "$work/before.ptx") - 1)) $(($(grep -c 'fma\.rn\.f32' "$work/after.ptx") - 1))"

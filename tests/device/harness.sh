#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/device/harness.sh - seconds from source to verdict beside a harness around PyTorch, in one run on one GPU:
#
#	harness.sh <dir> [<out>]	<dir> is what everything.sh packed; <out> (default: <dir>/out) gets the logs
#
# The newest state of cuda-gemm and cuda-topk: by harness.py with load_inline (the first time, then with its build cached) and
# with NVRTC, each in a process of its own; by git-klineage from a cold process, and as one of several distinct states. Prints
# one table last. Needs python3 with PyTorch, nvcc, gcc, make and git.
# shellcheck disable=SC2015,SC2086 # `a && b || die` is meant; lists hold no blanks
here=$(cd "$(dirname "$0")" && pwd)

die () {
	echo "harness.sh: $*" >&2
	exit 2
}

# judge <name> <way> <what>: a row
judge () {
	from=$(date +%s.%N)
	timeout 200 python3 "$here/harness.py" "$1" "$2" "$out/seconds/$1" "$out/cache-$1" >"$out/harness.line" 2>"$out/harness.err"
	rc=$?
	took=$(echo "$from $(date +%s.%N)" | awk '{ printf "%.2f", $2 - $1 }')
	echo "== $1 $3 ($rc, $took s)" >>"$out/harness.log"
	cat "$out/harness.line" "$out/harness.err" >>"$out/harness.log"
	words=$(tr -d '{}"' <"$out/harness.line" | tr ',' ';')
	test -n "$words" || words="exit code $rc: $(grep . "$out/harness.err" | tail -n 1 | cut -c 1-200)"
	printf '| %s | %s | %s | %s |\n' "$1" "$3" "$took" "$(echo "$words" | sed 's/|/\\|/g')" >>"$out/harness.table"
}

test -n "$1" || die "usage: harness.sh <dir> [<out>]"
dir=$(cd "$1" && pwd) || die "no directory '$1'"
out=${2:-$dir/out}
mkdir -p "$out" && out=$(cd "$out" && pwd) || die "no directory '$out'"
# git-klineage first: its repositories have the kernels
EVERYTHING_PARTS=seconds sh "$here/everything.sh" run "$dir" "$out" >"$out/ours" || echo "some states of git-klineage are slow or fail" >&2
printf '| kernel | how | seconds | what it says |\n| --- | --- | --- | --- |\n' >"$out/harness.table"
: >"$out/harness.log"
grep '^| seconds:' "$out/ours" | sed 's/^| seconds: \([a-z]*\), \([^|]*\) | \([^|]*\) | \([^|]*\) |.*/| \1 | git-klineage, \2 | \4 | one takes \3 |/' \
	>>"$out/harness.table"
for name in gemm topk; do
	rm -rf "$out/cache-$name"
	judge $name inline "load_inline, first time"
	judge $name inline "load_inline, build cached"
	judge $name nvrtc NVRTC
done
rm -rf "$out"/cache-*
head -n 3 "$out/machine"
cat "$out/harness.table"
test -z "$OUT" || cp "$out/harness.table" "$out/harness.log" "$OUT/"

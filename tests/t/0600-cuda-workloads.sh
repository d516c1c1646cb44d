#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='the shipped CUDA workloads: each history replays, each state and oracle compiles'
. ./lib.sh

nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
test -n "$nvcc" && test_set_prereq NVCC

# cubin <source> <out> <flags...>
cubin () {
	from=$1 to=$2
	shift 2
	"$nvcc" -cubin -gencode=arch=compute_90a,code=sm_90a -std=c++17 -O3 -Werror all-warnings "$@" -o "$to" "$from"
}

# defines <plan>: what the plan has the compiler define
defines () {
	sed -n "s/^compile:.*define: {\([^}]*\)}.*/\1/p" "$1" | tr "," "\n" |
	sed -n "s/^ *\([A-Za-z_0-9]*\): *\([0-9]*\) *$/-D\1=\2/p"
}

# states <template>: its revisions, oldest first
states () {
	git -C "$1" rev-list --reverse HEAD
}

# rejected_on <mail>: the revision it is for, from the list in the file states
rejected_on () {
	n=$(sed -n "s/^On: state \([0-9]*\)$/\1/p" "$1")
	sed -n "${n:-$}p" states
}

for dir in "$KLINEAGE_TOP"/templates/workloads/cuda-*
do
	t=${dir##*/}
	sources=$(sed -n "s/^surface:.*sources: \[\([^]]*\)\].*/\1/p" "$dir/klineage.yaml" | tr "," "\n" | tr -d " ")
	src=$(printf "%s\n" "$sources" | grep "\.cu$")

	test_expect_success "$t: the history replays and touches the kernel alone" '
		git init -q "$t" &&
		git -C "$t" am -q "$dir"/history/*.patch &&
		printf "%s\n" "$sources" | sort >expect &&
		git -C "$t" log --name-only --format= | sort -u >actual &&
		test_cmp expect actual
	'

	test_expect_success "$t: each later step names action, mechanism and locus" '
		for rev in $(states "$t" | tail -n +2)
		do
			git -C "$t" log -1 --format=%B $rev |
			git interpret-trailers --parse >trailers &&
			for key in Action Mechanism Locus
			do
				says "Klineage-$key: " trailers || return 1
			done
		done
	'

	test_expect_success NVCC "$t: each state compiles without warnings" '
		for rev in $(states "$t")
		do
			git -C "$t" show $rev:"$src" >state.cu &&
			git -C "$t" show $rev:launch.yaml >state.yaml &&
			cubin state.cu state.cubin $(defines state.yaml) || return 1
		done
	'

	test_expect_success "$t: what was rejected applies to its state and says what breaks" '
		states "$t" >states &&
		for mail in "$dir"/rejected/*.patch
		do
			test -e "$mail" || continue
			git -C "$t" checkout -q -f "$(rejected_on "$mail")" &&
			git -C "$t" apply --check "$mail" &&
			says "Breaks: " "$mail" &&
			says "Klineage-Mechanism: " "$mail" || return 1
		done
	'

	test_expect_success NVCC "$t: what was rejected compiles without warnings" '
		for mail in "$dir"/rejected/*.patch
		do
			test -e "$mail" || continue
			git -C "$t" checkout -q -f "$(rejected_on "$mail")" &&
			git -C "$t" apply "$mail" &&
			cubin "$t/$src" state.cubin $(defines "$t"/launch.yaml) || return 1
		done
	'

	test_expect_success NVCC "$t: the oracle compiles in double and in float" '
		for real in double float
		do
			cubin "$dir"/oracle.cu oracle.cubin -fmad=false -Dkl_real=$real \
				-I "$KLINEAGE_TOP"/templates/runtime || return 1
		done
	'
done

test_have_prereq NVCC || echo "# nvcc is not here: nothing of CUDA was compiled" >&2
test_done

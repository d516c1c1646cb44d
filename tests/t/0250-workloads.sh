#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='the shipped C workloads: each history replays, and each state is a kernel of its own'
. ./lib.sh

# machine <source> <out> <flags...>: the code without addresses and file name
machine () {
	gcc -O2 "$3" -Wall -Wextra -Werror -c "$1" -o state.o &&
	objdump -d --no-show-raw-insn state.o | tail -n +4 >"$2"
}

# states <template>: its revisions, oldest first
states () {
	git -C "$1" rev-list --reverse HEAD
}

for dir in "$KLINEAGE_TOP"/templates/workloads/c-*
do
	t=${dir##*/}
	src=$(sed -n 's/^surface:.*sources: \[\([^],]*\).*/\1/p' "$dir/klineage.yaml")
	portable=$(sed -n 's/^portable: //p' "$dir/template.yaml")

	test_expect_success "$t: the history replays and touches the kernel alone" '
		git init -q "$t" &&
		git -C "$t" am -q "$dir"/history/*.patch &&
		echo "$src" >expect &&
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

	test_expect_success "$t: each state compiles without warnings to code of its own" '
		: >before &&
		for rev in $(states "$t")
		do
			git -C "$t" show $rev:"$src" >state.c &&
			machine state.c after -march=x86-64-v3 &&
			! cmp -s before after &&
			mv after before || return 1
		done
	'

	test_expect_success "$t: what was rejected compiles on the last state to other code, and says what breaks" '
		git -C "$t" show HEAD:"$src" >state.c && machine state.c before -march=x86-64-v3 &&
		for mail in "$dir"/rejected/*.patch
		do
			git -C "$t" checkout -q -f HEAD && git -C "$t" apply "$mail" &&
			test "$(git -C "$t" diff --name-only)" = "$src" &&
			machine "$t/$src" after -march=x86-64-v3 && ! cmp -s before after &&
			says "Breaks: " "$mail" && says "Klineage-Mechanism: " "$mail" || return 1
		done
	'

	test_expect_success "$t: the first $portable states are plain C" '
		test "$portable" -ge 2 &&
		for rev in $(states "$t" | head -n "$portable")
		do
			git -C "$t" show $rev:"$src" >state.c &&
			! grep immintrin state.c &&
			machine state.c plain -march=x86-64 || return 1
		done
	'
done

test_done

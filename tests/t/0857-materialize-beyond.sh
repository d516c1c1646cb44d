#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='materialize builds on a result that is as fast as the best, where no card makes the best faster'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
# twice as much arithmetic, so that a copy of the input costs little
chain="$(long_chain) $(long_chain)"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

# at_once: let the kernel compute a whole block by one function, eight elements at a time
at_once () {
	{
		sed '/^static void low/,$d' halves.c
		half all wide
		sed -n '/^#define BLOCK/,$p' halves.c | sed '/high(size/d; s,low(size / 2\, block,all(size\, block,'
	} >halves.new && mv halves.new halves.c
}

test_expect_success 'a card of one lineage is tried on the result of a card of another that gains nothing' '
	git init -q -b main two && (cd two && git config klineage.profileMs 1200 && contract . halves halves.c "v $chain" && halves plain plain plain && commit "halves: plain" &&
	halves blocked plain plain && commit "halves: by blocks" "$packed" && again git klineage deopt --rewriter history --name a &&
	git checkout -q --orphan other && commit "halves: by blocks" && at_once && commit "halves: a block at once" "$vector" && again git klineage deopt --rewriter history --name b &&
	git klineage lift halves/a halves/b >out && cat out && test "$(git ls-tree --name-only klineage/skills:cards | wc -l)" = 2 &&
	again git klineage materialize --root klineage/lineage/halves/a~1 --status hypothesis --name z >out && cat out &&
	test "$(git rev-parse "klineage/materialize/halves/z^{tree}:halves.c")" = "$(git rev-parse other:halves.c)" &&
	grep "^pack-panel-.*: node, merged three-way" out && grep "^vector-loop-.*: best, merged three-way" out && test "$(grep -c "^vector-loop-.*: left" out)" -le 1 &&
	git klineage fsck >out && says ": 0 errors" out)
'

test_done

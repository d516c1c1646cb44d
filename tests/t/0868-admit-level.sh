#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='admission: how far a state is from the evidence is told by its code, whatever its names are'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

# stepwise <directory> <workload> <operator> <code> <code of the last state>: commit a kernel, a prefetch in it, the vector version
stepwise () {
	mkdir "$1" && contract "$1" "$2" k.c "v * v $chain" "$3" && plain "$1/k.c" "$2" "v * v $chain" "$4" && commit "$1: one at a time" &&
	sed -i "s/^	int64_t i = 0;/&\n\n	__builtin_prefetch(x + n - 1);/" "$1/k.c" && commit "$1: a prefetch" "Klineage-Action: prefetch-off
Klineage-Mechanism: prefetch" &&
	wide "$1/k.c" "$2" "v * v $chain" "$5" && commit "$1: eight at a time" "$vector"
}
card_has () { git show "klineage/skills:cards/$(cat ../id).yaml" >card && says "$1" card; }
# tries <lineage> <step> <words...>: print what a trial of a tool on that state says
tries () {
	again git klineage admit --on "$(git rev-parse "klineage/lineage/$1~$2")" "$(cat ../id)" >out && cat out
}

test_expect_success 'a card of one expert; a copy of that expert under other names; experts that differ' '
	(git init -q -b main lib && cd lib && git config klineage.profileMs 1200 && expert scale scale "v $chain" &&
	mkdir copy && contract copy twice twice.c "v $chain" twice && plain copy/twice.c twice "v $chain" "/* mine */" && commit "twice: one at a time" &&
	wide copy/twice.c twice "v $chain" "/* mine */" && commit "twice: eight at a time" "$vector" &&
	stepwise kin kin kin "$(other_code)" "/* kin */" && for w in scale twice kin; do git klineage deopt --rewriter history --name x $w || return 1; done &&
	git rm -qr scale && stepwise far scale scale "$(other_code)" "$(other_code)" && git klineage deopt --rewriter history --name far scale &&
	GIT_AUTHOR_NAME="Some Body" GIT_AUTHOR_EMAIL=somebody@example.invalid git klineage deopt --rewriter history --name theirs scale &&
	git klineage lift scale/x >out && the_card >../id)
'

test_expect_success 'a copy with other names is the same code: it passes, and admits nothing' '
	(cp -R lib same && cd same && tries twice/x 1 && says ", same-code" out && says "a regression test, which never admits" out && says "passed; " out &&
	says "hypothesis -> hypothesis" out && card_has "level: same-code" && card_has "status: hypothesis" &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out)
'

test_expect_success 'another state of a lineage that leads to the same expert under another name is provisional' '
	(cp -R lib kin && cd kin && tries kin/x 2 && says ", other-state" out && says "hypothesis -> provisional" out && card_has "rule: 2" && card_has "status: provisional")
'

test_expect_success 'another expert of the workload admits with its second state' '
	(cp -R lib far && cd far && tries scale/far 2 && says ", other-lineage" out && says "hypothesis -> provisional" out &&
	tries scale/far 1 && says "provisional -> admitted" out && card_has "status: admitted")
'

test_expect_success 'one by somebody else admits with the first' '
	(cp -R lib theirs && cd theirs && git log -1 --format=%an klineage/lineage/scale/theirs &&
	tries scale/theirs 2 && says ", other-author" out && says "hypothesis -> admitted" out)
'

test_expect_success 'which state is tried is drawn: by the seed alone, and never the same code while another is left' '
	(cp -R lib draw && cd draw && for s in 1 2 3 4 5 6 7 8 9; do
		git klineage admit -n --seed $s $(cat ../id) >out && git klineage admit -n --seed $s $(cat ../id) >again && test_cmp out again &&
		says "drawn with --seed $s" out && says "would be tried" out && head -1 out >>../drawn || return 1
	done; sort -u ../drawn >states && cat states && test "$(wc -l <states)" -ge 2 && ! grep same-code states &&
	exits 129 git klineage admit -n --seed -1 $(cat ../id) 2>err)
'

test_expect_success 'what the card requires is asked of the state' '
	(cp -R lib needs && cd needs && git show klineage/skills:cards/$(cat ../id).yaml | sed "s/requires: \[\]/requires: [prefetch]/" >card &&
	says "requires: [prefetch]" card && put_card $(cat ../id) card &&
	exits 1 git klineage admit -n --on klineage/lineage/scale/far~2 $(cat ../id) >out && grep "the card requires .prefetch., which the state does not have" out &&
	git klineage admit -n --on klineage/lineage/scale/far~1 $(cat ../id))
'

test_done

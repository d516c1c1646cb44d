#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='admission: a card that only makes room for another, two at once, cards that cannot be tried'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
chain=$(long_chain)
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

# two_steps <directory> <workload> <element> <operator> <code>: first what makes room (a type, and a prefetch by which it is seen), then the loop
two_steps () {
	mkdir "$1" && contract "$1" "$2" "$2.c" "$3" "$4" && plain "$1/$2.c" "$2" "$3" "$5" && commit "$2: one at a time" &&
	sed -i "s/^	int64_t i = 0;/&\n\n	__builtin_prefetch(x + n - 1);\n	typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));\n	typedef const eight read;/" "$1/$2.c" &&
	commit "$2: room for eight" "Klineage-Action: prefetch-off
Klineage-Mechanism: prefetch" &&
	sed -i "s/^	typedef const eight read;/&\n\n	for (; i + 8 <= n; i += 8)\n		*(eight *)(y + i) = ELEMENT(*(read *)(x + i));/" "$1/$2.c" && commit "$2: eight at a time" "$vector"
}
# field <card> <key>: of its trials, or of the card where they have none
field () {
	git show "klineage/skills:cards/$1.yaml" >field.tmp && sed -n "/^ver:/,\$s/^ *$2: //p" field.tmp >field.ver &&
	if test -s field.ver; then cat field.ver; else sed -n "s/^$2: //p" field.tmp; fi
}
card_of () { git ls-tree --name-only klineage/skills:cards | sed -n "s/^\($1-[0-9a-f]*\)\.yaml$/\1/p"; }

# change <card> <sed script>
change () { git show "klineage/skills:cards/$1.yaml" | sed "$2" >changed && put_card "$1" changed; }

test_expect_success 'two experts in two steps; the first step is no gain, and makes room for the second' '
	(git init -q -b main base && cd base && git config klineage.profileMs 1200 && two_steps scale scale "v $chain" scale "/* scale */" && two_steps poly poly "v * v $chain" poly "$(other_code)" &&
	git klineage deopt --rewriter history --name x scale && git klineage deopt --rewriter history --name x poly && git klineage log scale/x &&
	git klineage lift scale/x && room=$(card_of prefetch) && loop=$(card_of vector-loop) && test -n "$room" && test -n "$loop" &&
	git show klineage/skills:cards/$room.yaml >card && says "provides: [prefetch" card &&
	if ! grep "enabler:" card; then change $room "s/^  kind: win/  kind:\n    enabler: [$loop]/"; fi &&	# noise may hide that it is no gain
	git show klineage/skills:cards/$room.yaml >card && says "enabler: [$loop]" card && git klineage skills lint)
'

test_expect_success 'tried as a pair: it passes, since the other passes on top of it and not without it; both have a trial' '
	(cp -R base pair && cd pair && room=$(card_of prefetch) loop=$(card_of vector-loop) &&
	again git klineage admit $room >out && cat out && says "hypothesis -> admitted" out && says "with $loop" out && says "without this card: failed, no-edit" out &&
	git show klineage/skills:cards/$room.yaml >card && says "with: [$loop]" card && says "class: no-edit" card && says "status: admitted" card &&
	test "$(field $loop status)" = admitted && first=$(git rev-parse klineage/lineage/poly/x~2) &&
	made=$(field $room made) && test "$(field $room state)" = $first && test "$(git rev-parse $made~2)" = $first &&
	test "$(field $loop state)" = "$(git rev-parse $made^)" && test "$(field $loop made)" = $made &&
	git log --format=%s klineage/skills >log && says "admit: $room passed at other-workload" log && says "admit: $loop passed at other-workload" log &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says "0 errors, 0 warnings" out && git fsck --strict --no-dangling)
'

test_expect_success 'two at once lose nothing' '
	(cp -R base two && cd two && room=$(card_of prefetch) loop=$(card_of vector-loop) &&
	{ again git klineage admit $room >room.out 2>&1 & } && one=$! && { again git klineage admit $loop >loop.out 2>&1 & } && other=$! &&
	wait $one; wait $other; cat room.out loop.out &&
	test "$(git show klineage/skills:cards/$room.yaml | grep -c "^ *- trial:")" -ge 1 && test "$(git show klineage/skills:cards/$loop.yaml | grep -c "^ *- trial:")" -ge 1 &&
	test "$(field $loop status)" = admitted && git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says ": 0 errors" out)
'

test_expect_success 'a room that nobody needs is not admitted; what cannot be tried says why' '
	(cp -R base bad && cd bad && room=$(card_of prefetch) loop=$(card_of vector-loop) && was=$(git rev-parse klineage/skills) &&
	change $room "s/enabler: \[$loop\]/enabler: [nobody-1234567]/" && exits 125 git klineage admit $room 2>err && says "nobody-1234567" err &&
	git update-ref refs/heads/klineage/skills $was && change $loop "s/^schema: [0-9]*/schema: 99/" && exits 125 git klineage admit $loop 2>err && cat err && says "schema" err &&
	git update-ref refs/heads/klineage/skills $was && change $loop "s|scale\.c|../scale.c|g" && exits 128 git klineage admit $loop 2>err && cat err &&
	git update-ref refs/heads/klineage/skills $was && git klineage skills retract --reason wrong $loop && exits 128 git klineage admit $loop 2>err && says "retracted" err &&
	git update-ref refs/heads/klineage/skills $was && exits 129 git klineage admit --exec x $room 2>err && exits 129 git klineage admit --rewriter somebody $room 2>err &&
	exits 128 git klineage admit --rewriter chat $room 2>err && says "provider" err && test -z "$(git for-each-ref refs/klineage/trials refs/klineage/ledger refs/klineage/chat)")
'

test_done

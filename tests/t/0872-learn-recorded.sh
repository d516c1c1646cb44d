#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='shipped cards, a kernel that no patch of theirs fits, and a recorded conversation that carries them over

tests/data/chat/gated.jsonl holds what a language model answered (docs/recorded.md says how it was made). The replies are its; every
verdict here is made anew.'
. ./lib.sh
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

data=$KLINEAGE_TOP/tests/data/learned
recording=$KLINEAGE_TOP/tests/data/chat/gated.jsonl

if ! grep -qw avx2 /proc/cpuinfo || ! grep -qw fma /proc/cpuinfo
then
	skip_all='the recorded kernel needs AVX2 and FMA'
	test_done
fi

card () { find "$data/cards" -name "$1-*.yaml" | sed 's|.*/||; s|\.yaml$||'; }
hoist=$(card hoist-invariant) vector=$(card vector-loop)

target () {	# target <name>: a repository with the kernel, among other things
	git init -q "$1" && cd "$1" && mkdir src && cp "$data"/target/* src/ && echo notes >NOTES && git add . && git commit -q -m "gated: a kernel" &&
	git config klineage.profileMs 3000 && git klineage skills import "$data" &&
	git config klineage.chat.provider replay && git config klineage.chat.replay "$recording"
}
trailer () { git log -1 --format="%(trailers:key=Klineage-$1,valueonly)" "$2" | grep .; }

test_expect_success 'tools alone leave every card, and say why' '
	(target t && exits 1 git klineage materialize --status hypothesis --name tools >out && cat out && grep "^$hoist .*: left: " out && grep "^$vector .*: left: " out &&
	test -z "$(git for-each-ref refs/heads/klineage/materialize)")
'

# carried <name>: one run of the conversation. Where noise hides a gain the model would have been asked something else, and the recording has no answer
# to that: such a run ends early.
carried () {
	git klineage materialize --status hypothesis --rewriter chat --model recorded --name "$1" >out 2>err
	rc=$?
	cat out err
	test $rc = 0 && grep "^$hoist .*: best, by chat, materialize.0, .* fast$" out && grep "^$vector .*: best, by chat, materialize.2, .* fast$" out
}

test_expect_success 'as it was recorded: one card, another that is refused and repaired, and then nothing is left' '
	(cd t && for name in a b c d e f; do carried $name && break; done &&
	echo $name >../name && grep "^$vector .*: fail, by chat, materialize.1: wrong-edge$" out && says "nothing left: what the other cards do is there already" out)
'

test_expect_success 'both are commits on a branch of their own, named by their cards, fast by the real gate' '
	(cd t && at=klineage/materialize/gated/$(cat ../name) && test "$(git rev-parse $at~2)" = "$(git rev-parse HEAD)" &&
	test "$(git diff --name-only HEAD $at)" = src/gated.c && git show $at:src/gated.c >got && says "grow_one(from[d]) * scale" got &&
	test "$(trailer Skill $at~1)" = "$hoist@$(git rev-parse "klineage/skills:cards/$hoist.yaml")" &&
	test "$(trailer Skill $at)" = "$vector@$(git rev-parse "klineage/skills:cards/$vector.yaml")" &&
	for c in $at $at~1; do
		git notes --ref klineage/gate show $c >note && grep "\"verdict\":\"pass\"" note && grep "\"verdict\":\"fast\",\"what\":\"parent\"" note || return 1
	done &&
	git log --format=%s refs/klineage/nodes/gated/$(cat ../name) >log && says "rejected (wrong-edge)" log &&
	test "$(git rev-list --count refs/klineage/chat/gated/$(cat ../name)/materialize)" = 4 &&
	test "$(git log -1 --format=%s)" = "gated: a kernel" && git fsck --strict --no-dangling && git klineage fsck >out && says ": 0 errors" out)
'

test_expect_success 'who did not make it finds it right, and by far faster than the root' '
	(git clone -q t judge && cd judge && git config klineage.profileMs 3000 && git checkout -q -b tip origin/klineage/materialize/gated/$(cat ../name) &&
	git reset -q --soft HEAD~2 && git commit -q -m both && for i in 1 2 3 4; do git klineage gate --require fast HEAD >out && break; done && cat out && says "fast" out)
'

test_expect_success 'what was not recorded is not answered' '
	(target other && echo "/* ours */" >>src/gated.c && git commit -q -a -m changed &&
	git klineage materialize --status hypothesis --rewriter chat --model recorded --name x >out 2>err; cat out err; says "but to a different request" out &&
	test -z "$(git for-each-ref refs/heads/klineage/materialize)")
'

test_done

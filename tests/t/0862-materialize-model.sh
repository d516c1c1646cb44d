#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='a model materializes what tools cannot: gated, capped, bought once; admission and roundtrips with one'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi
if ! bwrap --dev-bind / / --unshare-pid --proc /proc true 2>/dev/null
then
	skip_all='a trial by a model counts only where bubblewrap can hide the repository'
	test_done
fi

answering "$PWD/answers"

test_expect_success 'a card that a model admits: it is told the card alone, is refused, repairs; the intent alone fails' '
	(library lib && the_card >../id && id=$(cat ../id) &&
	eight ../K.wrong poly "v * v $chain" "" && eight ../K.right poly "v * v $chain" "for (; x != end; x++) { float v = *x; *y++ = ELEMENT(v); }" &&
	answer admit.0 poly.c ../K.wrong && answer admit.1 poly.c ../K.right && printf "I do not know.\n<nothing-left>no idea</nothing-left>\n" >"$ANSWERS/control.0" &&
	again git klineage admit --arms card,intent --rewriter exec --exec "$model" $id >out && cat out && says "passed; " out && says "hypothesis -> admitted" out &&
	says "only the intent: failed, no-edit" out && says ", 1 repair" out &&
	git show klineage/skills:cards/$id.yaml >../card && says "how: agent" ../card && says "repairs: 1" ../card && says "isolated: true" ../card &&
	says "class: no-edit" ../card && says "level: other-workload" ../card && git klineage fsck >out && says ": 0 errors, 0 warnings" out) &&
	asked | sort >have && printf "%s\n" admit.0 admit.1 control.0 >want && test_cmp want have &&
	says "id: $(cat id)" answers/admit.0.asked && says "carriers:" answers/admit.0.asked && says "class: wrong-edge" answers/admit.1.asked &&
	! grep "carriers:" answers/control.0.asked && ! grep "$(cat id)" answers/control.0.asked && ! grep "i + 8 <= n" answers/control.0.asked &&
	refs=$(git -C lib for-each-ref --format="%(refname)" refs/klineage/chat) && echo "$refs" >refs && test "$(wc -l <refs)" = 2 && says "/poly/" refs &&
	trials=refs/klineage/trials/$(cat id) && git -C lib log --format=%s $trials >log && says "rejected (wrong-edge)" log &&
	made=$(sed -n "s/^ *made: //p" card) && test "$(git -C lib rev-parse $made^)" = "$(git -C lib rev-parse klineage/lineage/poly/x~1)" &&
	test "$(git -C lib log -1 --format="%(trailers:key=Klineage-Rewriter,valueonly)" $made | grep .)" = exec
'

test_expect_success 'what is right and is not what the card is about is told so, by name; so is what changes no instruction; the trial fails' '
	(cp -R lib other && cd other && git update-ref refs/heads/klineage/skills klineage/skills~1 && : >"$ANSWERS/log" &&
	git for-each-ref --format="delete %(refname)" refs/klineage/chat refs/klineage/trials | git update-ref --stdin &&
	plain ../K.other poly "v * v $chain" "/* two at a time */" && sed -i "s/^	for (; i < n; i++)/	for (; i + 2 <= n; i += 2) {\n		float v = x[i], w = x[i + 1];\n\n		y[i] = ELEMENT(v);\n		v = w;\n		y[i + 1] = ELEMENT(v);\n	}\n&/" ../K.other &&
	cat ../K.other && answer admit.0 poly.c ../K.other && printf "<nothing-left>no idea</nothing-left>\n" | tee "$ANSWERS/admit.2" >"$ANSWERS/control.0" &&
	{ git show klineage/lineage/poly/x~1:poly.c && echo "/* as fast as before */"; } >../K.same && answer admit.1 poly.c ../K.same &&
	exits 1 git klineage admit --arms card,intent --rewriter exec --exec "$model" $(cat ../id) >out && cat out && says "failed, no-change" out && says "hypothesis -> hypothesis" out &&
	says "not in it. Missing: vec.256." ../answers/admit.1.asked && says "class: no-change" ../answers/admit.2.asked && says "nothing was put in" ../answers/admit.2.asked &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out)
'

target () { walking "$@"; }

test_expect_success 'tools cannot: the card is left' '
	(target t && exits 1 git klineage materialize --library ../lib --name tools shift >out && cat out && says "$(cat ../id) (admitted) on" out && says ": left: " out)
'

test_expect_success 'a model can: refused, repaired, the best; all of it on plain refs' '
	(eight K.wrong shift "$shift" "" && eight K.right shift "$shift" "$tail" && : >"$ANSWERS/log" &&
	answer materialize.0 shift.c K.wrong $(cat id) && answer materialize.1 shift.c K.right $(cat id) &&
	echo "<nothing-left>it is done</nothing-left>" >"$ANSWERS/materialize.2" && cd t && head=$(git rev-parse HEAD) &&
	again git klineage materialize --library ../lib --name one --rewriter exec --exec "$model" shift >out && cat out &&
	says "fail, by exec, materialize.0: wrong-edge" out && says "best, by exec, materialize.1" out && says "nothing left: it is done" out &&
	branch=klineage/materialize/shift/one && test "$(git rev-parse $branch^)" = $head && git show $branch:src/shift.c | cmp - ../K.right &&
	test "$(git log -1 --format="%(trailers:key=Klineage-Skill,valueonly)" $branch | grep .)" = \
		"$(cat ../id)@$(git -C ../lib rev-parse "klineage/skills:cards/$(cat ../id).yaml")" &&
	test "$(git log -1 --format="%(trailers:key=Klineage-Source,valueonly)" $branch | grep .)" = materialize.1 &&
	git notes --ref klineage/gate show $branch | grep "\"verdict\":\"fast\",\"what\":\"parent\"" &&
	git log --format=%s refs/klineage/nodes/shift/one >log && says "rejected (wrong-edge)" log && says "begun: shift" log &&
	test "$(git rev-list --count refs/klineage/chat/shift/one/materialize)" = 3 && test "$(grep -c "Cards that fit it" "$ANSWERS/materialize.2.asked")" = 1 && test "$(git rev-parse HEAD)" = $head && test -z "$(git status --porcelain -uno)" &&
	git cat-file --batch-all-objects --batch >all && ! grep -aF "ANSWERS/model" all && git fsck --strict --no-dangling && git klineage fsck >out && says ": 0 errors" out) &&
	asked >have && printf "%s\n" materialize.0 materialize.1 materialize.2 >want && test_cmp want have &&
	says "id: $(cat id)" answers/materialize.0.asked && says "form: diff" answers/materialize.0.asked && says "1. $(cat id) (admitted)" answers/materialize.0.asked
'

test_expect_success 'gone through again it asks nothing and says the same' '
	(cd t && tip=$(git rev-parse klineage/materialize/shift/one) && nodes=$(git rev-parse refs/klineage/nodes/shift/one) && : >"$ANSWERS/log" &&
	exits 128 git klineage materialize --library ../lib --name one shift 2>err && says "--continue" err &&
	git klineage materialize --continue --name one shift >out && says "best, by exec, materialize.1" out && test ! -s "$ANSWERS/log" &&
	test "$(git rev-parse klineage/materialize/shift/one)" = $tip && test "$(git rev-parse refs/klineage/nodes/shift/one)" = $nodes &&
	exits 128 git klineage materialize --continue --name never shift 2>err && says "has no best state" err)
'

# await <file>
await () {
	n=0
	until test -e "$1"; do
		n=$((n + 1)) && test "$n" -lt 1200 && sleep 0.1 || return 1
	done
}

test_expect_success 'killed while the model repairs: what it said before is not bought again, and --continue ends it' '
	(target k && echo materialize.1 >"$ANSWERS/slow" && : >"$ANSWERS/log" && rm -f "$ANSWERS/at" &&
	{ setsid git klineage materialize --library ../lib --name k --rewriter exec --exec "$model" shift >out 2>err & } && pid=$! &&
	await "$ANSWERS/at" && kill -9 -$pid; wait $pid 2>/dev/null; rm -f "$ANSWERS/slow" &&
	git fsck --strict --no-dangling && test -z "$(git for-each-ref refs/heads/klineage)" &&
	test "$(git rev-list --count refs/klineage/chat/shift/k/materialize)" = 1 &&
	again git klineage materialize --continue shift >out && cat out && says "best, by exec, materialize.1" out &&
	test "$(grep -c materialize.0 "$ANSWERS/log")" = 1 && git show klineage/materialize/shift/k:src/shift.c | cmp - ../K.right)
'

test_expect_success 'recorded, it does the same elsewhere, without the model' '
	(git -C t klineage chat export -o "$PWD/recording" shift/one && target r && : >"$ANSWERS/log" &&
	git config klineage.chat.provider replay && git config klineage.chat.replay "$SHARNESS_TRASH_DIRECTORY/recording" &&
	again git klineage materialize --library ../lib --name one --rewriter chat shift >out && cat out && says "best, by chat, materialize.1" out &&
	test "$(git rev-parse "klineage/materialize/shift/one^{tree}")" = "$(git -C ../t rev-parse "klineage/materialize/shift/one^{tree}")" && test ! -s "$ANSWERS/log")
'

test_expect_success 'the budget holds: nothing is sent that it does not allow; an estimate sends nothing at all' '
	(target p && git config klineage.chat.metered true && git config klineage.chat.model m && git config klineage.chat.price "input=3 output=15" && : >"$ANSWERS/log" &&
	git klineage materialize --library ../lib --rewriter exec --exec "$model" --estimate shift >out && cat out && says "nothing was sent" out && says "of the \$10" out &&
	says "1 that fit" out && test -z "$(git for-each-ref refs/klineage)" && test ! -s "$ANSWERS/log" &&
	exits 1 git klineage materialize --library ../lib --name b --rewriter exec --exec "$model" --budget 0.0001 shift >out && cat out && says "the conversation ended" out &&
	test ! -s "$ANSWERS/log" && again git klineage materialize --continue --name b --budget 2 shift >out && cat out && says "best, by exec" out &&
	git klineage chat cost --json shift >cost && says "\"budget\":\"materialize\"" cost && says "\"phase\":\"materialize\"" cost && git klineage fsck)
'

test_expect_success 'arms: labels tell the intent and no more, none tells of no card' '
	(target a && : >"$ANSWERS/log" && printf "<nothing-left>enough</nothing-left>\n" >"$ANSWERS/materialize.0" && id=$(cat ../id) &&
	exits 1 git klineage materialize --library ../lib --name l --rewriter exec --exec "$model" --cards labels shift >out && says "nothing left: enough" out &&
	says "$id: " "$ANSWERS/materialize.0.asked" && ! grep "carriers:" "$ANSWERS/materialize.0.asked" &&
	exits 1 git klineage materialize --library ../lib --name n --rewriter exec --exec "$model" --cards none shift >out &&
	! grep "$id" "$ANSWERS/materialize.0.asked" && says "No cards are given" "$ANSWERS/materialize.0.asked" &&
	answer materialize.0 shift.c ../K.right && printf "<nothing-left>enough</nothing-left>\n" >"$ANSWERS/materialize.1" &&
	again git klineage materialize --library ../lib --name m --rewriter exec --exec "$model" --cards none shift >out && cat out && says "best, by exec" out &&
	! git log -1 --format="%(trailers:key=Klineage-Skill,valueonly)" klineage/materialize/shift/m | grep . &&
	exits 129 git klineage materialize --library ../lib --cards labels shift 2>err && says "rewriter" err &&
	exits 129 git klineage materialize --library ../lib --cards some --rewriter exec --exec x shift 2>err)
'

# the same reply without a card, and with one that was not offered, in the arm with all cards and in the arm without any
free () {	# free <name> <word of Klineage-Free> <option>...: a run whose first reply is a free step
	name=$1 word=$2 && shift 2 &&
	again git klineage materialize --library ../lib --name "$name" --rewriter exec --exec "$model" --json "$@" shift >out && cat out &&
	says "\"free\":\"$word\"" out && says "\"outcome\":\"best\"" out && branch=klineage/materialize/shift/$name &&
	git show "$branch:src/shift.c" | cmp - ../K.right && test "$(git log -1 --format="%(trailers:key=Klineage-Free,valueonly)" "$branch" | grep .)" = "$word" &&
	test "$(git log -1 --format="%(trailers:key=Klineage-Action,valueonly)" "$branch" | grep .)" = vectorize &&
	! git log -1 --format="%(trailers:key=Klineage-Skill,valueonly)" "$branch" | grep .
}

test_expect_success 'a free step: what names no card, or none that was offered, is judged and marked so; the arm with cards does no worse' '
	(target f && printf "<nothing-left>enough</nothing-left>\n" >"$ANSWERS/materialize.1" && answer materialize.0 shift.c ../K.right &&
	free full no-card && says "1. $(cat ../id) (admitted)" "$ANSWERS/materialize.0.asked" && tree=$(git rev-parse "klineage/materialize/shift/full^{tree}") &&
	free none no-card --cards none && test "$(git rev-parse "klineage/materialize/shift/none^{tree}")" = $tree && free labels no-card --cards labels &&
	git klineage materialize --continue --name full shift >out && says "best, by exec, materialize.0, a free step" out &&
	answer materialize.0 shift.c ../K.right tma-store-1234567 && free other not-offered && says "\"card\":\"tma-store-1234567\"" out &&
	git klineage materialize --continue --name other shift >out && says "tma-store-1234567 (not offered) on" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out)
'

test_expect_success 'fsck reads the mark of a free step' '
	(cd f && tip=$(git rev-parse klineage/materialize/shift/full) && git log -1 --format=%B $tip >said && says "Klineage-Free: no-card" said &&
	relink () {	# relink <sed script>: the chain of a run with one commit whose message was changed
		made=$(sed "$1" said | git commit-tree -p $tip^ $tip^{tree}) && git notes --ref klineage/gate copy -f $tip $made &&
		at=$(printf "kept: x\n\nKlineage-Outcome: best\n" | git commit-tree -p $made -p refs/klineage/nodes/shift/full $tip^{tree}) && git update-ref refs/klineage/nodes/shift/bad $at
	} &&
	relink "s/no-card/no-idea/" && exits 1 git klineage fsck >out && says "has '\''no-idea'\'' in place of the reason for a free step" out &&
	relink "s/^Klineage-Free.*/&\nKlineage-Skill: x@$(git rev-parse $tip:src/shift.c)/" && exits 1 git klineage fsck >out && cat out && says "names a card, but is marked as a free step" out)
'

test_expect_success 'no card fits: the model is asked all the same' '
	(target o && : >"$ANSWERS/log" && answer materialize.0 shift.c ../K.right && id=$(cat ../id) &&
	exits 1 git klineage materialize --library ../lib --status provisional --name tools shift >out &&
	says "no card fits it" out && again git klineage materialize --library ../lib --status provisional --name x --rewriter exec --exec "$model" shift >out && cat out &&
	says "best, by exec, materialize.0, a free step" out && ! grep "$id" "$ANSWERS/materialize.0.asked")
'

test_expect_success 'a roundtrip: from K_0 with the cards there are, K* is recovered; without those of its own lineage it is not' '
	(cd lib && again git klineage materialize --roundtrip poly/x --trials 2 >out && cat out && says "poly/x: 2 of 2 trials recovered 90 % of K*" out &&
	best=$(git rev-parse klineage/materialize/poly/rt-x-2) && test "$(git rev-parse $best^)" = "$(git rev-parse klineage/lineage/poly/x~1)" &&
	git notes --ref klineage/gate show $best >/dev/null &&
	exits 128 git klineage materialize --roundtrip poly/x --trials 1 2>err && says "--continue" err &&
	git klineage materialize --roundtrip poly/x --trials 2 --continue --json >out && test "$(wc -l <out)" = 1 && says "\"successes\":2" out &&
	exits 1 git klineage materialize --roundtrip scale/x --held-out --trials 1 --name held >out && cat out && says "0 of 1 trials" out &&
	exits 128 git klineage materialize --roundtrip none/x 2>err && says "no lineage" err && git klineage fsck)
'

test_done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='admission: the arms of a trial, in an order that is drawn; a trial that was killed goes on; what the cards are worth'
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
other=prefetch-1234567
# the events of all arms of the card's newest trial, and its arms in order
events () { git show "klineage/skills:cards/$1.yaml" | sed -n '/^ver:/,$s/^ *event: //p'; }
order () { git show "klineage/skills:cards/$1.yaml" | sed -n '/^ver:/,$s/^ *arms: //p' | tail -1; }
await () {
	n=0
	until test -e "$1"; do
		n=$((n + 1)) && test "$n" -lt 600 && sleep 0.1 || return 1
	done
}
# tries <words...>: try the card with the fake model on the one state
tries () { again git klineage admit --rewriter exec --exec "$model" --on poly "$@" "$(cat ../id)"; }

test_expect_success 'a library of two cards; the model answers by arm' '
	(library lib && the_card >../id && id=$(cat ../id) &&
	git show klineage/skills:cards/$id.yaml | sed "s/^id: .*/id: $other/; s/^mechanism: .*/mechanism: prefetch/; s/provides: \[.*\]/provides: [prefetch]/" >card &&
	put_card $other card && git klineage skills lint >out && says "0 errors" out) &&
	eight K.right poly "v * v $chain" "for (; x != end; x++) { float v = *x; *y++ = ELEMENT(v); }" && eight K.wrong poly "v * v $chain" "" &&
	plain K.two poly "v * v $chain" "/* two at a time */" && sed -i "s/^	for (; i < n; i++)/	for (; i + 2 <= n; i += 2) {\n		float v = x[i], w = x[i + 1];\n\n		y[i] = ELEMENT(v);\n		v = w;\n		y[i + 1] = ELEMENT(v);\n	}\n&/" K.two &&
	answer admit.0 poly.c K.right && answer wrong.0 poly.c K.right nobody-7654321 && answer bare.0 poly.c K.two &&
	for a in control.0 bare.1 wrong.1; do echo "<nothing-left>no idea</nothing-left>" >"$ANSWERS/$a"; done
'

test_expect_success 'each arm is asked, shown and judged by what it is about; all results are in the trial' '
	(cp -R lib all && cd all && id=$(cat ../id) && tries >out && cat out && says "passed; " out && says "hypothesis -> admitted" out &&
	says "only the intent: failed, no-edit" out && says "without conditions and risks: failed, " out && says "another card: failed, not-there; " out && says "is $other" out &&
	asked | sort >../have && printf "%s\n" admit.0 bare.0 bare.1 control.0 wrong.0 wrong.1 | sort | test_cmp - ../have &&
	git show klineage/skills:cards/$id.yaml >card && says "  control:" card && says "  bare:" card && says "  wrong:" card && says "card: $other" card &&
	says "tokens: 1100" card && says "tokens: 2200" card && says "isolated: " card && grep "seed: [0-9]" card &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out) &&
	says "id: $(cat id)" answers/admit.0.asked && says "state: assumed" answers/admit.0.asked &&
	says "id: $(cat id)" answers/bare.0.asked && says "  sound: []" answers/bare.0.asked && says "risk: []" answers/bare.0.asked && says "carriers:" answers/bare.0.asked &&
	says "id: $other" answers/wrong.0.asked && ! grep "id: $(cat id)" answers/wrong.0.asked && ! grep carriers: answers/control.0.asked &&
	says "not in it. Missing: prefetch." answers/wrong.1.asked && ! grep "Missing: vec" answers/wrong.1.asked
'

test_expect_success 'the arms run in the order that the trial says, which the seed decides' '
	(cd all && order $(cat ../id) >../arms && asked | sed -n "s/\.0\$//p; " | sed "s/admit/card/; s/control/intent/" | tr "\n" " " | sed "s/ \$//" >../ran && echo >>../ran && test_cmp ../arms ../ran) &&
	(for s in 1 4; do
		rm -rf seeded && cp -R lib seeded && : >"$ANSWERS/log" && (cd seeded && tries --arms card,intent --seed $s >out && says "drawn with --seed $s" out && order $(cat ../id)) || return 1
	done) >orders && printf "%s\n" "intent card" "card intent" | test_cmp - orders
'

test_expect_success 'a card that the model names and was not shown is told in the commit' '
	(cd all && git log --format=%B refs/klineage/trials/$(cat ../id) >log && grep "names the card .nobody-7654321., which was not shown" log)
'

test_expect_success 'arms can be left out; the card cannot' '
	(cp -R lib some && cd some && : >"$ANSWERS/log" && tries --arms card,wrong >out && asked >../have && sort ../have | tr "\n" " " >../got && echo "admit.0 wrong.0 wrong.1 " | tr -d "\n" | cmp - ../got &&
	exits 129 git klineage admit --arms card $(cat ../id) 2>err && says "needs --rewriter" err &&
	exits 129 git klineage admit --rewriter exec --exec "$model" --arms intent $(cat ../id) 2>err && says "needs the arm" err &&
	exits 129 git klineage admit --rewriter exec --exec "$model" --arms card,best $(cat ../id) 2>err && says "unknown arm" err)
'

# The second trial on a state measures anew, so an edit that were judged twice would have two events.
test_expect_success 'killed while the third arm is asked: no reply is bought again, no edit is judged again' '
	(cd all && cp -R . ../killed && cd ../killed && id=$(cat ../id) && progress=.git/klineage/admit/$id.json && test ! -e $progress &&
	rm -f "$ANSWERS/at" && : >"$ANSWERS/log" && echo admit.0 >"$ANSWERS/slow" &&
	{ setsid git klineage admit --rewriter exec --exec "$model" --on poly --seed 5 $id >out 2>&1 & } && pid=$! &&
	await "$ANSWERS/at" && kill -9 -$pid; wait $pid 2>/dev/null; rm -f "$ANSWERS/slow" && asked >first && cat first &&
	test "$(wc -l <first)" -ge 3 && test "$(tail -1 first)" = admit.0 && test -s $progress &&
	perl -MJSON::PP -e "local \$/; print \"\$_->{event}{id}\n\" for values %{decode_json(<STDIN>)->{edits}}" <$progress >judged && cat judged &&
	tries >out && cat out && says "drawn with --seed 5" out && test ! -e $progress && asked | sort | uniq -d >twice && test "$(cat twice)" = admit.0 &&
	git notes --ref klineage/gate list >/dev/null && for e in $(cat judged); do git ls-tree -r --name-only klineage/skills | grep "$e" || return 1; done &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out)
'

test_expect_success 'what the card is worth: one workload decides nothing, and a wrong card that does as well is told' '
	(cd all && git klineage skills credit >out && cat out && grep "^its intent alone  *1  *1  *+[0-9.]*  *-  *no evidence either way: one workload" out &&
	grep "^no conditions and risks  *1  *1  *+" out && grep "^a wrong card  *1  *1  *+0.00" out &&
	git klineage skills credit --json $(cat ../id) >json && perl -MJSON::PP -e "local \$/; my \$d = decode_json(<STDIN>);
		die if \$d->{schema} ne \"klineage.credit/1\" || @{\$d->{credit}} != 3 || \$d->{credit}[2]{ln_ppm} != 0 || defined \$d->{credit}[0]{lo_ppm};
		die if \$d->{trials}[0]{level_now} ne \"other-workload\" || \$d->{trials}[0]{rule} != 2" <json &&
	exits 129 git klineage skills credit a b 2>err && exits 129 git klineage skills credit --porcelain 2>err)
'

test_expect_success 'a card that came with its trials tells the level that they have by their code' '
	git init -q shipped && (cd shipped && git klineage import "$KLINEAGE_TOP/skills/lineages/c-topk" >/dev/null && git klineage import "$KLINEAGE_TOP/skills/held-out/c-topk-by-rule" >/dev/null &&
	git klineage skills import --shipped >/dev/null && git klineage skills credit >out && cat out && says "no trial has this arm" out &&
	grep "^prefetch-.* on topk, state .*: recorded at other-lineage; by its code at same-code" out)
'

test_done

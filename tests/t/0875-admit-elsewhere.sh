#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='admission with a runner that judges elsewhere: the arms of a trial go on in waves, a bundle each'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

answering "$PWD/answers"
other=prefetch-1234567
# tries <words...>: try the card with the fake model on the one state
tries () { git klineage admit --rewriter exec --exec "$model" --on poly "$@" "$(cat ../id)"; }
# carry: let a worker judge the newest bundle, and import the results
carry () {
	# shellcheck disable=SC2012 # the names are digests
	klineage-worker --bundle "$(ls -t .git/klineage/bundles/*.tar | head -n 1)" -o ../results 2>../err &&
	git klineage gate --import ../results >../out && rm ../results
}
trials () { git show "klineage/skills:cards/$(cat ../id).yaml" | sed -n "/^ver:/,\$s/^ *- trial: //p" | wc -l; }

test_expect_success 'a library of two cards; the model answers by arm' '
	(library lib && the_card >../id && id=$(cat ../id) && git config klineage.runner bundle &&
	git show klineage/skills:cards/$id.yaml | sed "s/^id: .*/id: $other/; s/^mechanism: .*/mechanism: prefetch/; s/provides: \[.*\]/provides: [prefetch]/" >card &&
	put_card $other card) &&
	eight K.right poly "v * v $chain" "for (; x != end; x++) { float v = *x; *y++ = ELEMENT(v); }" &&
	plain K.two poly "v * v $chain" "/* two at a time */" && sed -i "s/^	for (; i < n; i++)/	for (; i + 2 <= n; i += 2) {\n		float v = x[i], w = x[i + 1];\n\n		y[i] = ELEMENT(v);\n		v = w;\n		y[i + 1] = ELEMENT(v);\n	}\n&/" K.two &&
	answer admit.0 poly.c K.right && sed "s/const float \*end = x + n;/&\n\n	__builtin_prefetch(end - 1);/" K.right >K.other && answer wrong.0 poly.c K.other && answer bare.0 poly.c K.two && { cat K.right && echo "/* once more */"; } >K.again && answer bare.1 poly.c K.again &&
	echo "<nothing-left>no idea</nothing-left>" >"$ANSWERS/control.0"
'

test_expect_success 'all arms are asked, then their edits wait in one bundle; no trial is recorded' '
	(cp -R lib all && cd all && was=$(git rev-parse klineage/skills) && exits 125 tries --seed 7 >out 2>../err && cat out ../err && says ": the trial waits" out && says "drawn with --seed 7" out && says "the verdicts on 3 edits are to come from elsewhere" out &&
	says "klineage-worker --bundle" ../err && asked | sort >../have && printf "%s\n" admit.0 bare.0 control.0 wrong.0 | test_cmp - ../have &&
	test "$(git rev-parse klineage/skills)" = $was && test "$(trials)" = 0 && test -s .git/klineage/admit/$(cat ../id).json)
'

test_expect_success 'asked again without results, it buys no reply, and its bundle is the same' '
	(cd all && ls .git/klineage/bundles >../before && : >"$ANSWERS/log" && exits 125 tries --json >../json && says "\"waiting\":3" ../json && says "\"seed\":7" ../json && ls .git/klineage/bundles >../after && test_cmp ../before ../after && test -z "$(asked)")
'

test_expect_success 'the next wave is the repair of one arm; then the trial has all arms, as one on this machine' '
	(cd all && carry && : >"$ANSWERS/log" && exits 125 tries >out 2>../err && says "to come from elsewhere" out && test "$(asked)" = bare.1 && carry &&
	for i in 1 2 3 4 5; do tries >out 2>../err; rc=$?; test $rc = 125 || break; carry || return 1; done && cat out ../err && test $rc = 0 &&
	says "passed; " out && says "hypothesis -> admitted" out && says "only the intent: failed, no-edit" out && says "another card: passed; " out && test "$(trials)" = 1 && test ! -e .git/klineage/admit/$(cat ../id).json &&
	git show klineage/skills:cards/$(cat ../id).yaml >card && says "seed: 7" card && says "tokens: 2200" card &&
	git klineage skills lint >out && says "0 errors, 0 warnings" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out && git fsck --strict --no-dangling)
'

test_expect_success 'a second trial on the state measures the edits anew, although they are known' '
	(cd all && exits 125 tries --arms card >out 2>../err && says "the verdict on 1 edit is to come" out && carry && for i in 1 2 3 4 5; do tries --arms card >out 2>../err; rc=$?; test $rc = 125 || break; carry || return 1; done && cat out ../err && test $rc = 0 && test "$(trials)" = 2 &&
	git show klineage/skills:cards/$(cat ../id).yaml | sed -n "/^ver:/,\$s/^    event: //p" | sort | uniq -d >../twice && test ! -s ../twice)
'

test_expect_success 'a card that a tool applies' '
	(cp -R lib tool && cd tool && id=$(cat ../id) && exits 125 git klineage admit --on poly --seed 9 $id >out 2>../err && says "the verdict on 1 edit is to come" out && carry &&
	for i in 1 2 3; do git klineage admit --on poly $id >out 2>../err; rc=$?; test $rc = 125 || break; carry || return 1; done && cat out ../err && test $rc = 0 && says "with --seed 9" out && says "hypothesis -> admitted" out && git klineage fsck >out && says ": 0 errors, 0 warnings" out)
'

mkdir fake && cat >fake/ssh <<-\EOF && chmod +x fake/ssh
	#!/bin/sh
	# -o BatchMode=yes -o ServerAliveInterval=30 <host> <program> ...
	shift 5
	exec sh -c "$*"
EOF

test_expect_success 'over ssh all waves are one command' '
	(cp -R lib over && cd over && git config klineage.runner ssh:gpu && : >"$ANSWERS/log" && PATH=$PWD/../fake:$PATH && again tries >out && cat out && says "hypothesis -> admitted" out && says "another card: passed; " out && asked | sort >../have && printf "%s\n" admit.0 bare.0 bare.1 control.0 wrong.0 | test_cmp - ../have)
'

test_done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='search over a gate that is elsewhere: the candidates of a wave in one bundle; nothing is bought twice'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
chain=$(long_chain)
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi

answering "$PWD/answers"
ref=refs/klineage/cells/scale
target () {
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 300 && git config klineage.runner bundle && mkdir k || return 1
	contract k scale scale.c "v $chain" && plain k/scale.c scale "v $chain" "/* root */" && commit "scale: a kernel"
}
search () { git klineage search --rewriter exec --exec "$model" -q "$@" >out 2>err; }
jobs () { tar xOf "$1" manifest.json | perl -MJSON::PP -ne 'print scalar @{decode_json($_)->{jobs}}, "\n"'; }
# journey <n> <jobs>: carry the bundle that `err` names to a worker, and import the results
journey () {
	bundle=$(sed -n "s/.*written to '\(.*\)'$/\1/p" err) && test -n "$bundle" && test "$(jobs "$bundle")" = "$2" &&
	klineage-worker --bundle "$bundle" -o "results.$1" 2>/dev/null && git klineage gate --import "results.$1" >imported
}
wide fast.c scale "v $chain" "/* fast */" && plain wrong.c scale "v $chain * 1.01f" "/* wrong */"
for t in 1 2 3 4 5; do answer t$t-coder.0 scale.c wrong.c; done && answer t2-coder.0 scale.c fast.c && answer t4-coder.0 scale.c fast.c
echo "<nothing-left>no idea</nothing-left>" >"$ANSWERS/t5-coder.0"

test_expect_success 'best-of-n: the root, then all candidates at once, then the best again' '
	(target t && head=$(git rev-parse HEAD) && exits 125 search --policy best-of-n --candidates 5 --name x scale && cat out err && says "1 verdict is to come" out &&
	says "and then: this command again" err && test ! -s "$ANSWERS/log" && test -z "$(git for-each-ref refs/klineage/cells refs/heads/klineage)" && journey 0 1 &&
	exits 125 search --policy best-of-n --candidates 5 --name x scale && cat out err && says "and then: git klineage search --continue --name x scale" err && test "$(asked | wc -l)" = 5 &&
	test "$(git rev-parse $ref/x^1)" = "$head" && test -z "$(git for-each-ref refs/heads/klineage)" && git klineage fsck >fsck && cp -R . ../waiting &&
	exits 125 search --continue --name x scale && test "$(asked | wc -l)" = 5 && journey 1 2 &&
	exits 125 search --continue --name x scale && cat out && says "ticket 1 on 0: fail, wrong-" out && says "ticket 2 on 0: best" out && says "ticket 3 on 0: known, wrong-" out &&
	says "ticket 4 on 0: known" out && says "ticket 5 on 0: none" out && says "1 verdict is to come" out && git show klineage/search/scale/x:k/scale.c | cmp - ../fast.c && journey 2 1 &&
	search --continue --name x scale && cat out && says "measured again, apart from the search" out && test "$(asked | wc -l)" = 5 &&
	test "$(git notes --ref klineage/gate show klineage/search/scale/x | wc -l)" = 2 && git klineage fsck >fsck && says ": 0 errors, 0 warnings" fsck && git fsck --strict --no-dangling)
'

test_expect_success 'climb: a wave is one candidate, or as many as the width' '
	(cp -R waiting w && cd w && git klineage gate --import ../t/results.0 >imported && : >"$ANSWERS/log" && exits 125 search --policy climb --candidates 5 --name one scale &&
	asked >have && echo t1-coder.0 | test_cmp - have && : >"$ANSWERS/log" && exits 125 search --policy climb --width 3 --candidates 5 --name three scale && asked | tr "\n" " " >have && cat have && test "$(cat have)" = "t1-coder.0 t2-coder.0 t3-coder.0 ")
'

test_expect_success 'results that lack a job: it waits on for what is missing' '
	(cp -R waiting half && cd half && head -n 2 ../t/results.1 >part && { git klineage gate --import part >imported 2>&1; :; } && exits 125 search --continue --name x scale && says "to come from elsewhere" out && git klineage fsck >fsck)
'

if test -x "$KLINEAGE_TOP/build-fault/git-klineage"; then
	test_set_prereq FAULT
fi
# stop <way> <n>: stop the search at a point when the results are here; then it ends as the whole one did
stop () {
	rm -rf torn && cp -R ready torn && : >"$ANSWERS/log" || return 1
	(cd torn && KLINEAGE_FAULT=$2:$1 && export KLINEAGE_FAULT && search --continue --name x scale)
	rc=$?
	case $1$rc in kill137|fail128|fail125) ;; *) echo "$2:$1 ended with $rc"; return 1 ;; esac
	(cd torn && git fsck --strict --no-dangling >/dev/null 2>&1 && git klineage fsck >before && exits 125 search --continue --name x scale &&
		git rev-parse $ref/x | test_cmp ../want - && test -z "$(asked)" && git klineage fsck >after)
}
test_expect_success FAULT 'stopped while it goes on: the same chain, and nothing is bought twice' '
	cp -R waiting ready && (cd ready && git klineage gate --import ../t/results.1 >imported && cp -R . ../count) && PATH=$KLINEAGE_TOP/build-fault:$PATH &&
	(cd count && KLINEAGE_FAULT_LOG=$PWD/../points && export KLINEAGE_FAULT_LOG && { search --continue --name x scale; test $? = 125; } && git rev-parse $ref/x >../want) && last=$(wc -l <points) &&
	for way in kill fail; do
		for n in $(seq 2 $((last / 4)) "$last"); do stop $way "$n" || return 1; done
	done
'

test_done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage search: policies on a real kernel, judged, stored, resumed, with a purse'
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

target () {	# target <repository>: a kernel that computes one element at a time
	git init -q -b main "$1" && cd "$1" && git config klineage.profileMs 300 && mkdir k || return 1
	contract k scale scale.c "v $chain" && plain k/scale.c scale "v $chain" "/* root */" && commit "scale: a kernel"
}
ref=refs/klineage/cells/scale

# search <options>: search with the fake model
search () { git klineage search --rewriter exec --exec "$model" -q "$@"; }
nothing () { echo "<nothing-left>no idea</nothing-left>" >"$ANSWERS/$1"; }

# the kernels that the model answers with: fast, wrong, wrong in another way
wide fast.c scale "v $chain" "/* fast */" && plain wrong.c scale "v $chain * 1.01f" "/* wrong */" && plain more.c scale "v $chain * 1.02f" "/* wrong, too */"

test_expect_success 'policies are listed; what cannot happen is said before money flows' '
	(target plans && git klineage search --policies >out && says "shinka" out && says "--preset paper" out && says "--set p_large=0.2" out &&
	search -n --policy evolve --preset openevolve scale >out && cat out &&
	says "cannot happen: migration: never within 40 candidates, the first is after 250" out && says "nothing was sent" out &&
	search -n --json --policy evolve --preset openevolve scale >out && says "klineage.search-plan/1" out &&
	test "$(git for-each-ref --format="%(refname)")" = refs/heads/main)
'

test_expect_success 'bad input is refused by name' '
	(cd plans && exits 129 search --policy climber scale 2>err && says "there are: best-of-n, climb" err &&
	exits 129 search --policy climb --set speed=1 scale 2>err && says "it has: decide, repairs" err &&
	exits 129 search --policy climb --set repairs=x scale 2>err && says "must be a whole number" err &&
	exits 129 search --policy adaexplore --preset fast scale 2>err && says "it has: paper, code" err &&
	exits 129 search --policy climb --candidates 0 scale 2>err && exits 129 search scale 2>err && says "--policy is missing" err &&
	exits 129 git klineage search --policy climb scale 2>err && says "needs a model" err &&
	exits 129 search --continue --policy climb --name x scale 2>err && says "keeps policy" err &&
	exits 128 search --continue --name x scale 2>err && says "has no search named" err &&
	test "$(git for-each-ref --format="%(refname)")" = refs/heads/main)
'

test_expect_success 'climb: the best is where the next candidate starts; all of it on plain refs' '
	answer t1-coder.0 scale.c wrong.c && answer t2-coder.0 scale.c fast.c && nothing t3-coder.0 && answer t4-coder.0 scale.c more.c &&
	(target t && head=$(git rev-parse HEAD) && cp -R . ../fresh && search --policy climb --candidates 4 scale >out; cat out &&
	says "ticket 1 on 0: fail, wrong-" out && says "ticket 2 on 0: best" out && says "ticket 3 on 2: none" out && says "ticket 4 on 2: fail, wrong-" out &&
	says "measured again, apart from the search" out && best=klineage/search/scale/climb-1 && says "$best is at" out &&
	git show $best:k/scale.c | cmp - ../fast.c && test "$(git rev-parse $best^)" = $head &&
	git log -1 --format=%B $ref/climb-1 >log && says "Klineage-Ticket: 4" log && says "Klineage-State: " log && says "Klineage-Outcome: fail" log &&
	git log --format=%s $ref/climb-1 >log && says "search: ticket 2, best" log && says "search: ticket 0, root" log &&
	git notes --ref klineage/gate show $best | grep "\"what\":\"parent\"" && git cat-file -p $ref/climb-1:observation.json | grep klineage.observation/1 &&
	test "$(git rev-parse HEAD)" = $head && test -z "$(git status --porcelain -uno)" &&
	git cat-file --batch-all-objects --batch >all && ! grep -aF "ANSWERS/model" all && git fsck --strict --no-dangling &&
	git klineage fsck >out && says ": 0 errors" out) && asked >have && printf "%s\n" t1-coder.0 t2-coder.0 t3-coder.0 t4-coder.0 >want && test_cmp want have
'

test_expect_success 'a name is taken once; a finished search has nothing to do' '
	(cd t && before=$(git rev-parse $ref/climb-1) && : >"$ANSWERS/log" && exits 128 search --policy climb scale 2>err && says "has a search named" err &&
	git klineage search --continue --name climb-1 scale -q --json >out; says "\"judged\":0" out && test -z "$(asked)" &&
	test "$(git rev-parse $ref/climb-1)" = $before)
'

test_expect_success 'a branch that the user moved, removed or made is named before the model is asked' '
	(cd t && best=klineage/search/scale/climb-1 && at=$(git rev-parse $best) && git branch -q -D $best &&
	exits 128 search --continue --name climb-1 --candidates 5 scale 2>err; cat err; says "is not at the best candidate" err &&
	git branch -q $best HEAD && exits 128 search --continue --name climb-1 scale 2>err; says "is not at the best candidate" err &&
	says "hint: move it there: git update-ref refs/heads/$best $at" err && git update-ref refs/heads/$best $at &&
	git branch -q klineage/search/scale/mine && exits 128 search --policy climb --name mine scale 2>err; says "rename that branch" err && test -z "$(asked)")
'

test_expect_success 'command: an agent of the user is asked with all results, and only by exec' '
	for n in 1 2; do answer t$n-agent.0 scale.c wrong.c; done && answer t2-agent.0 scale.c fast.c && nothing t3-agent.0 &&
	(cp -R fresh agent && cd agent && exits 129 git klineage search --policy command --rewriter chat scale 2>err && says "needs --rewriter exec" err && : >"$ANSWERS/log" &&
	search --policy command --candidates 3 --name mine scale >out; cat out; says "ticket 2 on 0: best" out && says "ticket 3 on 2: none" out &&
	git archive refs/klineage/chat/scale/mine/t3-agent | tar xO >text && says "result, ticket 1: wrong-" text && says "result, ticket 2: correct" text && says "decide by yourself" text && git klineage fsck)
'

test_expect_success 'killed while the model answers, it goes on to the same chain, and buys nothing twice' '
	mkdir -p fresh/.git/klineage && cp -R t/.git/klineage/cache fresh/.git/klineage/ && cp -R fresh whole && cp -R fresh torn && : >"$ANSWERS/log" &&
	(cd whole && search --policy climb --candidates 4 scale >out; says "ticket 4" out) && : >"$ANSWERS/log" &&
	echo t3-coder.0 >"$ANSWERS/slow" && rm -f "$ANSWERS/at" &&
	{ (cd torn && exec git-klineage search --rewriter exec --exec "$model" -q --policy climb --candidates 4 scale >out 2>&1) & pid=$!; } &&
	for i in $(seq 1 600); do test -e "$ANSWERS/at" && break; sleep 0.1; done; test -e "$ANSWERS/at" && kill -9 $pid && { wait $pid; :; } &&
	rm "$ANSWERS/slow" && test "$(git -C torn rev-list --count $ref/climb-1 ^HEAD)" -ge 3 &&
	(cd torn && git klineage search --continue --name climb-1 -q scale >out; says "ticket 4 on 2: fail, wrong-" out && git klineage fsck) &&
	test "$(git -C torn rev-parse $ref/climb-1)" = "$(git -C whole rev-parse $ref/climb-1)" &&
	asked | sort | uniq -c | sed "s/^ *//" >have && printf "%s\n" "1 t1-coder.0" "1 t2-coder.0" "2 t3-coder.0" "1 t4-coder.0" >want && test_cmp want have
'

test_expect_success 'a changed observation is found at its ticket' '
	(cd torn && tip=$(git rev-parse $ref/climb-1) && git cat-file -p $tip^2:observation.json | sed "s/\"parent\":2/\"parent\":1/" >o &&
	blob=$(git hash-object -w o) && tree=$(printf "100644 blob %s\tobservation.json\n" "$blob" | git mktree) &&
	three=$(git cat-file commit $tip^2 | sed "s/^tree .*/tree $tree/" | git hash-object -t commit -w --stdin) &&
	four=$(git cat-file commit $tip | sed "s/^parent $(git rev-parse $tip^2)/parent $three/" | git hash-object -t commit -w --stdin) &&
	git update-ref $ref/climb-1 $four && exits 128 git klineage search --continue --name climb-1 -q scale 2>err && cat err && says "ticket 3" err &&
	exits 1 git klineage fsck >out && cat out && says "ticket 3: the policy changes the kernel of ticket 2, not of 1" out && says "1 search" out &&
	git update-ref $ref/climb-1 $tip && git klineage fsck)
'

# change <perl substitution>: change the last observation of the search and hash its link again
change () {
	git cat-file -p $ref/climb-1:observation.json | perl -pe "$1" >o && blob=$(git hash-object -w o) &&
	tree=$(printf "100644 blob %s\tobservation.json\n" "$blob" | git mktree) &&
	git cat-file commit $ref/climb-1 | sed "s/^tree .*/tree $tree/" | git hash-object -t commit -w --stdin
}

test_expect_success 'so is one that nothing was proposed from, by its event' '
	(cd torn && tip=$(git rev-parse $ref/climb-1) && for what in s/wrong\"/hang\"/ "s/\"surface\":\"./\"surface\":\"0/" "s/\"event\":\"./\"event\":\"0/"; do
		four=$(change "$what") && test $four != $tip && git update-ref $ref/climb-1 $four && { git klineage fsck >out; says "ticket 4: " out; } &&
		git update-ref $ref/climb-1 $tip || exit 1
	done && git klineage fsck)
'

test_done

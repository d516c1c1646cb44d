#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage table: states of a lineage with the real verdicts of the gate, and searches that look them up

The lineage is that of steps.sh.'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
. "$KLINEAGE_TOP/tests/t/steps.sh"

ref=refs/klineage/cells/scale
# ask <expression on $j>: print what it gives for the document in the file json
ask () { perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>); my %s = map { $_->{id} => $_ } @{$j->{states}}; print eval($ARGV[0]), "\n"; die $@ if $@' "$1" <json; }
build () { git klineage table build -q --constants 0 -o "$1" scale; }

# a model that answers with the files that are named for its tickets
answering "$PWD/answers"
search () { git klineage search --rewriter exec --exec "$model" -q --judge recorded --table ../scale.jsonl "$@"; }

test_expect_success 'the states of a lineage, a comment and a syntax error for each, judged by the gate' '
	steps repo 20 >out 2>err || { cat out err; false; } &&
	(cd repo && before=$(git for-each-ref) && build ../scale.jsonl >out && cat out && says "lineage  5" out && says "broken   5" out &&
	test "$before" = "$(git for-each-ref)" && git klineage table show --json ../scale.jsonl) >out && tail -n 1 out >json &&
	test "$(ask "join q( ), map { \$s{qq(K_\$_)}{verdict} } 0 .. 4")" = "pass pass pass pass pass" &&
	test "$(ask "join q( ), map { \$s{qq(K_\$_.broken)}{class} } 0 .. 4")" = "compile compile compile compile compile" &&
	test "$(ask "join q( ), map { \$s{qq(K_\$_.stale)}{verdict} } 0 .. 4")" = "pass pass pass pass pass" &&
	test "$(ask "\$s{K_0}{ratio_ppm}")" = 1000000
'

test_expect_success 'a second build judges nothing and writes the same; the sources are those that were judged' '
	(cd repo && build ../again.jsonl >out && cat out && says "0 were judged now" out && cmp ../scale.jsonl ../again.jsonl &&
	git klineage table check ../scale.jsonl klineage/lineage/scale/x >out && says "states of scale, all with the sources" out)
'

test_expect_success 'bad input is refused by name' '
	(cd repo && exits 129 git klineage table 2>err && exits 129 git klineage table build scale 2>err && says "-o is missing" err &&
	exits 128 git klineage table build -o x nonesuch 2>err && says "no lineage" err && exits 128 git klineage table show nonesuch 2>err && says "there is no table" err &&
	head -n 3 ../scale.jsonl >cut && exits 128 git klineage table show cut 2>err && says "it has 2 states, not" err &&
	sed "3s/\"verdict\":\"[a-z]*\"/\"verdict\":\"maybe\"/" ../scale.jsonl >bad && exits 128 git klineage table show bad 2>err && says "line 3" err &&
	sed "3s/\"text\":\"/\"text\":\"x/" ../scale.jsonl >bad && exits 128 git klineage table check bad klineage/lineage/scale/x 2>err && cat err && says "do not give the sources" err &&
	exits 129 git klineage search --policy climb --rewriter exec --judge recorded scale 2>err && says "needs --table" err &&
	exits 129 git klineage search --policy climb --rewriter exec --judge fake scale 2>err && says "real, recorded or noisy" err)
'

test_expect_success 'a recorded search looks verdicts up, measures nothing, and says so' '
	(cd repo && for i in 0 1 2 3 4; do git show klineage/lineage/scale/x~$((4 - i)):scale.c >../k$i.c || exit 1; done) &&
	answer t1-coder.0 scale.c k2.c && answer t2-coder.0 scale.c k4.c && { cat k4.c && echo "this line is not of the language;"; } >broken.c && answer t3-coder.0 scale.c broken.c &&
	(cd repo && git checkout -q -B start klineage/lineage/scale/x~4 && head=$(git rev-parse HEAD) && notes=$(git rev-parse refs/notes/klineage/gate) &&
	search --policy climb --candidates 3 scale >out && cat out && says "ticket 3 on" out && says ": fail, compile" out && says "evidence: recorded" out && says "nothing was measured" out &&
	test "$notes" = "$(git rev-parse refs/notes/klineage/gate)" && git klineage fsck >out && says ": 0 errors" out &&
	git cat-file -p $ref/climb-1:observation.json | grep "\"class\":\"compile\"" && root=$(git log --format=%H --grep="^search: ticket 0" $ref/climb-1) &&
	git cat-file -p $root:table.jsonl | cmp - ../scale.jsonl && git cat-file -p $root:cell.json | grep "\"mode\":\"recorded\"" &&
	git klineage search --continue --name climb-1 -q --json scale >json && test "$(ask "qq(\$j->{evidence} \$j->{judge} \$j->{judged})")" = "recorded recorded 0")
'

test_expect_success 'a kernel that the table lacks is an error that names it, and nothing is lost' '
	sed "s/root/other/" k4.c >other.c && echo "/* new */" >>other.c && answer t1-coder.0 scale.c other.c &&
	(cd repo && exits 125 search --policy climb --candidates 2 --name lacks scale 2>err && cat err && says "lacks the candidate, kernel" err && git klineage fsck)
'

test_expect_success 'the shipped tables are of the shipped lineages' '
	for w in topk sgemm; do
		git init -q $w && (cd $w && git commit -q --allow-empty -m x && git klineage import "$KLINEAGE_TOP/skills/lineages/c-$w" >/dev/null &&
		git klineage table check c-$w "$(git for-each-ref --format="%(refname)" refs/heads/klineage/lineage)" >out && cat out && says "states of $w" out) || return 1
	done
'

test_done

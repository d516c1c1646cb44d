#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage transplant: each step of a lineage at other states, and undone at the expert

The steps are those of steps.sh: `rest` needs `half`, and `guard` gains nothing.'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/materials.sh"
. "$KLINEAGE_TOP/tests/t/steps.sh"

# ask <expression on $j>: print what it gives for the document in the file json
ask () {
	perl -MJSON::PP -e 'my $j = decode_json(join "", <STDIN>); my @s = ({}, @{$j->{steps}});
		sub cell { my ($i, $k) = @_; $s[$i]{cells}[$k] }
		sub words { my $c = cell(@_); join " ", map { $_ // "-" } @$c{qw(state verdict class)} }
		print eval($ARGV[0]), "\n"; die $@ if $@' "$1" <json
}

test_expect_success 'a lineage of four steps' '
	steps repo >out 2>err && test "$(git -C repo rev-list --count klineage/lineage/scale/x)" = 5 || { cat out err; false; }
'

test_expect_success 'a dry run merges and judges nothing' '
	(cd repo && git klineage transplant -n --json >../json) &&
	test "$(ask "words(2, 4)")" = "open - -" && test "$(ask "words(4, 0)")" = "open - -" &&
	test "$(ask "\$j->{judged} + \$j->{known}")" = 0 &&
	exits 1 git -C repo rev-parse -q --verify refs/klineage/transplant/scale/x
'

test_expect_success 'a step that another needs cannot be undone alone, and the other cannot be put in without it' '
	(cd repo && git klineage transplant --json >../json 2>../err) || { cat err; false; } &&
	test "$(ask "words(4, 3)")" = "judged pass -" &&
	test "$(ask "words(2, 4)")" = "judged fail compile" && test "$(ask "words(2, 3)")" = "judged pass -" &&
	test "$(ask "words(4, 1)")" = "judged fail compile" && test "$(ask "words(4, 2)")" = "judged pass -" &&
	test "$(ask "join q(,), map { qq(\$_->{step} \$_->{kind} \$_->{other} \$_->{class}) } grep { !\$_->{by_merge} } @{\$j->{relations}}")" = "4 requires 2 compile" &&
	ask "\$j->{relations}[0]{fails} =~ /^[0-9a-f]{64}\$/ && \$j->{relations}[0]{passes} =~ /^[0-9a-f]{64}\$/" | grep 1
'

test_expect_success 'steps that do not depend on each other pass at every place, or change no code' '
	for cell in "1, 0" "2, 0" "2, 1" "3, 0" "3, 1" "3, 2" "1, 4" "3, 4"; do
		ask "words($cell)" >word && grep -x -e "judged pass -" -e "judged fail no-change" word || return 1
	done
'

test_expect_success 'each verdict is a note of a commit on the state, and a chain keeps the commits' '
	commit=$(ask "cell(4, 2)->{commit}") && event=$(ask "cell(4, 2)->{event}") &&
	git -C repo notes --ref=klineage/gate show $commit | grep "\"id\":\"$event\"" &&
	test "$(git -C repo rev-parse $commit^)" = "$(git -C repo rev-parse klineage/lineage/scale/x~2)" &&
	git -C repo merge-base --is-ancestor $commit refs/klineage/transplant/scale/x &&
	git -C repo log -1 --format=%s $commit | grep "^put rest of K\* in at K_2$" &&
	git -C repo fsck --strict --no-dangling && (cd repo && git klineage fsck)
'

test_expect_success 'a second run judges nothing again' '
	before=$(git -C repo rev-parse refs/klineage/transplant/scale/x) &&
	noisy=$(ask "scalar grep { \$_->{useless} } map { @{\$_->{cells}} } @s[1 .. 4]") &&
	(cd repo && git klineage transplant --json >../json) && test "$(ask "\$j->{judged} <= $noisy")" = 1 &&
	test "$(ask "\$j->{judged} > 0")" = 1 || test "$before" = "$(git -C repo rev-parse refs/klineage/transplant/scale/x)"
'

test_expect_success 'the table says which steps pay and what needs what' '
	(cd repo && git klineage transplant -n >../out) && cat out &&
	grep "^K_2  *half .* fails$" out && grep "^K_2 .*cannot be undone alone: fails (compile), K_4 builds on it" out &&
	says "K_4 (rest) requires K_2 (half): fails (compile) without it, passes with it" out &&
	(cd repo && git klineage transplant -n scale/x:K_4 >../out) && grep "^K_4  *rest " out && ! grep "^K_1 " out
'

test_expect_success 'a killed run goes on where it ended' '
	git -C repo update-ref -d refs/klineage/transplant/scale/x && rm -rf repo/.git/klineage/cache
	(cd repo && exec git-klineage transplant -q --json scale/x:4 >../json 2>../err) & pid=$!
	for i in $(seq 300); do
		git -C repo rev-parse -q --verify refs/klineage/transplant/scale/x >one && break
		sleep 0.1
	done
	kill -9 $pid; wait $pid; test -s one && test ! -s json &&
	(cd repo && git klineage fsck && git klineage transplant --json scale/x:4 >../json) &&
	test "$(ask "\$j->{known} > 0")" = 1 && test "$(ask "words(4, 1)")" = "judged fail compile"
'

test_expect_success 'with --seconds it stops in time and says how to go on' '
	rm -rf repo/.git/klineage/cache && (cd repo && git klineage transplant --seconds 1 >../out) &&
	says "run the command again" out
'

test_expect_success 'bad arguments are named' '
	(
	cd repo &&
	exits 129 git klineage transplant --within soon 2>err && says "such as 1% or 0.5%, not" err &&
	exits 129 git klineage transplant --within 99% 2>err && says "from 0% to 50%" err &&
	exits 129 git klineage transplant --seconds -3 2>err && says "from 1 to" err &&
	exits 129 git klineage transplant a b 2>err && says "one lineage" err &&
	exits 128 git klineage transplant none/such 2>err && says "none/such" err &&
	exits 128 git klineage transplant -n scale/x:K_9 2>err && says "K_0 to K_4" err &&
	exits 128 git klineage transplant -n scale/x:K_0 2>err && says "from K_1 to K_4" err
	)
'

test_expect_success 'a lineage of one state has no step' '
	(cd repo && git update-ref refs/heads/klineage/lineage/scale/one klineage/lineage/scale/x~4 &&
	 exits 1 git klineage transplant scale/one 2>../err) && says "one state only" err
'

test_expect_success 'an expert that fails now is said, and nothing else is judged' '
	(cd repo && git checkout -q -b wrong klineage/lineage/scale/x && sed "s/y\[i\] = ELEMENT(x\[i\])/y[i] = -ELEMENT(x[i])/" scale.c >new && mv new scale.c &&
	 git commit -q -a --amend -C HEAD && git update-ref refs/heads/klineage/lineage/scale/wrong HEAD && git checkout -q main &&
	 exits 1 git klineage transplant scale/wrong 2>../err) && says "the expert of scale/wrong fails now: wrong" err &&
	says "git klineage gate" err && exits 1 git -C repo rev-parse -q --verify refs/klineage/transplant/scale/wrong^2
'

test_expect_success 'verdicts go to another repository that has the lineage, by a file; a changed or foreign line is refused' '
	(cd repo && git klineage transplant --export ../events scale/x >../said && git klineage transplant -n scale/x >../here && git klineage export scale/x ../lineage >/dev/null) &&
	n=$(wc -l <events) && says "$n verdicts exported" said && git init -q other &&
	(cd other && git klineage import ../lineage >/dev/null && sed "2s/\"verdict\":\"[a-z]*\"/\"verdict\":\"inconclusive\"/" ../events >../changed &&
	exits 128 git klineage transplant --import ../changed scale 2>../err && says "changed:2: not a gate event" ../err && ! git rev-parse -q --verify refs/klineage/transplant/scale/x &&
	git klineage transplant --import ../events scale >../said && says "$n verdicts imported, 0 already" ../said &&
	! grep -F "$(sed "s/.*\"id\":\"\([0-9a-f]*\)\".*/\1/" ../events)" .git/klineage/made && git klineage transplant -n scale >../there && test_cmp ../here ../there &&
	git klineage transplant --import ../events scale >../said && says "0 verdicts imported, $n already known" ../said &&
	grep -v "\"what\":\"parent\"" ../events | grep "\"verdict\":\"pass\"" >../alone && cat ../alone ../alone >../twice && git klineage transplant --import ../twice scale >../said && says "0 verdicts imported, 2 already known" ../said &&
	printf "\0\n" | cat ../events - >../zero && exits 128 git klineage transplant --import ../zero scale 2>../err && says "zero byte" ../err &&
	git klineage import "$KLINEAGE_TOP/skills/lineages/c-gdn" >/dev/null && git klineage transplant --import ../events gdn >../said && says "0 verdicts imported, $n " ../said &&
	exits 128 git klineage transplant --import ../nowhere scale && exits 129 git klineage transplant --import x --export y scale &&
	exits 128 git klineage transplant --export ../none gdn 2>../err && says "has a verdict" ../err && git klineage fsck >../out && says ": 0 errors" ../out && git fsck --strict --no-dangling)
'

test_done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='deopt --rewriter history on a history that nobody wrote for it'
. ./lib.sh
. "$KLINEAGE_TOP/tests/t/scale.sh"
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

walk=klineage/walk/scale/x

# changed <sed command> <subject>: commit a change of the kernel
changed () {
	sed -i "$1" k/scale.c && git commit -q -a -m "$2"
}

test_expect_success 'comments, white space, other files and reverts make no step and no rejection' '
	(
	(make_repo r) && cd r && git reset -q --hard main~2 &&
	changed "1i /* a word about it */" "a comment" &&
	changed "s/^	for/	for/; s/;/ ;/" "blanks" &&
	echo x >other && git add other && git commit -q -m "another file" &&
	changed "s/3.0f/5.0f/" "an error" && git revert -n HEAD && git commit -q -m "the error taken back" &&
	changed "s/1.0f/(1.0f)/" "the same machine code" &&
	git klineage deopt --rewriter history --name x --rejections 1 --json >json &&
	git klineage log >out && cat out &&
	grep -F "\"passed_over\":{\"compile\":0,\"equal\":4,\"no-change\":1}" json &&
	grep -F "\"rejections\":0" json && grep -F "\"termination\":\"complete\"" json &&
	test "$(git rev-list --count main..$walk)" = 1 &&
	git show $walk:k/scale.c | grep volatile &&
	git klineage fsck && test -z "$(git status --porcelain -uno)"
	)
'

test_expect_success 'older states that do not compile do not end the walk' '
	(
	(make_repo c) && cd c && git reset -q --hard main~3 &&
	for i in 1 2 3; do
		changed "s/t \* [^ ]*/t * missing$i/" "missing $i" || return 1
	done &&
	git show main~3:k/scale.c >k/scale.c && changed "s/volatile //" "keep it in registers" &&
	git klineage deopt --rewriter history --name x --rejections 1 >out && cat out &&
	says "1 step accepted, 0 rejected" out && says "3 that the contract of the expert cannot compile" out &&
	git show $walk:k/scale.c | grep volatile
	)
'

test_expect_success 'a merged branch is walked by its commits' '
	(
	(make_repo m) && cd m && git reset -q --hard main~3 && git checkout -q -b side &&
	changed "s/volatile //" "keep it in registers" && git checkout -q main &&
	echo x >other && git add other && git commit -q -m "another file" &&
	git merge -q --no-ff -m "Merge pull request" side &&
	git klineage deopt --rewriter history --name x >out && cat out &&
	git log -1 --format=%B $walk | grep "undo $(git rev-parse --short=7 side): keep it in registers"
	)
'

test_expect_success 'five thousand commits of comments are passed over at once' '
	(
	(make_repo b) && cd b && git reset -q --hard main~3 &&
	perl -e "
		local \$/; open my \$in, q(<), q(k/scale.c); my \$text = <\$in>;
		for my \$i (1 .. 5000) {
			my \$new = qq(\$text/* note \$i */\n);
			print qq(commit refs/heads/main\ncommitter C <c\@d> ), 1700000000 + \$i, qq( +0000\ndata 4\nnote\n);
			print qq(from refs/heads/main^0\n) if \$i == 1;
			print qq(M 100644 inline k/scale.c\ndata ), length(\$new), qq(\n\$new\n);
		}" | git fast-import --quiet --force && git reset -q --hard &&
	changed "s/volatile //" "keep it in registers" &&
	git klineage deopt --rewriter history --name x --rejections 1 >out && cat out &&
	says "1 step accepted, 0 rejected" out && says "older states: 5000 equal to another" out
	)
'

test_done

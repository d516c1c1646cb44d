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
	grep -F "\"passed_over\":{\"compile\":0,\"equal\":4,\"no-change\":1,\"no-effect\":0,\"unreadable\":0}" json &&
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

# how many states of equal speed are folded depends on the noise of the machine: it may hide that they are equal
test_expect_success 'each step of the lineage is of one commit, and none changes nothing' '
	(
	(make_repo f) && cd f && git reset -q --hard main~3 &&
	sed -i "s/volatile float t = x\[i\];/&\n\tfor (volatile int k = 0; k < 30; k++)\n;\n/" k/scale.c &&
	git commit -q --amend --no-edit -a &&
	changed "s/volatile float/float/; /volatile int/,+1d" "keep it in registers" &&
	changed "s/y\[i\] = .*;/y[i] = 3.0f * t + 1.0f - 0.0f * n;/" "an idle product" &&
	changed "s/y\[i\] = .*;/y[i] = 1.0f + t * 3.0f - 0.0f * n;/" "another order" &&
	git klineage deopt --rewriter history --name x --rejections 1 >out && cat out && git klineage log >log && cat log &&
	! grep " nothing " log && grep "^K_1 .* speed " log &&
	git klineage show 1 --no-diff >show && cat show &&
	says "undoes      $(git rev-parse main~2)" show && says "effect      speed" show &&
	git log -1 --format=%B $walk | grep "undo $(git rev-parse --short=7 main~2): keep it in registers" &&
	steps=$(git rev-list --count main..$walk) &&
	git log --format="%(trailers:key=Klineage-Class,valueonly,separator=)" refs/klineage/rejected/scale/x ^$walk >classes &&
	test "$((steps + $(grep -c -e no-effect -e no-change classes)))" = 3 &&
	git klineage log --json | grep -F "\"undoes\":\"$(git rev-parse main~2)\"" &&
	git klineage fsck
	)
'

test_expect_success 'what cannot be a kernel is passed over: a binary, a huge file, a symlink, a submodule' '
	(
	(make_repo u) && cd u && git reset -q --hard main~3 && cp k/scale.c ../plain.c &&
	sed -i "s/volatile float t = x\[i\];/&\n\tfor (volatile int k = 0; k < 30; k++)\n;\n/" k/scale.c &&
	git commit -q --amend --no-edit -a &&
	head -c 3000 /dev/zero >k/scale.c && git commit -q -a -m "a binary" &&
	head -c 5000000 /dev/zero | tr "\0" " " >k/scale.c && git commit -q -a -m "a huge file" &&
	ln -sf oracle.c k/scale.c && git commit -q -a -m "a symlink" && rm k/scale.c && git commit -q -a -m "none" &&
	git update-index --add --cacheinfo 160000,$(git rev-parse HEAD~1),k/scale.c && git commit -q -m "a submodule" &&
	git update-index --cacheinfo 160000,$(git rev-parse HEAD~1),k/scale.c && git commit -q -m "it was pushed by force" &&
	git rm -q --cached k/scale.c && sed "s/\$/\r/" <../plain.c >k/scale.c && git add k/scale.c && git commit -q -m "CRLF" &&
	sed "s/volatile //" <../plain.c >k/scale.c && git commit -q -a -m "keep it in registers" &&
	git klineage deopt --rewriter history --name x --rejections 1 >out && cat out && says "2 steps accepted, 0 rejected" out &&
	says "5 without sources, or with a source above 4 MiB" out && says "1 that the contract of the expert cannot compile" out &&
	git show $walk:k/scale.c | grep "volatile int" && git show $walk~1:k/scale.c | tr "\r" R | grep "{R" &&
	git klineage fsck && git fsck --strict --no-dangling
	)
'

test_expect_success 'an older state has the files of its time: a header that is gone, and not a source that came later' '
	(
	(make_repo i) && cd i && git reset -q --hard main~3 && mkdir k/inc &&
	printf "static inline float times(float t)\n{\n\treturn t * FACTOR;\n}\n" >k/inc/times.h &&
	printf "#pragma once\n#define FACTOR 3.0f\n#include \"times.h\"\n" >k/inc/old.h &&
	sed -i "s/#include <stdint.h>/&\n#include \"inc\/old.h\"/; s/t \* 3.0f/times(t)/" k/scale.c &&
	sed -i "s/volatile float t = x\[i\];/&\n\tfor (volatile int k = 0; k < 30; k++)\n;\n/" k/scale.c &&
	printf "\nfloat plus_one(float t)\n{\n\treturn t + 1.0f;\n}\n" >>k/scale.c && git add k &&
	git commit -q --amend --no-edit &&
	git rm -q -r k/inc && printf "float plus_one(float t)\n{\n\treturn t + 1.0f;\n}\n" >k/plus.c &&
	printf "#include <stdint.h>\nfloat plus_one(float t);\nvoid scale(int64_t n, const float *x, float *y)\n{\n" >k/scale.c &&
	printf "\tfor (int64_t i = 0; i < n; i++)\n\t\ty[i] = plus_one(x[i] * 3.0f);\n}\n" >>k/scale.c &&
	sed -i "s/sources: \[scale.c\]/sources: [scale.c, plus.c]/" k/klineage.yaml && git add k && git commit -q -m "two files" &&
	git klineage deopt --rewriter history --name x --rejections 1 >out && cat out && says "1 step accepted, 0 rejected" out &&
	git log -1 --format=%B $walk >message && cat message &&
	says "with k/inc/old.h of that commit" message && says "with k/inc/times.h of that commit" message &&
	says "without plus.c" message && test -z "$(git show $walk:k/plus.c)" &&
	git show $walk:k/scale.c | grep "return t . FACTOR" && ! git show $walk:k/scale.c | grep old.h &&
	git klineage fsck && git klineage gate $walk >out && says pass out
	)
'

test_expect_success 'an older state has a file of its time that it includes by a macro' '
	(
	(make_repo macro) && cd macro && git reset -q --hard main~3 && mkdir k/inc &&
	printf "static inline float times(float t)\n{\n\treturn t * 3.0f;\n}\n" >k/inc/old.h &&
	printf "#define NAME \"inc/old.h\" /* of this platform */\n#define BODY NAME\n" >k/inc/config.h &&
	sed -i "s/#include <stdint.h>/&\n#include \"inc\/config.h\"\n#include BODY\n#undef BODY/; s/t \* 3.0f/times(t)/" k/scale.c &&
	sed -i "s/volatile float t = x\[i\];/&\n\tfor (volatile int k = 0; k < 30; k++)\n;\n/" k/scale.c && git add k &&
	git commit -q --amend --no-edit &&
	git rm -q k/inc/old.h && printf "static inline float times(float t)\n{\n\treturn 3.0f * t;\n}\n" >k/inc/new.h &&
	sed -i "s/old/new/" k/inc/config.h && sed -i "/for (volatile/,/^;/d; s/volatile //" k/scale.c &&
	sed -i "s/sources: \[scale.c\]/sources: [scale.c, inc\/config.h, inc\/new.h]/" k/klineage.yaml && git add k &&
	git commit -q -m "another file" &&
	git klineage deopt --rewriter history --name x --rejections 1 >out && cat out && says "1 step accepted, 0 rejected" out &&
	git log -1 --format=%B $walk >message && cat message && says "with k/inc/old.h of that commit" message &&
	git show $walk:k/scale.c | grep "return t . 3.0f" && git klineage fsck && git klineage gate $walk >out && says pass out
	)
'

test_expect_success 'commits that change other functions of the file are passed over at once' '
	(
	(make_repo o) && cd o && git reset -q --hard main~3 &&
	perl -e "
		local \$/; open my \$in, q(<), q(k/scale.c); my \$text = <\$in>;
		for my \$i (1 .. 300) {
			my \$new = qq(\$text\nint other(int n)\n{\n\treturn n + \$i;\n}\n);
			print qq(commit refs/heads/main\ncommitter C <c\@d> ), 1700000000 + \$i, qq( +0000\ndata 6\nother\n);
			print qq(from refs/heads/main^0\n) if \$i == 1;
			print qq(M 100644 inline k/scale.c\ndata ), length(\$new), qq(\n\$new\n);
		}" | git fast-import --quiet --force && git reset -q --hard &&
	changed "s/volatile //" "keep it in registers" &&
	git klineage deopt --rewriter history --name x --rejections 1 >out && cat out &&
	says "1 step accepted, 0 rejected" out && says "older states: 300 equal to another" out
	)
'

test_expect_success 'a state does not compile for another function, and an older one has the same kernel' '
	(
	(make_repo p) && cd p && git reset -q --hard main~3 &&
	sed -i "s/volatile float t = x\[i\];/&\n\tfor (volatile int k = 0; k < 30; k++)\n;\n/" k/scale.c &&
	printf "int other(int n)\n{\n\treturn n;\n}\n" >>k/scale.c && git commit -q --amend --no-edit -a && good=$(git rev-parse HEAD) &&
	changed "s/return n;/return m;/" "break another function" &&
	changed "s/return m;/return 2 * n;/; s/volatile //; /for (int k/,/^;/d" "mend it, and keep it in registers" &&
	git klineage deopt --rewriter history --name x --rejections 1 >out && cat out &&
	says "1 step accepted, 0 rejected" out && says "1 that the contract of the expert cannot compile" out &&
	git show $walk:k/scale.c | grep "return n;" && git log -1 --format=%B $walk >message && cat message &&
	says "undo $(git rev-parse --short=7 main): mend it" message && git klineage fsck
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

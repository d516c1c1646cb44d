#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage doctor: what a machine and a clone lack, and what mends it'
. ./lib.sh

# finding <check>: states of its findings; mends <check>: what mends them
finding () { git klineage doctor --porcelain | awk -F '\t' -v c="$1" '$1 == c { print $2 }'; }
mends () { git klineage doctor --porcelain | awk -F '\t' -v c="$1" '$1 == c { print $4 }'; }

test_expect_success 'a machine that can judge: each finding has a state; outside a repository, too' '
	mkdir outside && (cd outside && GIT_CEILING_DIRECTORIES=$PWD/.. && export GIT_CEILING_DIRECTORIES && git klineage doctor --porcelain >../out) &&
	cut -f2 out | sort -u >states && ! grep -vx -e good -e off -e weak states && cut -f1 out | grep -x jail && ! cut -f1 out | grep -x hooks &&
	git init -q r && cd r && test "$(finding C)" = good && git klineage doctor >text && says "kernels run in " text && says "nine of ten runs" text
'

test_expect_success 'what a clone lacks, and the command that mends it, which does' '
	test "$(finding hooks)" = off && mend=$(mends hooks) && test "$mend" = "git klineage hooks install" && $mend >/dev/null && test "$(finding hooks)" = good &&
	test "$(finding signing)" = off && mend=$(mends signing) && $mend && test "$(finding signing)" = good
'

test_expect_success 'a level of isolation that cannot work, and one that is none' '
	git config klineage.jail nonsense && exits 1 git klineage doctor >out && grep "^bad   jail  .*nonsense" out && says "git config --unset klineage.jail" out &&
	git config klineage.jail none && git klineage doctor >out && says "weak  jail        kernels run in none" out && git config --unset klineage.jail
'

test_expect_success 'a setting that names nothing, and a repository that cannot be opened' '
	git config klineage.signers nowhere && test "$(finding signers)" = weak && git config --unset klineage.signers &&
	git config klineage.platform zzz && exits 1 git klineage doctor >out && says "bad   platform" out && $(mends platform) && test -z "$(finding platform)" &&
	git init -q torn && (cd torn && echo "[" >>.git/config && exits 128 git-klineage doctor 2>../err) && says "config" err && rm -rf torn
'

test_expect_success 'no compiler: bad, and JSON says so' '
	mkdir bin && for c in git sh env ssh-keygen bwrap git-klineage; do p=$(command -v $c) && ln -s "$p" bin/$c; done
	PATH=$PWD/bin exits 1 git-klineage doctor --json >out && says "\"worst\":\"bad\"" out && says "\"mend\":\"install the package gcc, or " out
'

test_expect_success 'no identity; a bare clone has no hooks; bad options' '
	(unset GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL && HOME=$PWD/nowhere && export HOME && git -c user.useConfigOnly=true klineage doctor --porcelain | grep ^identity >line && says weak line) &&
	git init -q --bare b.git && (cd b.git && test -z "$(finding hooks)") &&
	exits 129 git klineage doctor extra && exits 129 git klineage doctor --json -z
'

test_done

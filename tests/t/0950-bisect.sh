#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git bisect run git klineage gate --bisect finds the commit that broke a kernel'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c

# state <number> <file>: the kernel as that file has it, with a line of its own
state () {
	{ cat "$2" && echo "/* $1 */"; } >mm.c && git add . && git commit -q -m "$1" && git tag "s$1"
}

test_expect_success 'a history: right, not to be compiled, right, wrong, without a contract, wrong again' '
	git init -q repo && (
		cd repo && cp "$cheats"/klineage.yaml "$cheats"/oracle.c . &&
		state 1 "$cheats"/accepted/plain.c && state 2 "$cheats"/accepted/kahan.c &&
		echo "no C at all" >../nonsense && state 3 ../nonsense && state 4 "$cheats"/accepted/recursion.c &&
		state 5 "$cheats"/accepted/double-sum.c && state 6 "$cheats"/refused/skipped-columns.c && git rm -q --cached klineage.yaml &&
		state 7 "$cheats"/refused/skipped-columns.c && git checkout -q s6 klineage.yaml && state 8 "$cheats"/refused/zeros.c
	) && test "$(git -C repo rev-list --count HEAD)" = 8
'

test_expect_success 'each state says what bisect needs' '
	(
		cd repo && exits 0 git klineage gate --bisect --no-profile --no-note s4 && exits 1 git klineage gate --no-profile --no-note s3 &&
		exits 125 git klineage gate --bisect --no-profile --no-note s3 && exits 1 git klineage gate --bisect --no-profile --no-note s6 &&
		rm -f klineage.yaml && exits 125 git klineage gate --bisect --no-profile --no-note s7 2>/dev/null; git checkout -q klineage.yaml
	)
'

test_expect_success 'the first bad one is found past those that cannot be tested' '
	(
		cd repo && git bisect start s8 s1 && git bisect run git klineage gate --bisect --no-profile --no-note -q;
		git bisect log >../log; git bisect reset
	) >out 2>&1 &&
	says "first bad commit: [$(git -C repo rev-parse s6)] 6" log
'

test_expect_success 'nothing was noted, nothing is left' '
	test_must_fail git -C repo rev-parse -q --verify refs/notes/klineage/gate && git -C repo status --porcelain --untracked-files=no >st &&
	test_must_fail test -s st
'

test_done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: points and values that no contract lists'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
top=$PWD

# kernel <file>: the kernel in the worktree
kernel () { cp "$cheats/$1.c" mm.c; }
# in_json <path of members> <file>: a number or string of the event
in_json () {
	perl -MJSON::PP -e 'my $v = decode_json(scalar <STDIN>); $v = $v->{$_} for split /\./, $ARGV[0]; print "$v\n"' "$1" <"$2"
}

test_expect_success 'a repository with the contract' '
	git init -q r && cp "$cheats"/klineage.yaml "$cheats"/oracle.c r/ && cd r && kernel accepted/plain &&
	git add . && git commit -q -m "mm: plain"
'

test_expect_success 'the verdict says what was drawn, in text and JSON' '
	cd "$top/r" && git klineage gate --worktree --no-profile --fresh >out && says "mm: pass" out &&
	grep "^  drawn     6 points of the domain, [1-9][0-9]* bands of values\$" out &&
	git klineage gate --worktree --no-profile --fresh --json >event &&
	test "$(in_json correct.drawn_points event)" = 6 && test "$(in_json correct.drawn_values event)" -ge 12
'

test_expect_success 'each run draws other points, and the failure names its own' '
	cd "$top/r" && kernel refused/unlisted-shapes &&
	for i in 1 2 3
	do
		exits 1 git klineage gate --worktree --no-profile --fresh --json >event$i 2>why || return 1
		perl -MJSON::PP -e "my \$d = decode_json(scalar <STDIN>)->{correct}{failure}{dims};
			print join(\",\", map { \"\$_=\$d->{\$_}\" } sort keys %\$d), \"\\n\"" <event$i >>points
	done &&
	cat points && test "$(sort -u points | wc -l)" -gt 1 &&
	test "$(in_json class event1)" = wrong-edge && says "drawn0" why
'

test_expect_success 'the message has the command that shows the failure again, with the same numbers' '
	cd "$top/r" && exits 1 git klineage gate --worktree --no-profile --fresh >out &&
	sed -n "s/; replay: .*//; s/^  wrong/wrong/p" out >first && command=$(sed -n "s/.*; replay: //p" out) &&
	case $command in "git klineage gate --worktree --workload mm --dims "*=*" --seed "*) ;; *) echo "$command"; false ;; esac &&
	exits 1 $command >again && sed -n "s/; replay: .*//; s/^  wrong/wrong/p" again >second && test_cmp first second &&
	says "only the requested points were judged" again
'

test_expect_success 'a verdict at some points alone is neither noted nor reused' '
	cd "$top/r" && git checkout -q mm.c && echo "/* again */" >>mm.c && git commit -q -a -m again &&
	git klineage gate --dims M=1,N=1,K=1 >out && says "mm: pass" out &&
	exits 1 git notes --ref=klineage/gate list HEAD 2>/dev/null &&
	git klineage gate --dims N=3,M=2,K=9 >out && ! grep "judged before" out &&
	git klineage gate --no-profile >out && ! grep "judged before" out && git klineage gate --no-profile >out && says "judged before" out &&
	kernel refused/unlisted-shapes && git klineage gate --worktree --dims M=1,N=1,K=1 >out && says "mm: pass" out &&
	exits 1 git klineage gate --worktree --dims M=1,N=1,K=2 >out && says "(M=1, N=1, K=2)" out
'

test_expect_success 'dims that are none' '
	cd "$top/r" && for dims in M=1 M=1,N=1 M=1,N=1,K=1,K=1 M=1,N=1,K=0 M=1,N=1,K=129 M=1,N=1,K=x M=1,N=1,Q=1 "" , \
		M=1,N=1,K=-1 M=1,N=1,K=1/ M=1,N=1,K=1/M=1,N=1,K=1/M=1,N=1,K=1 M=1,N=1,K=99999999999999999999
	do
		exits 129 git klineage gate --worktree --dims "$dims" 2>why || { echo "$dims"; cat why; return 1; }
	done &&
	exits 129 git klineage gate --dims M=1,N=1,K=1 --since HEAD 2>why &&
	exits 129 git klineage gate --dims M=1,N=1,K=1 --require fast 2>why &&
	exits 129 git klineage gate --dims M=1,N=1,K=1 --runner bundle 2>why && says "runner" why
'

test_expect_success 'what a contract leaves undefined is not drawn' '
	cd "$top/r" && git checkout -q . && kernel refused/nan-swallowed && exits 1 git klineage gate --worktree --no-profile --fresh >out &&
	says "a number where the truth is nan" out &&
	echo "values: {nan: undefined}" >>klineage.yaml && git klineage gate --worktree --no-profile --fresh >out && says "mm: pass" out &&
	kernel refused/infinity-cut && exits 1 git klineage gate --worktree --no-profile --fresh >out &&
	sed -i "s/^values.*/values: {nan: undefined, inf: undefined}/" klineage.yaml &&
	git klineage gate --worktree --no-profile --fresh >out && says "mm: pass" out &&
	kernel refused/denormals-dropped && exits 1 git klineage gate --worktree --no-profile --fresh >out &&
	sed -i "s/^values.*/values: {denormal: undefined}/" klineage.yaml &&
	git klineage gate --worktree --no-profile --fresh >out && says "mm: pass" out
'

test_expect_success 'a domain of the listed points alone is said to have no others' '
	cd "$top/r" && git checkout -q . && sed -i "s/^domain:.*/domain: [M == 96, N == 80, K == 112]/; /^also/d; /^  - {M:/d" klineage.yaml &&
	git klineage gate --worktree --no-profile --fresh >out && says "only 0 of 6 points could be drawn, because" out &&
	sed -i "/^domain/d" klineage.yaml && git klineage gate --worktree --no-profile --fresh >out && ! grep "could be drawn" out
'

test_expect_success 'the quick stages search, too' '
	cd "$top/r" && git checkout -q . && kernel refused/unlisted-shapes && exits 1 git klineage gate --worktree --quick --fresh >out &&
	says "drawn0" out
'

test_done

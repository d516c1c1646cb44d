#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='tables fit the terminal: constant columns, cut texts, what is left out; files and --wide have everything'
. ./lib.sh
unset NO_COLOR PAGER LESS COLUMNS
TERM=vt100 GIT_PAGER=cat
export TERM GIT_PAGER

# at <columns> <command line>: run in a terminal of this width
at () {
	script -qec "stty cols $1 && $2" /dev/null </dev/null | tr -d "\r"
}
at 80 'test -t 1 && test "$(stty size | cut -d " " -f 2)" = 80 && echo yes' | grep -q yes && test_set_prereq TTY

# fits <columns> <file>: no line is longer
fits () {
	perl -CSD -ne 'chomp; $n = length; $bad = 1, print "$n columns: $_\n" if $n > '"$1"'; END { exit($bad || !$.) }' "$2"
}

test_expect_success 'a repository with a lineage and a library' '
	git init -q -b main repo && (
		cd repo && git klineage import "$KLINEAGE_TOP/skills/lineages/cuda-gemm" >/dev/null &&
		git checkout -q -b main klineage/lineage/cuda-gemm/sm_90-5607a69 && git klineage skills import --shipped >/dev/null
	)
'

test_expect_success 'in a file the log has every column whole' '
	(cd repo && git klineage log >../file && COLUMNS=40 git klineage log --no-bars >../narrow) &&
	says "bf16 M=4096 N=4096 K=4096 on NVIDIA H100 80GB HBM3" file && says "where                  time" file &&
	grep "^K_8 .* 1\.50x \[1\.50, 1\.51\] .* 72% .* fence\.proxy wgmma wgmma\.bf16 *inverse *pass *device-only" file &&
	grep "^K_13 .* 0\.71x \[0\.71, 0\.72\] ! .* 62%" file && ! grep -F "±" file && ! grep -F ".." narrow && ! grep "^each row" file
'

test_expect_success TTY 'in a terminal the log fits' '
	for n in 40 60 80 120 200; do
		(cd repo && at $n "git klineage log --no-color --no-bars" >../log.$n) && sed "1,/^$/d; /^$/,\$d" log.$n >rows && fits $n rows || return 1
	done && fits 80 log.80 &&
	says "each row: derivation inverse, verdict pass, tier device-only" log.80 && says "more with --wide: action undone, where, vs K_0" log.80 &&
	grep "^K_8 .*wgmma .* 1\.50x ±0\.2% .* 72% .* fence\.proxy" log.80 && grep "^K_13 .* 0\.71x ±0\.4% ! .* 62%" log.80 &&
	head -n 6 log.80 | grep "^state" >head && ! grep -E "verdict|tier|where" head && grep "of cublas" head &&
	grep "^state .* where .* vs K_0 " log.200 && grep "^K_8 .* fence\.proxy wgmma wgmma\.bf16" log.200 && ! says "more with" log.200
'

test_expect_success TTY 'what cannot be cut is kept whole, whatever is left out' '
	for n in 40 60 80; do
		awk "/^K_/ { print \$1 }" file >want && awk "/^K_/ { print \$1 }" log.$n >have && test_cmp want have &&
		grep -o " [0-9.]* [mu]s " file >want && grep -o " [0-9.]* [mu]s " log.$n >have && test_cmp want have &&
		grep -o "[0-9] [mu]s  *[0-9.]*x ±[0-9.]*%" log.$n >have && test "$(wc -l <have)" = 18 || return 1
	done
'

# the column at which the third cell of each row begins, as a terminal counts
cat >third.pl <<'X'
next unless /^K_[0-9]/;
s/\p{Mn}//g; s/\p{Han}/cc/g; chomp;
die "too long: $_" if length > 80;
/^\S+ +\S+ +/; print "$+[0]\n";
X
test_expect_success TTY 'an ideograph takes two columns, an accent none' '
	wide=$(printf "\344\270\255\346\226\207%.0s" 1 2 3 4 5 6 7 8 9 10) accent=$(printf "e\314\201%.0s" 1 2 3 4 5 6 7 8 9 10) &&
	ref=klineage/lineage/cuda-gemm/sm_90-5607a69 && cp -R repo words && for w in "$wide" "$accent"; do
		(cd words && git log -1 --format=%B $ref | sed "s/^Klineage-Mechanism: .*/Klineage-Mechanism: $w/" >../message &&
			git update-ref refs/heads/klineage/lineage/cuda-gemm/words "$(git commit-tree -p $ref^ -F ../message $ref^{tree})" &&
			at 80 "git klineage log --no-color --no-bars cuda-gemm/words" >../log) &&
		perl -CSD -n third.pl log | sort -u >third && test "$(wc -l <third)" = 1 || { cat log; return 1; }
	done
'

test_expect_success TTY '--wide has in a terminal what a file has' '
	(cd repo && at 80 "git klineage log --wide --no-color" >../wide && at 80 "git klineage log --no-color | cat" >../pipe) &&
	test_cmp file wide && test_cmp file pipe
'

test_expect_success TTY 'the columns of a pager count, and it scrolls sideways' '
	(cd repo && at 100 "GIT_PAGER=\"cat; echo LESS=\\\$LESS\" git klineage log --no-color --no-bars" >../log &&
		at 100 "GIT_PAGER=\"cat >/dev/null; echo LESS=\\\$LESS\" git klineage show 1" >../show) &&
	grep "^LESS=FRSX" log && grep "^LESS=FRX" show && grep -v ^LESS= log >table && fits 100 table
'

test_expect_success TTY 'a step that lost is red, a gain is green, the heading is bold' '
	esc=$(printf "\033") && (cd repo && at 80 "git klineage log --no-bars" >../out) &&
	grep "^K_13 .*$esc\[1;31m0\.71x ±0\.4% !$esc\[m" out && grep "^K_8 .*$esc\[32m1\.50x" out && grep "^$esc\[1mstate$esc\[m" out &&
	sed "s/$esc\[[0-9;]*m//g" out >stripped && test_cmp log.80 stripped
'

test_expect_success TTY 'every table of a verb fits' '
	while read -r verb; do
		for n in 80 120 200; do
			(cd repo && at $n "git klineage $verb --no-color" >../out) && grep -v "^  *[^ ]*:\|^measured\|^usage\|^   or" out >rows && fits $n rows || { echo "$verb at $n"; return 1; }
		done || return 1
	done <<-\X
	skills list
	retrieve --status hypothesis
	show 8 --no-diff
	chat log
	hooks status
	X
'

test_expect_success TTY 'help is folded between words, and says the same' '
	for v in help "init -h" "skills -h" "doctor --no-clock"; do
		at 80 "cd repo && git klineage $v --no-color" >narrow && fits 80 narrow &&
		(cd repo && git klineage $v; :) >whole && tr -s "\n " "  " <whole >want && tr -s "\n " "  " <narrow >have && test_cmp want have || return 1
	done
'

test_done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs alone: what is faster is measured.
test_description='from a fresh library to a first applied card, in two commands, and what came of each card is a trial'
. ./lib.sh
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

if ! grep -q avx2 /proc/cpuinfo
then
	skip_all='the kernels need AVX2'
	test_done
fi
skills=refs/heads/klineage/skills

test_expect_success 'where there is no contract, import says so' '
	git init -q bare && (cd bare && git commit -q --allow-empty -m start && git klineage skills import --shipped >out && cat out &&
	says "no contract at HEAD" out && says "git klineage adopt" out && exits 128 git klineage skills try -q 2>err; cat err; says "klineage.yaml" err)
'

test_expect_success 'a plain kernel of nobody in particular' '
	git init -q -b main own && cd own && cat >klineage.yaml <<-E && cat >own.c <<-E && cat >oracle.c <<-E && git add . && git commit -q -m "own: a plain kernel"
	klineage: 1
	workload: own
	case: {op: reduce, dims: {n: 2048}}
	surface: {language: c, sources: [own.c], entry: own, flags: [-O2]}
	args:
	  - {name: n, kind: dim}
	  - {name: x, kind: in, dtype: f32, shape: [n], fill: normal}
	  - {name: y, kind: out, dtype: f32, shape: [1]}
	domain: [n >= 1]
	cases: [{dims: {n: 2048}, rank: hot}]
	also: [{n: 1}, {n: 33}]
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	accept: {rule: noise}
	floor: {bytes: none}
	E
	#include <stdint.h>
	void own(int64_t n, const float *restrict x, float *restrict y)
	{
		float sum = 0;
		for (int64_t i = 0; i < n; i++)
			sum += x[i];
		y[0] = sum;
	}
	E
	#include <stdint.h>
	#include "kl_oracle.h"
	void oracle(int64_t n, const kl_real *x, kl_real *y)
	{
		kl_real sum = 0;
		for (int64_t i = 0; i < n; i++)
			sum += x[i];
		y[0] = sum;
	}
	E
	git config klineage.profileMs 400
'

test_expect_success 'without cards it says where to get some' '
	exits 128 git klineage skills try -q 2>err && cat err && says "the library has no cards" err && says "import --shipped" err
'

test_expect_success 'import names the contract, how many cards fit, and the next command' '
	git klineage skills import --shipped >out && cat out && grep "own (C): [0-9]* cards fit, [0-9]* of them by a tool" out &&
	says "git klineage skills try own" out
'

test_expect_success 'bad options' '
	exits 129 git klineage skills try one two && exits 129 git klineage skills try --seconds -1 && exits 125 git klineage skills try -q nothing
'

test_expect_success 'a dry run writes nothing' '
	git for-each-ref >before && git klineage skills try -n -q >out && cat out && says "applies" out && git for-each-ref >after && test_cmp before after
'

# tried: noise can hide a gain, and then another run, of another commit, measures it again
tried () {
	for i in 1 2 3 4; do
		git klineage skills try -q --seconds 20 >out 2>err
		rc=$?
		cat out err
		test $rc = 0 && grep ": a trial at level other-workload: passed" out && return 0
		test $rc -le 1 || return 1
		git commit -q --allow-empty -m again
	done
	return 1
}

test_expect_success 'a card is applied, its trial is recorded, and the rule admits it' '
	tried && card=$(sed -n "s/: a trial at level other-workload: passed.*//p" out | head -n 1) && echo "$card" >../card &&
	grep "^$card: a trial at level other-workload: passed, .*hypothesis -> admitted" out && says "git merge --ff-only klineage/materialize/own/" out &&
	git show "$skills:cards/$card.yaml" >card && says "status: admitted" card && says "workload: own" card && says "how: mechanical" card &&
	git rev-parse HEAD >../head
'

test_expect_success 'the result is a branch on HEAD that any git can read' '
	branch=$(sed -n "s/.*git merge --ff-only //p" out | tail -n 1) && test -n "$branch" && git merge -q --ff-only "$branch" &&
	git log -1 --format="%(trailers:key=Klineage-Skill,valueonly)" | grep . && git klineage fsck >fsck && says ": 0 errors, 0 warnings" fsck && git fsck --strict --no-dangling
'

test_expect_success 'once more on the old kernel: the run goes on, and no trial is recorded twice' '
	git checkout -q -B main "$(cat ../head)" &&
	n=$(git show "$skills:cards/$(cat ../card).yaml" | grep -c "workload: own") && git klineage skills try -q --seconds 20 >out; cat out
	says "$(cat ../card): no trial: a trial of the card on this state has passed" out && test "$(git show "$skills:cards/$(cat ../card).yaml" | grep -c "workload: own")" = "$n"
'

test_done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='tests/real: kernels of other repositories, by a list'
. ./lib.sh

real=$KLINEAGE_TOP/tests/real/run.sh

test_expect_success 'a repository, and what a person fills in' '
	git init -q theirs && cat >theirs/sum.c <<-\C && printf "sum.o: sum.c\n\t\$(CC) -O2 -c sum.c\n" >theirs/Makefile &&
	float sum(int n, const float *x)
	{
		float s = 0;
		for (int i = 0; i < n; i++)
			s += x[i];
		return s;
	}
	void report(float x, int *seen) { *seen = x > 0; }
	C
	git -C theirs add . && git -C theirs commit -q -m "sum: plain" &&
	cat >theirs/sum.c <<-\C &&
	float sum(int n, const float *x)
	{
		float s[16] = { 0 }, t = 0;
		int i = 0;
		for (; i + 16 <= n; i += 16)
			for (int k = 0; k < 16; k++)
				s[k] += x[i + k];
		for (; i < n; i++)
			t += x[i];
		for (int k = 0; k < 16; k++)
			t += s[k];
		return t;
	}
	void report(float x, int *seen) { *seen = x > 0; }
	C
	git -C theirs commit -q -am "sum: sixteen accumulators" &&
	mkdir -p mine/contracts/total mine/contracts/missed &&
	cat >mine/contracts/total/contract.sed <<-\SED &&
	s/dims: {n: TODO}/dims: {n: 4096}/
	s/shape: \[TODO\]/shape: [n]/
	s/^accept: .*/accept: {rule: elementwise, ulps: 2, acc: 8}/
	SED
	cat >mine/contracts/total/oracle.c <<-\C &&
	#include "kl_oracle.h"
	kl_real oracle(int n, const kl_real *x)
	{
		kl_real s = 0;
		for (int i = 0; i < n; i++)
			s += x[i];
		return s;
	}
	C
	cp mine/contracts/total/oracle.c mine/contracts/missed/ && echo "s/NONE/n/" >mine/contracts/missed/contract.sed &&
	commit=$(git -C theirs rev-parse HEAD) &&
	cat >mine/real.list <<-LIST
	# name, repository, commit, kernel, contract, walk, needs
	total	../theirs $commit sum.c:sum adopt walk -

	LIST
'

test_expect_success 'a row: contract, gate, walk and cards' '
	exits 0 "$real" -o kept mine/real.list >out && says "total                  adopt pass" out &&
	grep "^c: verdicts, sources untouched  *1 of  *1  100 %" out &&
	grep "^steps	1$" kept/rows/total/result && grep "^full-verdict	pass$" kept/rows/total/result &&
	grep "^tries	[0-9]" kept/rows/total/result && grep "^general	[1-9]" kept/rows/total/result &&
	grep "^cards with a transformation that applied, a kernel each  *[0-9]" out && ! grep "^touched" kept/rows/total/result
'

test_expect_success 'a row that has a result is not run again' '
	exits 0 "$real" -o kept mine/real.list >again 2>err && test_must_be_empty err && test_cmp out again
'

test_expect_success 'edits that miss, a commit that is not there, a function that is not there' '
	cat >>mine/real.list <<-LIST &&
	missed	../theirs $commit sum.c:sum adopt - -
	gone	../theirs 0123456789012345678901234567890123456789 sum.c:sum adopt - -
	none	../theirs $commit sum.c:product adopt - -
	later	../theirs $commit sum.c:sum adopt - adapter
	LIST
	exits 1 "$real" -q -o kept mine/real.list >out 2>err &&
	says "missed: the edits leave 2 places marked TODO" err && says "gone: no clone of" err &&
	says "needs adapter: no contract yet" out && says "defines no function" out && grep "^c: verdicts, sources untouched  *1 of  *5" out
'

test_expect_success 'only the named rows, without a directory to keep' '
	exits 0 "$real" -q mine/real.list total >out && says "pass (quick)" out && ! grep missed out &&
	exits 129 "$real" mine/none.list && exits 129 "$real"
'

test_expect_success 'the figures of device code' '
	echo "{\"verdict\":\"pass\",\"static\":[{\"kernel\":\"axpy\",\"registers\":40}]}" >event &&
	exits 0 perl "$KLINEAGE_TOP/tests/real/facts.pl" gate quick event /dev/null 0 >facts 2>err && test_must_be_empty err &&
	says "axpy: 40 registers" facts
'

test_done

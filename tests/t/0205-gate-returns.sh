#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: returned values, outputs that start at zero, types of sizes and flags'
. ./lib.sh

# filled <sed script>...: fill in the contract that init wrote
filled () {
	for script
	do
		sed "$script" klineage.yaml >new && mv new klineage.yaml || return 1
	done
}

# judged <code>: judge the worktree without the profile
judged () { exits "$1" git klineage gate --worktree --no-profile >../out 2>../err || { cat ../out ../err >&2; return 1; }; }

test_expect_success 'a kernel that returns a checksum, from init to a verdict' '
	git init -q sum && cd sum &&
	cat >sum.c <<-\EOF &&
	#include <stdbool.h>
	#include <stddef.h>
	typedef unsigned int u32;
	u32 sum(size_t n, const unsigned char *p, u32 seed, bool twice)
	{
		u32 value = seed;
		for (size_t i = 0; i < n; i++)
			value = value * 31 + p[i];
		return twice ? 2 * value : value;
	}
	EOF
	git klineage init sum.c && cp klineage.yaml ../skeleton && judged 128 &&
	filled "s/dims: {n: TODO}/dims: {n: 3000}/" "s/\[TODO\], fill: TODO/[n], fill: {ints: [0, 255]}/" "/seed/s/TODO/17/" "/twice/s/TODO/1/" &&
	cat >oracle.c <<-\EOF &&
	#include "kl_oracle.h"
	uint32_t oracle(size_t n, const unsigned char *p, uint32_t seed, _Bool twice)
	{
		uint32_t value = seed;
		for (size_t i = 0; i < n; i++)
			value = value * 31 + p[i];
		return twice ? 2 * value : value;
	}
	EOF
	git add . && git commit -q -m sum && judged 0 && says "sum: pass" ../out && cd ..
'

test_expect_success 'a value that is wrong, or kept from an earlier call, is named' '
	cd sum && sed "s/value \* 31/value * 33/" sum.c >../wrong.c &&
	sed "s/u32 value = seed;/static u32 kept; u32 value = seed; if (kept) return kept;/; s/return twice ? 2/return kept = twice ? 2/" sum.c >../kept.c &&
	cp ../wrong.c sum.c && judged 1 && says "wrong-all" ../out && says "the kernel returned" ../out &&
	cp ../kept.c sum.c && judged 1 && says "nondeterministic" ../out && says "the kernel returned" ../out && git checkout -q . && cd ..
'

test_expect_success 'a flag is a value, and a status beside an output' '
	cd sum && cat >sum.c <<-\EOF &&
	#include <stdbool.h>
	#include <stddef.h>
	bool sum(size_t n, const unsigned char *p, unsigned seed, bool twice)
	{
		unsigned value = 0;
		for (size_t i = 0; i < n; i++)
			value += p[i];
		return value % 2;
	}
	EOF
	filled "s/dtype: u32}$/dtype: bool}/" && cat >oracle.c <<-\EOF &&
	#include "kl_oracle.h"
	_Bool oracle(size_t n, const unsigned char *p, uint32_t seed, _Bool twice)
	{
		uint32_t value = 0;
		for (size_t i = 0; i < n; i++)
			value += p[i];
		return value & 1;
	}
	EOF
	judged 0 && sed "s/return value % 2/return 1/" sum.c >../one.c && cp ../one.c sum.c && judged 1 && says "wrong-all" ../out &&
	sed "s/return value & 1/return 0/" oracle.c >new && mv new oracle.c && judged 125 && says "passes an answer of zeros, for each of" ../err && cd ..
'

test_expect_success 'an output that the kernel adds to starts at zero if the contract says so' '
	git init -q adds && cd adds &&
	cat >adds.c <<-\EOF &&
	#include <stdint.h>
	int adds(uint32_t rows, uint32_t cols, float *x, float *y)
	{
		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t j = 0; j < cols; j++)
				y[j] += x[i * cols + j];
		return 0;
	}
	EOF
	git klineage init adds.c && says "name: x, kind: in" klineage.yaml && says "name: y, kind: inout" klineage.yaml &&
	filled "s/dims: {rows: TODO, cols: TODO}/dims: {rows: 61, cols: 200}/" "/name: x/s/TODO/rows, cols/" \
		"/name: y/s/kind: inout, dtype: f32, shape: .TODO., fill: normal}/kind: out, dtype: f32, shape: [cols], init: zeros}/" &&
	cat >oracle.c <<-\EOF &&
	#include "kl_oracle.h"
	int oracle(uint32_t rows, uint32_t cols, const kl_real *x, kl_real *y)
	{
		for (uint32_t i = 0; i < rows; i++)
			for (uint32_t j = 0; j < cols; j++)
				y[j] += x[i * cols + j];
		return 0;
	}
	EOF
	git add . && git commit -q -m adds && judged 0 &&
	sed "s/y\[j\] += x.*/;/" adds.c >../idle.c && cp ../idle.c adds.c && judged 1 && says "still zero, as before the call" ../out &&
	git checkout -q . && filled "s/, init: zeros//" && judged 125 && cd ..
'

test_done

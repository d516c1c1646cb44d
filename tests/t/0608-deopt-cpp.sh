#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage deopt on a kernel in C++: token passes take steps back'
. ./lib.sh

if ! g++ --version >/dev/null 2>&1; then
	say "SKIPPED: needs g++"
	test_done
fi

test_expect_success 'a pass removes __restrict from a template, among text that C does not have' '
	git init -q axpy && cd axpy &&
	cat >axpy.cpp <<-\EOF &&
	#include <cstddef>
	#if __cplusplus < 201402L
	#error old
	#endif
	namespace blas {
	template <typename T, int U>
	[[gnu::hot]] void axpy(std::size_t n, T a, const T *__restrict x, T *__restrict y)
	{
		constexpr long limit = 1'\''000'\''000;
		const char *note = R"(a { raw " string)";
		std::size_t i = 0;
		(void)note;
		if (__builtin_expect(n > limit * 1000, 0))
			return;
		for (; i + U <= n; i += U)
			for (int k = 0; k < U; k++)
				y[i + k] += a * x[i + k];
		for (; i < n; i++)
			y[i] += a * x[i];
	}
	}
	EOF
	cat >oracle.c <<-\EOF &&
	#include <stddef.h>
	#include "kl_oracle.h"
	void oracle(size_t n, kl_real a, const kl_real *x, kl_real *y) { for (size_t i = 0; i < n; i++) y[i] += a * x[i]; }
	EOF
	cat >klineage.yaml <<-\EOF &&
	klineage: 1
	workload: axpy
	case: {op: axpy, dims: {n: 512}}
	surface:
	  language: c++
	  sources: [axpy.cpp]
	  entry: "blas::axpy<float, 8>"
	  flags: [-O2]
	args:
	  - {name: n, kind: dim, dtype: u64}
	  - {name: a, kind: scalar, dtype: f32, value: 1.5}
	  - {name: x, kind: in, dtype: f32, shape: [n]}
	  - {name: y, kind: inout, dtype: f32, shape: [n]}
	domain: [n >= 1]
	also: [{n: 1}, {n: 61}]
	oracle: {language: c, sources: [oracle.c], entry: oracle}
	accept: {rule: noise}
	EOF
	git add . && git commit -q -m "axpy: expert" &&
	git klineage deopt --quiet --rewriter passes --no-rederive --steps 1 >out && says "1 step accepted" out &&
	git show klineage/walk/axpy/x86-64-v3-$(git rev-parse --short=7 HEAD) >step && grep "^-.*T \*__restrict x" step >/dev/null && grep "^+.*const T \*x, T \*y" step >/dev/null &&
	says "Klineage-Mechanism: restrict" step && cd ..
'

test_expect_success 'the lineage is sound' '
	(cd axpy && git klineage log --json axpy) >out && says "axpy" out && (cd axpy && git klineage fsck)
'

test_done

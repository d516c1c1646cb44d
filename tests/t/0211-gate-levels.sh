#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: levels of x86-64, and kernels that choose among versions for processors'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c
level=$(perl -ne 'if (/^flags/) { %h = map { $_ => 1 } split; print $h{avx512vl} && $h{avx512bw} ? 4 : $h{avx2} ? 3 : 1; exit }' /proc/cpuinfo)

# judged <code> [<option>...]: judge the worktree without the profile
judged () {
	want=$1
	shift
	(cd mm && exits "$want" git klineage gate --worktree --quick "$@" >../out 2>../err) || { cat out err >&2; return 1; }
}

# versions <how>: a kernel with a plain version and one for AVX-512, between which <how> chooses
versions () {
	cat >mm/mm.c <<-EOF
	#include <stdint.h>
	$1
	static void plain(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
	{
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++) {
				float sum = 0;
				for (int64_t k = 0; k < K; k++)
					sum += A[i * K + k] * B[k * N + j];
				C[i * N + j] = sum;
			}
	}
	__attribute__((target("avx512f,prefer-vector-width=512"), optimize("O3")))
	static void wide(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
	{
		for (int64_t i = 0; i < M; i++) {
			for (int64_t j = 0; j < N; j++)
				C[i * N + j] = 0;
			for (int64_t k = 0; k < K; k++)
				for (int64_t j = 0; j < N; j++)
					C[i * N + j] += A[i * K + k] * B[k * N + j];
		}
	}
	void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
	{
		if ($2)
			wide(M, N, K, A, B, C);
		else
			plain(M, N, K, A, B, C);
	}
	EOF
}

test_expect_success 'a set beyond the level is refused, with the level to judge it at' '
	git init -q mm && cp "$cheats"/klineage.yaml "$cheats"/oracle.c mm && (cd mm && git add . && git commit -q -m contract) &&
	versions "" "M > 0" && judged 1 --platform x86-64-v3 && says "cheat" out && says "AVX512F" out &&
	says "judge it with --platform cpu/x86-64-v4" out
'

if test "$level" = 4
then
	test_expect_success 'AVX-512 is judged on a processor that has it' '
		judged 0 --platform x86-64-v4 && says "mm: pass" out && says "cpu/x86-64-v4" out && says "vec.512" out
	'
else
	test_expect_success 'without AVX-512 the processor cannot judge it, and says what it lacks' '
		judged 125 --platform x86-64-v4 && says "its processor lacks" err && says "avx512f" err
	'
fi

test_expect_success 'a question for the processor has the answer of the level' '
	versions "" "__builtin_cpu_supports(\"avx512f\")" && judged 0 --platform x86-64-v3 --json &&
	says "\"cpu/x86-64-v3\"" out && ! grep "vec.512" out && says "only the version for the platform" out &&
	versions "" "__builtin_cpu_init(), __builtin_cpu_supports(\"x86-64-v3\") && !__builtin_cpu_is(\"intel\")" &&
	judged 1 --platform x86-64-v3 && says "AVX512F" out && judged 0 --platform x86-64-v2 && says "mm: pass" out
'

if test "$level" = 4
then
	test_expect_success 'so it has at the highest level' '
		versions "" "__builtin_cpu_supports(\"avx512f\") && __builtin_cpu_supports(\"avx512vl\")" &&
		judged 0 --platform x86-64-v4 && says "vec.512" out
	'
fi

test_expect_success 'of clones for processors one version is built' '
	versions "__attribute__((target_clones(\"avx512f\", \"avx2\", \"default\")))" 0 &&
	judged 0 --platform x86-64-v3 && says "mm: pass" out && says "only the version for the platform" out &&
	versions "" 0 && judged 0 --platform x86-64-v3 && ! grep "only the version" out
'

test_expect_success 'the processor itself is not asked' '
	sed "s/^#include <stdint.h>/&\n#include <cpuid.h>/; s/if (0)/unsigned a = 0, b = 0, c = 0, d = 0;\n	__get_cpuid(7, \&a, \&b, \&c, \&d);\n	if (b >> 16 \& 1)/" mm/mm.c >new && mv new mm/mm.c &&
	judged 1 --platform x86-64-v3 && says "cheat" out && says "cpuid" out && says "__builtin_cpu_supports" out
'

test_done

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate: kernels with OpenMP, in the threads of their contract'
. ./lib.sh

cheats=$KLINEAGE_TOP/tests/cheats/c

# judged <code> [<option>...]: judge the worktree of mm
judged () {
	want=$1
	shift
	(cd mm && exits "$want" git klineage gate --worktree "$@" >../out 2>../err) || { cat out err >&2; return 1; }
}

test_expect_success 'threads write rows in chunks of every schedule' '
	git init -q mm && cp "$cheats"/contracts/threads/* mm && (cd mm && git add . && git commit -q -m contract) &&
	cp "$cheats"/accepted/threads-schedules.c mm/mm.c && judged 0 --no-profile && says "mm: pass" out
'

test_expect_success 'sections, single, critical, ordered, tasks, nested regions, locks and barriers' '
	cp "$cheats"/accepted/threads-constructs.c mm/mm.c && judged 0 --quick && says "mm: pass" out &&
	says "call.GOMP_critical_name_start" out && ! grep "gomp_critical_user" out &&
	cp "$cheats"/accepted/threads-schedules.c mm/mm.c
'

test_expect_success 'more threads than processors give the same answers' '
	sed "s/threads: 2/threads: 5/" "$cheats"/contracts/threads/klineage.yaml >mm/klineage.yaml &&
	judged 0 --no-profile && says "mm: pass" out &&
	cp "$cheats"/contracts/threads/klineage.yaml mm
'

test_expect_success 'facts are those of the code that the threads run' '
	cat >mm/mm.c <<-\EOF &&
	#include <stdint.h>
	void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
	{
	#pragma omp parallel for
		for (int64_t i = 0; i < M; i++)
			for (int64_t j = 0; j < N; j++) {
				float sum = 0;
				for (int64_t k = 0; k < K; k++)
					sum += A[i * K + k] * B[k * N + j];
				C[i * N + j] = sum;
			}
	}
	EOF
	judged 0 --quick && says "loop.depth.3" out && says "call.GOMP_parallel" out
'

test_expect_success 'without threads its pragmas are ignored, and the event says so' '
	(cd mm && exits 0 git klineage gate --worktree --quick --json >../event) &&
	! grep "OpenMP" event &&
	sed "s/, threads: 2//" "$cheats"/contracts/threads/klineage.yaml >mm/klineage.yaml && judged 0 --quick &&
	says "pragmas of OpenMP are ignored" out && says "add '"'threads: <n>'"'" out &&
	judged 0 --quick --json && says "pragmas of OpenMP are ignored" out &&
	cp "$cheats"/contracts/threads/klineage.yaml mm
'

test_expect_success 'without threads OpenMP is refused by name, and so is its flag' '
	sed "s/, threads: 2//" "$cheats"/contracts/threads/klineage.yaml >mm/klineage.yaml &&
	cp "$cheats"/accepted/threads-share-a-stack.c mm/mm.c &&
	judged 1 --quick && says "cheat" out && says "omp_get_thread_num" out && says "add '"'threads: <n>'"'" out &&
	sed -i "s/flags: \[-O2\]/flags: [-O2, -fopenmp]/" mm/klineage.yaml &&
	judged 128 --quick && says "klineage.yaml" err && says "add '"'threads: <n>'"'" err &&
	sed "s/threads: 2/threads: 65/" "$cheats"/contracts/threads/klineage.yaml >mm/klineage.yaml && judged 128 --quick && says "threads" err &&
	cp "$cheats"/contracts/threads/klineage.yaml mm
'

test_expect_success 'what OpenMP has beyond the list is refused by name' '
	cat >mm/mm.c <<-\EOF &&
	#include <stdint.h>
	void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
	{
	#pragma omp parallel
	#pragma omp single
	#pragma omp taskloop
		for (int64_t i = 0; i < M * N; i++)
			C[i] = A[i % K] + B[i % K];
	}
	EOF
	judged 1 --quick && says "GOMP_taskloop" out && says "does not have" out
'

test_expect_success 'a reduction over threads can differ in its last bits, if the contract says so' '
	git init -q sum && (
		cd sum &&
		cat >klineage.yaml <<-\EOF &&
		klineage: 1
		workload: sum
		case: {op: sum, dims: {R: 48, N: 3000}}
		surface: {language: c, sources: [sum.c], entry: sum, flags: [-O2], threads: 2}
		args:
		  - {name: R, kind: dim}
		  - {name: N, kind: dim}
		  - {name: x, kind: in, dtype: f32, shape: [R, N], fill: normal}
		  - {name: y, kind: out, dtype: f32, shape: [R]}
		domain: [R >= 1, N >= 1, R <= 64, N <= 4000]
		also: [{R: 1, N: 1}, {R: 3, N: 1001}]
		oracle: {language: c, sources: [oracle.c], entry: oracle}
		accept: {rule: noise, max: 4, rms: 4}
		deterministic: false
		EOF
		cat >oracle.c <<-\EOF &&
		#include "kl_oracle.h"
		void oracle(int64_t R, int64_t N, const kl_real *x, kl_real *y)
		{
			for (int64_t row = 0; row < R; row++) {
				kl_real sum = 0;
				for (int64_t i = 0; i < N; i++)
					sum += x[row * N + i];
				y[row] = sum;
			}
		}
		EOF
		cat >sum.c <<-\EOF &&
		#include <stdint.h>
		void sum(int64_t R, int64_t N, const float *x, float *y)
		{
			for (int64_t row = 0; row < R; row++) {
				float sum = 0;
		#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 16)
				for (int64_t i = 0; i < N; i++)
					sum += x[row * N + i];
				y[row] = sum;
			}
		}
		EOF
		git add . && git commit -q -m sum && exits 0 git klineage gate --no-profile >../out 2>../err &&
		says "sum: pass" ../out && sed -i "s/deterministic: false/deterministic: true/" klineage.yaml &&
		exits 1 git klineage gate --worktree --no-profile >../out 2>../err && says nondeterministic ../out &&
		says "reduction over threads" ../out
	) || { cat out err >&2; return 1; }
'

for cheat in stay-behind:cheat wait-for-the-next-call:cheat wait-for-each-other:hang leave-denormals-off:fault
do
	test_expect_success "refused: threads-${cheat%:*}" '
		cp "$cheats/refused/threads-${cheat%:*}.c" mm/mm.c &&
		judged 1 --no-profile && says "mm: fail ${cheat#*:}" out
	'
done

test_expect_success 'the profile of two threads needs two processors' '
	cp "$cheats"/accepted/threads-schedules.c mm/mm.c && judged 0 &&
	says "mm: pass" out && says "time" out &&
	(cd mm && exits 0 taskset -c 0 git klineage gate --worktree --fresh --no-note >../out 2>../err) && says "not profiled" out
'

test_done

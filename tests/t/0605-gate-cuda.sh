#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage gate on device code: compiled, audited and handed over without a GPU'
. ./lib.sh

# a toolkit that is not there is said, whatever is installed
test_expect_success 'without nvcc device code cannot be tested' '
	git klineage init --template cuda-topk topk &&
	(cd topk && exits 125 git -c klineage.nvcc=/nonexistent/nvcc klineage gate) 2>err &&
	says "klineage.nvcc" err
'

if ! command -v nvcc >/dev/null && ! test -x /usr/local/cuda/bin/nvcc; then
	say "SKIPPED: the rest needs nvcc"
	test_done
fi
if test -e /proc/driver/nvidia/version; then
	say "SKIPPED: the rest is for machines without a GPU"
	test_done
fi

test_expect_success 'without a GPU there is no verdict, and it is said what to do' '
	(cd topk && exits 125 git klineage gate) 2>err && says "no GPU here" err && says "runner bundle" err
'

test_expect_success 'what compilation and audit found is printed without a GPU' '
	(cd topk && exits 125 git klineage gate --quick) >out 2>err && says "compiled, no verdict  (cuda/sm_90, nvcc" out &&
	says "  features  " out && grep "^  figures   topk: [1-9][0-9]* registers, [0-9]* bytes of shared memory.*, occupancy [0-9.]* % (limited by [a-z ]*)$" out >/dev/null &&
	(cd topk && exits 125 git klineage gate --quick --json) >out 2>err && test_must_be_empty out
'

test_expect_success 'a bundle has the job, its cubins and plans, and the event what is known' '
	(cd topk && exits 125 git klineage gate --runner bundle --json >../out 2>../err) &&
	tar -xf topk/.git/klineage/bundles/*.tar && says "\"surface\":\"cuda\"" jobs/* &&
	says "\"oracle_plan\":{" jobs/* && says "\"arch\":\"sm_90a\"" jobs/* &&
	for f in files/*; do head -c 4 "$f" | grep -a ELF >/dev/null || return 1; done
'

test_expect_success 'the shipped baseline is kept with the oracles, and the next session sends the same bytes' '
	objects=topk/.git/klineage/cache/objects && find $objects -type f | sort >stored && test "$(wc -l <stored)" -eq 3 &&
	for f in $(cat stored); do sed 1d "$f" | sha256sum | cut -d" " -f1; done | sort >kept && ls files | sort >sent &&
	test -z "$(comm -23 kept sent)" && (cd topk && exits 125 git klineage gate --runner bundle -o ../again.tar) &&
	find $objects -type f | sort | test_cmp stored - && mkdir again && tar -C again -xf again.tar && ls again/files | sort | test_cmp sent -
'

# the same job wherever it is compiled: <repository> <revision>
same_everywhere () {
	rm -rf near far && git clone -q "$1" near && mkdir -p far/away/from && git clone -q "$1" far/away/from/here &&
	(cd near && exits 125 git klineage gate --runner bundle -o "$SHARNESS_TRASH_DIRECTORY"/near.tar "$2") &&
	(cd far/away/from/here && exits 125 git klineage gate --runner bundle -o "$SHARNESS_TRASH_DIRECTORY"/far.tar "$2") &&
	test_cmp near.tar far.tar
}

test_expect_success 'two clones in different directories send the same bytes' '
	git clone -q topk static && (
		cd static && { echo "namespace {" && cat "$KLINEAGE_TOP"/tests/data/static.cu && echo "}" &&
			sed "0,/^{/s//{\n\tif (kept(blockIdx.x) > 1e30f)\n\t\treturn;/" topk.cu; } >new && mv new topk.cu &&
		git commit -q -a -m "names of its own"
	) &&
	same_everywhere static HEAD && tar xOf near.tar --wildcards "files/*" | strings >names &&
	grep _INTERNAL_ names >/dev/null
'

test_expect_success 'so do those of a surface with host code' '
	mkdir host && cp "$KLINEAGE_TOP"/tests/cheats/cuda-host/contracts/twice/* host/ &&
	cat "$KLINEAGE_TOP"/tests/data/static.cu "$KLINEAGE_TOP"/tests/cheats/cuda-host/accepted/launches.cu >host/k.cu &&
	git init -q host && git -C host add . && git -C host commit -q -m host && same_everywhere host HEAD
'

test_expect_success 'counters are asked for where klineage.ncu says so, and nothing runs for a path of a bundle' '
	ask () {
		(cd topk && exits 125 git "$@" klineage gate --runner bundle -o ../counters.tar >../out 2>../err) &&
		rm -rf jobs && tar -xf counters.tar
	} &&
	ask -c klineage.ncu=false && ! grep -l "\"counters\"" jobs/* &&
	ask -c klineage.ncu=true && says "\"do\":[\"audit\",\"correct\",\"profile\",\"counters\"]" jobs/* &&
	ask -c klineage.ncu=/nonexistent/ncu && says "\"counters\"" jobs/* && ! grep nonexistent jobs/* &&
	(cd topk && exits 128 git -c klineage.ncu=perhaps klineage gate --runner bundle) 2>err && says "klineage.ncu" err
'

test_expect_success 'code that keeps state is refused before it is sent anywhere' '
	(
		cd topk && sed "1i __device__ int kept;" topk.cu | sed "0,/^{/s//{ kept++;/" >new && mv new topk.cu &&
		exits 1 git klineage gate --worktree --json >../out
	) && says "\"class\":\"cheat\"" out && says "kept" out && says "\"tier\":\"device-only\"" out &&
	says "cuda/sm_90" out
'

test_expect_success 'a plan that is wrong is class launch, with its line' '
	(
		cd topk && git checkout -q . && sed "s/block: *\[/block: [99999, /" launch.yaml >new &&
		mv new launch.yaml && exits 1 git klineage gate --worktree --json >../out
	) && says "\"class\":\"launch\"" out && says "launch.yaml:" out
'

test_expect_success 'code that does not compile names its line' '
	(
		cd topk && git checkout -q . && echo "nonsense;" >>topk.cu &&
		exits 1 git klineage gate --worktree --json >../out
	) && says "\"class\":\"compile\"" out && says "topk.cu:" out
'

test_expect_success 'an architecture means at least, and scalars are floats for the oracle as well' '
	git init -q scale && cd scale &&
	cat >klineage.yaml <<-\EOF &&
	klineage: 1
	workload: scale
	case: {op: scale, dims: {n: 4096}}
	surface: {language: cuda, sources: [k.cu, launch.yaml]}
	args:
	  - {name: x, kind: in, dtype: f32, shape: [n]}
	  - {name: alpha, kind: scalar, dtype: f32, value: 1.5}
	  - {name: y, kind: out, dtype: f32, shape: [n], init: zeros}
	oracle: {language: cuda, sources: [oracle.cu, oracle.yaml]}
	accept: {rule: noise}
	EOF
	cat >k.cu <<-\EOF &&
	extern "C" __global__ void scale(const float *x, float *y, float alpha, int n)
	{
		int i = blockIdx.x * blockDim.x + threadIdx.x;
		if (i < n)
			y[i] += alpha * x[i];
	}
	EOF
	cat >launch.yaml <<-\EOF &&
	klineage-launch: 1
	compile: {arch: sm_80}
	launch: [{kernel: scale, grid: ["cdiv(n, 256)"], block: [256], args: [x, y, alpha, {i32: n}]}]
	EOF
	sed "s/, arch: sm_80//; /compile/d; s/scale/oracle/" launch.yaml >oracle.yaml &&
	sed "s/void scale(const float .x, float .y/void oracle(const kl_real *x, kl_real *y/; 1i #include \"kl_oracle.cuh\"" k.cu >oracle.cu &&
	git add . && git commit -q -m scale &&
	exits 125 git klineage gate --runner bundle -o ../least.tar && exits 125 git klineage gate --runner bundle --platform cuda/sm_90 -o ../later.tar &&
	exits 125 git klineage gate --platform cuda/sm_75 2>../err && says "the kernel is for cuda/sm_80, but cuda/sm_75 was requested" ../err &&
	cd .. && tar xOf least.tar --wildcards "jobs/*" >least && tar xOf later.tar --wildcards "jobs/*" >later &&
	says "\"arch\":\"sm_80\"" least && says "\"init\":\"zeros\"" least && says "\"arch\":\"sm_90\"" later &&
	sed "s/float alpha/kl_real alpha/" scale/oracle.cu >new && mv new scale/oracle.cu &&
	(cd scale && exits 125 git klineage gate --worktree --runner bundle -o ../none.tar 2>../err) &&
	says "argument 2 of kernel '\''oracle'\'' has 8 bytes, and the plan passes 4" err && says "scalars have the contract'\''s types" err &&
	test ! -e none.tar
'

test_expect_success 'a CUDA file gets contract, plan and oracle, and compiles once they are filled in' '
	git init -q first && cd first &&
	cat >gemm.cu <<-\EOF &&
	#include <cstdio>
	#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
	const int BLOCK = 32;
	__global__ void __launch_bounds__(1024) naive(int M, int N, int K, float alpha, const float *A, float *B, float beta, float *C)
	{
		const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
		float sum = 0;
		if (x >= M || y >= N)
			return;
		for (int i = 0; i < K; i++)
			sum += A[x * K + i] * B[i * N + y];
		C[x * N + y] = alpha * sum + beta * C[x * N + y];
	}
	void run(int m, int n, int k, float alpha, float *A, float *B, float beta, float *C)
	{
		dim3 grid(CEIL_DIV(m, BLOCK), (n + 31) / 32), block(32, BLOCK);
		naive<<<grid, block>>>(m, n, k, alpha, A, B, beta, C);
	}
	EOF
	git klineage init gemm.cu >../out && says "wrote their launch plans launch.yaml and oracle.yaml" ../out &&
	says "kernel: naive" launch.yaml && says "grid: [\"cdiv(M, 32)\", \"(N + 31) / 32\"]" launch.yaml &&
	says "{name: B, kind: in" klineage.yaml && says "{name: C, kind: inout" klineage.yaml &&
	sed "s/block: \[TODO\]/block: [32, 32]/" launch.yaml >new && mv new launch.yaml &&
	sed "s/: TODO, N: TODO, K: TODO/: 512, N: 256, K: 128/; s/value: TODO/value: 1.5/; /name: A/s/TODO/M, K/; /name: B/s/TODO/K, N/; /name: C/s/TODO/M, N/" klineage.yaml >new &&
	mv new klineage.yaml && sed "s/TODO/N, M/; s/256/1/" oracle.yaml >new && mv new oracle.yaml &&
	sed "s|/. KL_ORACLE_TODO.*|int i = blockIdx.y, j = blockIdx.x; kl_real sum = 0; for (int k = 0; k < K; k++) sum += A[i * K + k] * B[k * N + j]; C[i * N + j] = alpha * sum + beta * C[i * N + j];|" oracle.cu >new &&
	mv new oracle.cu && git add . && git commit -q -m gemm && exits 125 git klineage gate --runner bundle -o ../first.tar 2>../err && says "no verdict yet" ../err && cd .. &&
	tar xOf first.tar --wildcards "jobs/*" >first.job && says "_Z5naiveiiifPKfPffS1_" first.job
'

test_expect_success 'a C platform does not serve it, nor another architecture' '
	(cd topk && git checkout -q . && exits 125 git klineage gate --platform cuda/sm_80) 2>err &&
	says "cuda/sm_90" err
'

test_done

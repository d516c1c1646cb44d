#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
test_description='git klineage on device code in C++: instances of templates, namespaces, overloads'
. ./lib.sh

if ! command -v nvcc >/dev/null && ! test -x /usr/local/cuda/bin/nvcc; then
	say "SKIPPED: needs nvcc"
	test_done
fi
if test -e /proc/driver/nvidia/version; then
	say "SKIPPED: for machines without a GPU"
	test_done
fi

q="'"

# bundle <file>: judge the working tree without a GPU; the job is in the file
bundle () {
	exits 125 git klineage gate --worktree --runner bundle -o ../job.tar 2>../err &&
	tar xOf ../job.tar --wildcards "jobs/*" >"$1"
}

# launches <kernel>: set the kernel that the plan launches
launches () {
	sed "s/kernel: .*/kernel: \"$1\"/" launch.yaml >new && mv new launch.yaml
}

git init -q scale && cd scale || exit 1

test_expect_success 'a contract and a plan come from a template and its launch' '
	cat >scale.cu <<-\EOF &&
	#define real float
	namespace ns {
	namespace {
	template <typename T> __device__ T times(T left, T right) { return left * right; }
	}
	template <int BLOCK, typename T, bool Twice = false>
	__global__ void __launch_bounds__((BLOCK * 2) / 2) scale(const T *x, T *y, int n)
	{
		int i = blockIdx.x * BLOCK + threadIdx.x;
		if (i < n)
			y[i] = times(x[i], T(Twice ? 2 : 3));
	}
	static __global__ void copy(const real *x, real *y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = x[i]; }
	}
	namespace { __global__ void plain(const float *x, float *y, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = x[i]; } }
	__global__ void both(const float *x, float *y, int n) { *y = *x; }
	__global__ void both(const double *x, float *y, int n) { *y = *x; }
	void run(const float *x, float *y, int n)
	{
		constexpr int B = 128;
		ns::scale<B, float><<<(n + B - 1) / B, B>>>(x, y, n);
	}
	EOF
	exits 128 git klineage init scale.cu 2>../err && says "scale, copy, plain, both, both" ../err &&
	git klineage init --entry scale scale.cu >../out &&
	says "kernel: ns::scale<128, float>" launch.yaml && says "block: [128]" launch.yaml &&
	says "{name: x, kind: in, dtype: f32" klineage.yaml && says "{name: y, kind: out, dtype: f32" klineage.yaml &&
	says "oracle(const kl_real *x, kl_real *y, int n)" oracle.cu &&
	sed "s/dims: {n: TODO}/dims: {n: 4096}/; s/shape: \[TODO\]/shape: [n]/; s/TODO/n >= 1/; /^#/d" klineage.yaml >new && mv new klineage.yaml &&
	sed "s/TODO/\"cdiv(n, 256)\"/" oracle.yaml >new && mv new oracle.yaml &&
	sed "s|/. KL_ORACLE_TODO.*|int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = 3 * x[i];|" oracle.cu >new && mv new oracle.cu &&
	git add . && git commit -q -m scale
'

test_expect_success 'the instance is made, and the job has its symbol beside its name' '
	bundle ../job && says "no verdict yet" ../err &&
	says "\"kernel\":\"ns::scale<128, float>\"" ../job && says "\"symbol\":\"_ZN2ns5scaleILi128EfLb0EEEvPKT0_PS1_i\"" ../job &&
	says "ns::scale<128, float>" ../job
'

test_expect_success 'arguments are constants of the plan, and any instance can be named' '
	launches "ns::scale<BM, float, true>" &&
	sed "s/{arch: sm_80}.*/{arch: sm_80, define: {BM: 128}}/" launch.yaml >new && mv new launch.yaml &&
	bundle ../job && says "_ZN2ns5scaleILi128EfLb1EEEvPKT0_PS1_i" ../job
'

test_expect_success 'kernels in namespaces, unnamed ones and overloads are found' '
	for name in ns::copy plain "both(const float *, float *, int)"; do
		launches "$name" && sed "s/block: .*/block: [128]/" launch.yaml >new && mv new launch.yaml &&
		bundle ../job && grep "\"symbol\":\"_Z" ../job >/dev/null || return 1
	done && says "_Z4bothPKfPfi" ../job
'

# refused <class> <text>: the gate refuses the working tree
refused () {
	exits 1 git klineage gate --worktree --json >../out && says "\"class\":\"$1\"" ../out && says "$2" ../out
}

test_expect_success 'a kernel that does not exist is named with those that do' '
	launches "ns::tile<128>" && refused launch "the plan launches ${q}ns::tile<128>${q}, which the code does not define" &&
	says "the code has ${q}ns::scale<int BLOCK, typename T, bool Twice = false>${q}" ../out && ! grep "_Z" ../out &&
	launches "ns::scale<float, 128>" && refused launch "the plan launches ${q}ns::scale<float, 128>${q}, which the code does not define: its template arguments" &&
	launches none && refused launch "the plan launches ${q}none${q}, which the code does not define: the code has " && ! grep "the code has.*_Z" ../out &&
	launches both && refused launch "can mean ${q}both(double const*, float*, int)${q} and ${q}both(float const*, float*, int)${q}"
'

test_expect_success 'what the audit refuses has the name in the source' '
	launches "ns::scale<128, float>" &&
	sed "s/^namespace ns {/&\n__device__ int kept;/; s/T(Twice ? 2 : 3)/T(kept++)/" scale.cu >new && mv new scale.cu &&
	refused cheat "ns::kept" && git checkout -q scale.cu &&
	sed "s/(BLOCK \* 2) \/ 2/BLOCK \/ 2/" scale.cu >new && mv new scale.cu &&
	refused launch "kernel ${q}ns::scale<128, float, false>${q} is compiled for at most 64 threads" && git checkout -q scale.cu
'

test_expect_success 'no other characters get from a plan into the source, and a plan sets no symbol' '
	for bad in "a<1>;" "a<1" "a(b" "a<\x27b\x27>" "a b" "a<{}>" "a::" "1a<1>" "a<1>b" "a<b)>"; do
		launches "$bad" && refused launch "is not a valid symbol" || return 1
	done &&
	launches "ns::scale<128, float>" && sed "s/^    grid/    symbol: k\n    grid/" launch.yaml >new && mv new launch.yaml &&
	refused launch "a plan must not set ${q}symbol${q}" && git checkout -q .
'

test_expect_success 'kernels of an oracle are extern "C"' '
	sed "s/KL_ORACLE oracle/__global__ void oracle/" oracle.cu >new && mv new oracle.cu &&
	exits 125 git klineage gate --worktree 2>../err && says "oracle: the plan launches ${q}oracle${q}, which the code does not define" ../err &&
	says "declare those of an oracle extern \"C\"" ../err && git checkout -q .
'

test_expect_success 'a binding to Python beside the kernel is read, and no header of it is needed' '
	mkdir -p include/lib && echo "#define TIMES 3" >include/lib/times.h && cat >bind.cu <<-\EOF &&
	#include <torch/extension.h>
	#include <ATen/cuda/CUDAContext.h>
	#  include "c10/cuda/CUDAGuard.h"
	#include <lib/times.h>
	#define CHECK_INPUT(x) TORCH_CHECK((x).is_cuda() && x.is_contiguous(), #x " must be a contiguous CUDA tensor")
	template <typename scalar_t, typename F> __global__ void apply(const scalar_t *x, scalar_t *y, int n, F f)
	{
		int i = blockIdx.x * blockDim.x + threadIdx.x;
		if (i < n)
			y[i] = f(x[i]);
	}
	constexpr float times(float x) { return x * TIMES * SCALE; }
	extern "C" __global__ void scale(const float *x, float *y, int n)
	{
		int i = blockIdx.x * blockDim.x + threadIdx.x;
		if (i < n)
			y[i] = times(x[i]);
	}
	torch::Tensor forward(torch::Tensor x, c10::optional<at::Tensor> mask, double by)
	{
		CHECK_INPUT(x);
		TORCH_CHECK(x.dim() == 2, "wanted 2 axes, not ", x.dim());
		const at::cuda::OptionalCUDAGuard guard(device_of(x));
		auto y = torch::empty_like(x), z = torch::zeros({x.size(0), x.size(1)}, x.options().dtype(torch::kFloat32));
		const int n = x.numel();
		auto stream = at::cuda::getCurrentCUDAStream();
		AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "forward", ([&] {
			apply<scalar_t><<<(n + 255) / 256, 256, 0, stream>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n,
				[=] __device__(scalar_t v) { return v; });
		}));
		scale<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), z.data_ptr<float>(), n);
		C10_CUDA_KERNEL_LAUNCH_CHECK();
		return y.view({-1, n});
	}
	PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "Forward", py::arg("x"), py::arg("by") = 2.0); }
	EOF
	sed "s|^  sources: .*|  sources: [bind.cu, include/lib/times.h, launch.yaml]\n  include: [include]\n  define: [SCALE=1.0f]\n  flags: [--expt-relaxed-constexpr, --extended-lambda]|" klineage.yaml >new &&
	mv new klineage.yaml &&
	launches scale && bundle ../job && says "\"scale\"" ../job
'

test_expect_success 'a kernel that uses PyTorch is refused, with the name of what it uses' '
	cp bind.cu kept && sed "s/= times(x\[i\])/= times(x[i]) + torch::zeros({1}).numel()/" kept >bind.cu &&
	refused compile "at::Tensor::numel" &&
	sed "s/void scale(const float .x,/void scale(at::PackedTensorAccessor32<float, 1> a, const float *x,/" kept >bind.cu &&
	refused compile "PackedTensorAccessor32" && mv kept bind.cu
'

test_expect_success 'a macro that a shell could read is no value for nvcc' '
	cp klineage.yaml kept && for bad in "A=\$(id)" "A=\`id\`" "A=a b" "A=;"; do
		sed "s|define: \[SCALE=1.0f\]|define: [\"$bad\"]|" kept >klineage.yaml &&
		exits 128 git klineage gate --worktree 2>../err && says "a macro for nvcc" ../err || return 1
	done && mv kept klineage.yaml
'

test_done

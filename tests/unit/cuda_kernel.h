/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEST_CUDA_KERNEL_H
#define KL_TEST_CUDA_KERNEL_H

#include "test.h"

#include "backend/cuda/compile.h"
#include "base/fs.h"
#include "base/mem.h"

/*
 * cuda_kernel - compile device code as the gate does, for tests of compile, audit and facts: a
 * contract of x[n] to y[n], a k.cu, a launch plan. Without nvcc every test says so and is skipped.
 */
struct cuda_kernel {
	struct kl_jail jail;
	struct kl_nvcc nvcc;
	bool there;
	char *dir;
	struct kl_contract *contract;
	struct kl_surface surface;
	struct kl_file file[4], oracle[2];
	const char *class_;
};

#define CUDA_CONTRACT                                                   \
	"klineage: 1\nworkload: w\ncase: {op: map, dims: {n: 1024}}\n"  \
	"surface: {language: cuda, sources: [k.cu, launch.yaml]}\n"     \
	"args:\n  - {name: x, kind: in, dtype: f32, shape: [n]}\n"      \
	"  - {name: y, kind: out, dtype: f32, shape: [n]}\n"            \
	"oracle: {language: cuda, sources: [oracle.cu, oracle.yaml]}\n" \
	"accept: {rule: noise}\n"

#define CUDA_PLAN                                       \
	"klineage-launch: 1\ncompile: {arch: sm_90a}\n" \
	"launch:\n  - {kernel: k, grid: [\"cdiv(n, 256)\"], block: [256], args: [x, y]}\n"

static inline void cuda_file(struct kl_file *file, const char *path, const char *text)
{
	*file = (struct kl_file){
		.path = (char *)path, .mode = 0100644, .data = (char *)text, .len = strlen(text)
	};
}

static inline void cuda_setup(struct cuda_kernel *kernel)
{
	memset(kernel, 0, sizeof(*kernel));
	kernel->there = kl_nvcc_find(&kernel->nvcc, NULL) == 0;
	if (!kernel->there)
		print_message("SKIPPED: %s\n", kl_error_last());
	assert_ok(kl_jail_open(&kernel->jail, KL_JAIL_AUTO));
	assert_ok(kl_fs_tempdir(&kernel->dir, "kl-cuda"));
	assert_ok(kl_contract_parse(&kernel->contract, "klineage.yaml", CUDA_CONTRACT,
				    strlen(CUDA_CONTRACT)));
	kernel->surface.contract = kernel->contract;
	kernel->surface.dir = (char *)"";
	kernel->surface.file = kernel->file;
	kernel->surface.oracle = kernel->oracle;
}

static inline void cuda_teardown(struct cuda_kernel *kernel)
{
	if (kernel->there)
		kl_nvcc_release(&kernel->nvcc);
	kl_contract_free(kernel->contract);
	kl_fs_tempdir_cleanup(&kernel->dir);
}

/* `plan` NULL: CUDA_PLAN. `flags`: space-separated, or NULL. */
static inline int cuda_compile(struct kl_artefact **out, struct cuda_kernel *kernel,
			       const char *source, const char *plan, const char *flags)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;

	cuda_file(&kernel->file[0], "k.cu", source);
	cuda_file(&kernel->file[1], "launch.yaml", plan ? plan : CUDA_PLAN);
	kernel->surface.nfile = 2;
	kl_strvec_release(&kernel->contract->flags);
	if (flags)
		kl_strvec_split(&kernel->contract->flags, flags, " ");
	kernel->class_ = NULL;
	assert_ok(kl_launch_read(&launch, &kernel->surface, false, NULL));
	return kl_compile_cuda(out, &kernel->class_, &kernel->jail, &kernel->nvcc, NULL,
			       &kernel->surface, launch, kernel->dir);
}

#endif

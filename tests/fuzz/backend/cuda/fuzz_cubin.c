/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "backend/cuda/audit.h"
#include "backend/cuda/features.h"

/* Device code as any file: whatever is read of it is in range, and the audit gives an answer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	KL_AUTO(kl_cubin_freep) struct kl_cubin *cubin = NULL;
	struct kl_cuda_wish wish = { .arch = "sm_90a", .text = KL_BUF_INIT };
	struct kl_cuda_launch launch[8] = { { 0 } };
	struct kl_sass sass = { 0 };
	KL_AUTO(json_decrefp) json_t *figures = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec features = KL_STRVEC_INIT;
	char hex[KL_DIGEST_HEX];

	if (kl_cubin_parse(&cubin, data, size) < 0) {
		MUST(*kl_error_last());
		return 0;
	}
	for (size_t i = 0; i < cubin->nkernel && i < 8; i++) {
		const struct kl_cubin_kernel *kernel = &cubin->kernel[i];

		MUST(kernel->sec < cubin->nsec && kernel->nparam <= KL_PLAN_MAX_ARGS);
		kl_strvec_push(&wish.name, kernel->name);
		launch[i] = (struct kl_cuda_launch){
			.kernel = kernel->name, .narg = kernel->nparam, .threads = 128, .blocks = 1
		};
		for (size_t at = 0; at < kernel->nparam; at++)
			launch[i].size[at] = kernel->param[at].size;
		wish.nlaunch++;
	}
	wish.launch = launch;
	if (kl_audit_cuda_launch(cubin, &wish) < 0 || kl_audit_cuda(cubin, NULL, &sass, &wish) < 0)
		MUST(*kl_error_last());
	struct kl_cuda_code code = { .cubin = cubin, .sass = &sass, .wish = &wish, .verbose = "" };

	kl_cuda_features(&features, &code);
	kl_cuda_digest(hex, &code);
	figures = kl_cuda_static(&code);
	MUST(json_array_size(figures) == wish.name.n);
	kl_strvec_release(&wish.name);
	return 0;
}

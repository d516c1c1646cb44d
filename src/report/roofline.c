/* SPDX-License-Identifier: Apache-2.0 */
#include "report/roofline.h"

#include <string.h>

/*
 * Published rates without sparsity: bytes per nanosecond of the memory, and operations per nanosecond
 * in f32 and, by tensor cores, in bf16 and f16. Sources: NVIDIA's data sheets of the H100 and H200
 * (SXM) and of the A100 (80 GB SXM).
 */
static const struct {
	const char *device;
	double bytes, f32, half;
} devices[] = {
	{ "NVIDIA H100 80GB HBM3", 3350, 67e3, 989e3 },
	{ "NVIDIA H200", 4800, 67e3, 989e3 },
	{ "NVIDIA A100-SXM4-80GB", 2039, 19.5e3, 312e3 },
};

/* Return the rate for the type of the inputs; 0: unknown, or the inputs have several types. */
static double arithmetic_rate(size_t device, const struct kl_contract *contract)
{
	enum kl_dtype dtype = KL_F32;
	bool any = false;

	for (size_t i = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];

		if (!kl_arg_kind_is_tensor(arg->kind) || !kl_arg_kind_is_input(arg->kind))
			continue;
		if (any && arg->dtype != dtype)
			return 0;
		dtype = arg->dtype;
		any = true;
	}
	return !any                                ? 0 :
	       dtype == KL_F32                     ? devices[device].f32 :
	       dtype == KL_BF16 || dtype == KL_F16 ? devices[device].half :
						     0;
}

struct kl_roofline kl_roofline_of(const struct kl_report_content *content)
{
	struct kl_roofline roofline = { 0, "memory" };

	/* the time of a state is a mean over the cases; a hot case need not use the memory */
	if (!content->surface || content->surface->contract->nperf != 1 ||
	    content->surface->contract->perf[0].hot)
		return roofline;
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++) {
		double rate;

		if (strcmp(content->device, devices[i].device) != 0)
			continue;
		rate = arithmetic_rate(i, content->surface->contract);
		roofline.ns = (double)content->bytes / devices[i].bytes;
		if (rate > 0 && (double)content->flops / rate > roofline.ns)
			roofline = (struct kl_roofline){ (double)content->flops / rate,
							 "arithmetic" };
	}
	return roofline;
}

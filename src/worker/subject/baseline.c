/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/baseline.h"

#include <string.h>

#include "base/error.h"

static const struct {
	const char *name;
	int (*open)(struct kl_baseline_call *out, const struct kl_wire *w, void *const *data);
} baselines[] = {
	{ "openblas.sgemm", kl_baseline_openblas_sgemm },
	{ "onednn.conv2d", kl_baseline_onednn_conv2d },
};

static const struct {
	const char *isa, *openblas, *onednn;
} levels[] = {
	{ "x86-64-v1", "Prescott", "SSE41" },
	{ "x86-64-v2", "Nehalem", "SSE41" },
	{ "x86-64-v3", "Haswell", "AVX2" },
	{ "x86-64-v4", "SkylakeX", "AVX512_CORE" },
};

int kl_baseline_open(struct kl_baseline_call *out, const struct kl_wire *wire, void *const *data)
{
	int err;

	for (size_t i = 0; i < KL_ARRAY_SIZE(baselines); i++) {
		if (strcmp(baselines[i].name, wire->baseline_name))
			continue;
		err = baselines[i].open(out, wire, data);
		return err < 0 ? kl_error_in(err, "%s", wire->baseline_name) : 0;
	}
	return kl_error(KL_EINVALID, "no baseline is called '%s'", wire->baseline_name);
}

void kl_baseline_env(struct kl_strvec *env, const char *isa)
{
	kl_strvec_push(env, "OMP_NUM_THREADS=1");
	kl_strvec_push(env, "OPENBLAS_NUM_THREADS=1");
	kl_strvec_push(env, "GOTO_NUM_THREADS=1");
	for (size_t i = 0; isa && i < KL_ARRAY_SIZE(levels); i++) {
		if (strcmp(levels[i].isa, isa))
			continue;
		kl_strvec_pushf(env, "OPENBLAS_CORETYPE=%s", levels[i].openblas);
		kl_strvec_pushf(env, "ONEDNN_MAX_CPU_ISA=%s", levels[i].onednn);
		kl_strvec_pushf(env, "DNNL_MAX_CPU_ISA=%s", levels[i].onednn);
	}
}

int kl_baseline_arg(const struct kl_wire *wire, enum kl_arg_kind kind, int n)
{
	for (uint32_t i = 0; i < wire->nargs; i++)
		if (wire->arg[KL_WIRE_MAIN][i].kind == kind && n-- == 0)
			return (int)i;
	return -1;
}

bool kl_baseline_f32(const struct kl_wire *wire, int arg, const int64_t *extent, int naxes)
{
	const struct kl_wire_arg *tensor = &wire->arg[KL_WIRE_MAIN][arg < 0 ? 0 : arg];

	if (arg < 0 || tensor->dtype != KL_F32 || tensor->naxes != naxes)
		return false;
	return !memcmp(tensor->extent, extent, sizeof(*extent) * (size_t)naxes);
}

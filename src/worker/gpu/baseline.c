/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/baseline.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "job/job.h"
#include "worker/gpu/memory.h"

static const struct {
	const char *name;
	int (*open)(struct kl_gpu_baseline *b, const struct kl_gpu_baseline_spec *spec,
		    const uint64_t *at);
} baselines[] = {
	{ "cublas.gemm", kl_gpu_baseline_cublas },
	{ "cudnn.conv2d", kl_gpu_baseline_conv2d },
	{ "cudnn.conv2d-nchw", kl_gpu_baseline_conv2d },
	{ "cudnn.sdpa", kl_gpu_baseline_sdpa },
};

static bool is_sound(const struct kl_gpu_baseline_spec *spec)
{
	if (spec->nargs > KL_GPU_BASELINE_ARGS || !memchr(spec->name, '\0', sizeof(spec->name)))
		return false;
	for (uint32_t i = 0; i < spec->nargs; i++)
		if (spec->arg[i].naxes < 0 || spec->arg[i].naxes > KL_GPU_BASELINE_AXES)
			return false;
	return true;
}

int kl_gpu_baseline_open(struct kl_gpu_baseline **out, const struct kl_gpu_baseline_spec *spec,
			 const struct kl_gpu_device *device, const uint64_t *at)
{
	KL_AUTO(kl_gpu_baseline_freep) struct kl_gpu_baseline *baseline = kl_calloc(
		1, sizeof(*baseline));
	int err;

	baseline->device = device;
	if (!is_sound(spec))
		return kl_error(KL_EINVALID, "the description of the baseline is malformed");
	for (size_t i = 0; i < KL_ARRAY_SIZE(baselines); i++) {
		if (strcmp(baselines[i].name, spec->name))
			continue;
		if ((err = baselines[i].open(baseline, spec, at)) < 0)
			return kl_error_in(err, "%s", spec->name);
		*out = kl_steal(&baseline);
		return 0;
	}
	return kl_error(KL_ECANNOT, "there is no baseline named '%s'", spec->name);
}

void kl_gpu_baseline_free(struct kl_gpu_baseline *baseline)
{
	if (!baseline)
		return;
	if (baseline->close)
		baseline->close(baseline);
	free(baseline);
}

int kl_gpu_baseline_library(void **out, const char *const *names)
{
	const char *dirs = getenv("KLINEAGE_CUDA_LIBRARIES");

	for (const char *at = dirs; at && *at;) {
		size_t n = strcspn(at, ":");

		for (size_t i = 0; names[i]; i++) {
			KL_AUTO(kl_freep) char *path = kl_asprintf("%.*s/%s", (int)n, at, names[i]);

			/* skip a relative directory, which would depend on the current directory */
			if (*at == '/' && (*out = dlopen(path, RTLD_NOW | RTLD_LOCAL)))
				return 0;
		}
		at += n + (at[n] == ':');
	}
	for (size_t i = 0; names[i]; i++)
		if ((*out = dlopen(names[i], RTLD_NOW | RTLD_LOCAL)))
			return 0;
	return kl_error(KL_ECANNOT,
			"cannot find %s (KLINEAGE_CUDA_LIBRARIES can name its directory)",
			names[0]);
}

int kl_gpu_baseline_symbols(void *lib, const struct kl_gpu_symbol *symbol, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(*symbol[i].f = dlsym(lib, symbol[i].name)))
			return kl_error(KL_ECANNOT, "the library lacks the function %s",
					symbol[i].name);
	return 0;
}

int kl_gpu_baseline_tensor(const struct kl_gpu_baseline_spec *spec, bool out, int n, int naxes)
{
	for (uint32_t i = 0; i < spec->nargs; i++) {
		int32_t want = out ? KL_ARG_OUT : KL_ARG_IN;

		if (spec->arg[i].kind == want && n-- == 0)
			return spec->arg[i].naxes == naxes ? (int)i : -1;
	}
	return -1;
}

uint64_t kl_gpu_baseline_memory(const struct kl_gpu_device *device, uint64_t bytes)
{
	struct kl_gpu_buffer buffer = { 0 };

	return kl_gpu_buffer_make(&buffer, device, bytes, 256, false) < 0 ? 0 : buffer.at;
}

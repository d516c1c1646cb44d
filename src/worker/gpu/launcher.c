/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/launcher.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "worker/gpu/seal.h"
#include "worker/gpu/trace.h"

/* -- loading ------------------------------------------------------------------------------ */

/*
 * Preload the CUDA runtime, so that the loader finds it by name for the object that needs it, even
 * if it is in a directory that the loader does not search.
 */
static void load_runtime(void)
{
	static const char *const names[] = { "libcudart.so.13", "libcudart.so.12" };
	static const char *const dirs[] = {
		"/usr/local/cuda/lib64",
		"/usr/local/lib",
		"/usr/local/cuda/targets/x86_64-linux/lib",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++) {
		const char *const one[] = { names[i], NULL };
		void *lib = NULL;

		if (kl_gpu_baseline_library(&lib, one) == 0)
			continue;
		kl_error_clear();
		for (size_t k = 0; k < KL_ARRAY_SIZE(dirs) && !lib; k++) {
			KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s", dirs[k], names[i]);

			lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		}
	}
}

/* Initialize libstdc++'s streams: no static object of the host code does so when it is loaded. */
static void start_streams(const struct kl_gpu_launcher *launcher)
{
	static _Alignas(16) char object[64];
	void (*start)(void *) = (void (*)(void *))dlsym(launcher->lib, "_ZNSt8ios_base4InitC1Ev");

	if (start)
		start(object);
}

/* Initialize the CUDA runtime now; it uses the primary context, which is the device's own. */
static int start_runtime(const struct kl_gpu_launcher *launcher)
{
	int (*set_device)(int) = (int (*)(int))dlsym(launcher->lib, "cudaSetDevice");
	int (*cuda_free)(void *) = (int (*)(void *))dlsym(launcher->lib, "cudaFree");
	int rc;

	if (!set_device || !cuda_free) /* it does not use the runtime */
		return 0;
	if ((rc = set_device(launcher->device->ordinal)) || (rc = cuda_free(NULL)))
		return kl_error(KL_ECANNOT, "the CUDA runtime does not start: error %d", rc);
	return 0;
}

static int load_image(struct kl_gpu_launcher *launcher, const void *image, size_t n)
{
	KL_AUTO(kl_closep) int fd = memfd_create("kernel", MFD_CLOEXEC);
	char path[64];
	size_t done = 0;
	ssize_t part;

	if (fd < 0)
		return kl_error_errno("cannot make shared memory");
	while (done < n) {
		part = write(fd, (const char *)image + done, n - done);
		if (part <= 0 && errno != EINTR)
			return kl_error_errno("no memory for %zu bytes", n);
		done += part > 0 ? (size_t)part : 0;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	load_runtime();
	/* host code can call the driver's functions by name: make them visible */
	dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
	/* no code of the candidate runs at load: the audit checked that */
	launcher->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!launcher->lib && strstr(dlerror(), "libcudart"))
		return kl_error(KL_ECANNOT,
				"the CUDA runtime that the kernel was built for is not here "
				"(KLINEAGE_CUDA_LIBRARIES names more directories)");
	if (!launcher->lib)
		return kl_error(KL_EINVALID, "the kernel's host code cannot be loaded");
	launcher->entry = (int (*)(void *const *, void *const *, void *))dlsym(launcher->lib,
									       "klineage_launch");
	launcher->dims = dlsym(launcher->lib, "klineage_dims");
	if (!launcher->entry || !launcher->dims)
		return kl_error(KL_EINVALID, "host code without klineage_launch and klineage_dims");
	return 0;
}

/* -- its variables --------------------------------------------------------------------------- */

struct search {
	struct kl_gpu_launcher *launcher;
	ElfW(Addr) base;
};

static int remember_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const ElfW(Addr) page = 4095;
	struct search *search = ctx;
	ElfW(Addr) relro = 0, relro_end = 0;

	if (info->dlpi_addr != search->base)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			relro = (search->base + info->dlpi_phdr[i].p_vaddr) & ~page;
			relro_end = (search->base + info->dlpi_phdr[i].p_vaddr +
				     info->dlpi_phdr[i].p_memsz) &
				    ~page;
		}
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		ElfW(Addr) from = search->base + phdr->p_vaddr, to = from + phdr->p_memsz;
		size_t k = search->launcher->nrange;

		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_W) ||
		    k == KL_ARRAY_SIZE(search->launcher->range))
			continue;
		/* skip the part that the loader has made read-only again */
		if (relro <= from && from < relro_end)
			from = relro_end < to ? relro_end : to;
		search->launcher->range[k].at = (unsigned char *)from;
		search->launcher->range[k].bytes = to - from;
		search->launcher->range[k].copy = kl_malloc(to - from + 1);
		memcpy(search->launcher->range[k].copy, search->launcher->range[k].at, to - from);
		search->launcher->nrange++;
	}
	return 1;
}

static int remember_variables(struct kl_gpu_launcher *launcher)
{
	struct search search = { .launcher = launcher };
	struct link_map *map = NULL;

	if (dlinfo(launcher->lib, RTLD_DI_LINKMAP, &map) || !map)
		return kl_error(KL_EIO,
				"the loader does not say where the kernel's host code lies");
	search.base = map->l_addr;
	return dl_iterate_phdr(remember_object, &search) ?
		       0 :
		       kl_error(KL_EIO, "the kernel's host code is not to be found");
}

void kl_gpu_launcher_restore(struct kl_gpu_launcher *launcher)
{
	for (size_t i = 0; i < launcher->nrange; i++)
		memcpy(launcher->range[i].at, launcher->range[i].copy, launcher->range[i].bytes);
}

/* -- creation and release ---------------------------------------------------------------- */

int kl_gpu_launcher_open(struct kl_gpu_launcher **out, const struct kl_gpu_device *device,
			 const void *image, size_t n, bool trace)
{
	KL_AUTO(kl_gpu_launcher_freep) struct kl_gpu_launcher *launcher = kl_calloc(
		1, sizeof(*launcher));
	int err;

	launcher->device = device;
	if (trace && kl_gpu_trace_open(&launcher->trace, device) < 0) {
		snprintf(launcher->why, sizeof(launcher->why), "%s", kl_error_last());
		kl_error_clear();
	}
	if ((err = load_image(launcher, image, n)) < 0 || (err = start_runtime(launcher)) < 0)
		return err;
	start_streams(launcher);
	if ((err = remember_variables(launcher)) < 0 || (err = kl_gpu_seal(&launcher->closed)) < 0)
		return err;
	*out = kl_steal(&launcher);
	return 0;
}

/* Its registrations with the runtime stay: the process serves only this object. */
void kl_gpu_launcher_free(struct kl_gpu_launcher *launcher)
{
	if (!launcher)
		return;
	for (size_t i = 0; i < launcher->nrange; i++)
		free(launcher->range[i].copy);
	free(launcher);
}

/* -- a call -------------------------------------------------------------------------------- */

static void *device_pointer(uint64_t at)
{
	return (void *)(uintptr_t)at;
}

static int call_entry(struct kl_gpu_launcher *launcher, const struct kl_gpu_tensor_layout *layout,
		      size_t n, const uint64_t *at, const int64_t *dims)
{
	void *in[KL_GPU_MAX_TENSORS] = { NULL }, *out[KL_GPU_MAX_TENSORS] = { NULL };
	size_t nin = 0, nout = 0;

	for (size_t i = 0; i < n; i++) {
		if (layout[i].tensor && !layout[i].output)
			in[nin++] = device_pointer(at[i]);
		if (layout[i].tensor && layout[i].writable)
			out[nout++] = device_pointer(at[i]);
	}
	memcpy(launcher->dims, dims, KL_GPU_LAUNCHER_DIMS * sizeof(*dims));
	return launcher->entry(in, out, launcher->device->stream);
}

int kl_gpu_launcher_call(struct kl_gpu_launcher *launcher, const struct kl_gpu_set *set,
			 const int64_t dims[KL_GPU_LAUNCHER_DIMS])
{
	uint64_t at[KL_GPU_MAX_TENSORS];

	for (size_t i = 0; i < set->n; i++)
		at[i] = set->buffer[i].at;
	return call_entry(launcher, set->layout, set->n, at, dims);
}

struct timed {
	struct kl_gpu_launcher *launcher;
	struct kl_gpu_tensor_layout layout[KL_GPU_MAX_TENSORS];
	size_t n;
	int64_t dims[KL_GPU_LAUNCHER_DIMS];
};

/*
 * Timed calls must not keep state either: restore the variables, a few kilobytes, while the stream
 * is held.
 */
static int run_timed(struct kl_gpu_baseline *baseline, const uint64_t *at)
{
	struct timed *timed = baseline->state;

	kl_gpu_launcher_restore(timed->launcher);
	return call_entry(timed->launcher, timed->layout, timed->n, at, timed->dims);
}

static void close_timed(struct kl_gpu_baseline *baseline)
{
	free(baseline->state);
}

struct kl_gpu_baseline *kl_gpu_launcher_timed(struct kl_gpu_launcher *launcher,
					      const struct kl_gpu_set *set,
					      const int64_t dims[KL_GPU_LAUNCHER_DIMS])
{
	struct kl_gpu_baseline *baseline = kl_calloc(1, sizeof(*baseline));
	struct timed *timed = kl_calloc(1, sizeof(*timed));

	timed->launcher = launcher;
	timed->n = set->n;
	memcpy(timed->layout, set->layout, sizeof(timed->layout));
	memcpy(timed->dims, dims, sizeof(timed->dims));
	baseline->device = launcher->device;
	baseline->run = run_timed;
	baseline->close = close_timed;
	baseline->state = timed;
	return baseline;
}

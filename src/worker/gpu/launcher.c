/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/launcher.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "image/host_symbols.h"
#include "worker/gpu/seal.h"
#include "worker/gpu/trace.h"

/* -- libraries that host code can import from ------------------------------------------------- */

/*
 * Open the CUDA runtime, also from directories that the loader does not search; NULL if not found.
 */
static void *open_runtime(void)
{
	static const char *const names[] = { "libcudart.so.13", "libcudart.so.12" };
	static const char *const dirs[] = {
		"/usr/local/cuda/lib64",
		"/usr/local/lib",
		"/usr/local/cuda/targets/x86_64-linux/lib",
	};
	void *lib = NULL;

	for (size_t i = 0; i < KL_ARRAY_SIZE(names) && !lib; i++) {
		const char *const one[] = { names[i], NULL };

		if (kl_gpu_baseline_library(&lib, one) == 0)
			break;
		kl_error_clear();
		for (size_t k = 0; k < KL_ARRAY_SIZE(dirs) && !lib; k++) {
			KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s", dirs[k], names[i]);

			lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		}
	}
	return lib;
}

/* Open the other libraries that host code can import from. Call this before kl_gpu_seal(). */
static void open_libraries(struct kl_gpu_launcher *launcher)
{
	static const char *const names[] = { "libc.so.6", "libm.so.6", "libgcc_s.so.1",
					     "libstdc++.so.6" };

	launcher->lib[launcher->nlib++] = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++)
		launcher->lib[launcher->nlib++] = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
}

static void *find_symbol(const struct kl_gpu_launcher *launcher, const char *name)
{
	void *found = NULL;

	for (size_t i = 0; i < launcher->nlib && !found; i++)
		if (launcher->lib[i])
			found = dlsym(launcher->lib[i], name);
	return found;
}

static void *find_import(const char *name, void *payload)
{
	return kl_host_symbol_may_use(name) ? find_symbol(payload, name) : NULL;
}

/* Initialize libstdc++'s streams, since the host code has no static object that does so. */
static void start_streams(const struct kl_gpu_launcher *launcher)
{
	static _Alignas(16) char object[64];
	void (*start)(void *);

	*(void **)&start = find_symbol(launcher, "_ZNSt8ios_base4InitC1Ev");
	if (start)
		start(object);
}

/* Initialize the CUDA runtime. Like struct kl_gpu_device, it uses the primary context. */
static int start_runtime(struct kl_gpu_launcher *launcher)
{
	int (*set_device)(int);
	int (*cuda_free)(void *);
	int rc;

	*(void **)&set_device = find_symbol(launcher, "cudaSetDevice");
	*(void **)&cuda_free = find_symbol(launcher, "cudaFree");
	if (!set_device || !cuda_free)
		return kl_error(KL_ECANNOT, "the CUDA runtime lacks cudaSetDevice or cudaFree");
	if ((rc = set_device(launcher->device->ordinal)) || (rc = cuda_free(NULL)))
		return kl_error(KL_ECANNOT, "cannot start the CUDA runtime: error %d", rc);
	return 0;
}

/*
 * Check the imports here as well as in the gate, since the worker decides which symbols host code
 * can use.
 */
static int check_imports(const struct kl_image *image)
{
	const char *foreign = kl_host_symbol_foreign(image);

	return foreign ? kl_error(KL_EINVALID, "uses '%.100s', which host code may not use",
				  foreign) :
			 0;
}

/* Return true if the image imports a symbol that none of the libraries opened so far has. */
static bool needs_runtime(const struct kl_gpu_launcher *launcher, const struct kl_image *image)
{
	for (uint64_t i = 0; i < image->nnames; i += strlen(image->names + i) + 1)
		if (!find_symbol(launcher, image->names + i))
			return true;
	return false;
}

/* -- mapping the image ----------------------------------------------------------------------- */

/* Check the image and open its libraries before the process is sealed. Run no code of the image. */
static int prepare_libraries(struct kl_gpu_launcher *launcher, const void *bytes, size_t n)
{
	struct kl_image image;
	int err = kl_image_read(&image, bytes, n);

	if (!err)
		err = check_imports(&image);
	if (err < 0)
		return kl_error_in(err, "the kernel's host code");
	open_libraries(launcher);
	if (!needs_runtime(launcher, &image))
		return 0;
	launcher->lib[launcher->nlib] = open_runtime();
	if (!launcher->lib[launcher->nlib++])
		return kl_error(KL_ECANNOT,
				"cannot find the CUDA runtime that the kernel was built for "
				"(KLINEAGE_CUDA_LIBRARIES can name its directory)");
	return start_runtime(launcher);
}

/* Register the image's exception tables with libgcc, as crtbegin.o would. */
static void register_frames(const struct kl_gpu_launcher *launcher)
{
	void (*add)(void *);

	*(void **)&add = find_symbol(launcher, "__register_frame");
	if (add && launcher->image.frames)
		add(launcher->image.frames);
}

/*
 * Map the image and run its first code, which registers its kernels. Call this only after the
 * process is sealed.
 */
static int map_image(struct kl_gpu_launcher *launcher, int fd, size_t n)
{
	struct kl_image_mapped *image = &launcher->image;
	void (*start)(void);
	int err = kl_image_map(image, fd, n, find_import, launcher);

	if (err < 0)
		return kl_error_in(err, "the kernel's host code");
	if (!image->dims)
		return kl_error(KL_EINVALID, "the host code does not define klineage_dims");
	*(void **)&launcher->entry = image->entry;
	launcher->dims = (int64_t *)image->dims;
	register_frames(launcher);
	*(void **)&start = image->start;
	if (start)
		start();
	launcher->copy = kl_malloc(image->data_bytes + 1);
	memcpy(launcher->copy, image->data, image->data_bytes);
	return 0;
}

void kl_gpu_launcher_restore(struct kl_gpu_launcher *launcher)
{
	memcpy(launcher->image.data, launcher->copy, launcher->image.data_bytes);
}

/* -- creation and release ---------------------------------------------------------------- */

int kl_gpu_launcher_open(struct kl_gpu_launcher **out, const struct kl_gpu_device *device,
			 const struct kl_gpu_launcher_file *file, bool trace)
{
	KL_AUTO(kl_gpu_launcher_freep) struct kl_gpu_launcher *launcher = kl_calloc(
		1, sizeof(*launcher));
	int err;

	launcher->device = device;
	if (trace && kl_gpu_trace_open(&launcher->trace, device) < 0) {
		snprintf(launcher->why, sizeof(launcher->why), "%s", kl_error_last());
		kl_error_clear();
	}
	if ((err = prepare_libraries(launcher, file->bytes, file->n)) < 0)
		return err;
	start_streams(launcher);
	if ((err = kl_gpu_seal(&launcher->closed)) < 0 ||
	    (err = map_image(launcher, file->fd, file->n)) < 0)
		return err;
	*out = kl_steal(&launcher);
	return 0;
}

/*
 * Free the launcher, but neither unmap the image nor undo its registrations, since the process is
 * used for nothing else.
 */
void kl_gpu_launcher_free(struct kl_gpu_launcher *launcher)
{
	if (!launcher)
		return;
	free(launcher->copy);
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
 * Restore the host code's variables before a timed call as well, so that no state survives a call.
 * This takes little time, since the variables are a few kilobytes.
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

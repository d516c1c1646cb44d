/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/par.h"
#include "base/rng.h"
#include "base/sealed.h"
#include "worker/gpu/host_map.h"
#include "worker/gpu/wall.h"

#define PAGE ((uint64_t)4096)
#define ASK_MS 60000
/* Time in ms for the copies of tensors around a call of host code, added to the call's limit. */
#define LAUNCH_MS 20000

/* -- cubins and host code ------------------------------------------------------------- */

/* Copy the file at `path` into sealed memory. */
static int share_file(int *memory, uint64_t *bytes, const char *path)
{
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	KL_AUTO(kl_buf_release) struct kl_buf image = KL_BUF_INIT;
	int err;

	if (fd < 0)
		return kl_error_errno("cannot open '%s'", path);
	if ((err = kl_buf_read_fd(&image, fd, KL_GPU_MAX_CUBIN)) < 0)
		return kl_error_in(err, "'%s'", path);
	if (!image.len)
		return kl_error(KL_EINVALID, "'%s' is empty", path);
	*bytes = image.len;
	return kl_sealed_make(memory, "artefact", image.ptr, image.len);
}

int kl_gpu_child_module(struct kl_gpu_child *child, uint32_t slot, const char *path)
{
	struct kl_gpu_put_module module = { .head = kl_gpu_head(KL_GPU_OP_MODULE, slot,
								sizeof(module)) };
	KL_AUTO(kl_closep) int memory = -1;
	int err = share_file(&memory, &module.bytes, path);

	if (err < 0)
		return err;
	err = kl_gpu_child_ask_plain(child, &module, sizeof(module), memory, ASK_MS);
	return err < 0 ? kl_error_in(err, "'%s'", path) : 0;
}

int kl_gpu_child_launcher(struct kl_gpu_child *child, const char *path, bool trace)
{
	struct kl_gpu_put_launcher launcher = {
		.head = kl_gpu_head(KL_GPU_OP_LAUNCHER, 0, sizeof(launcher)),
		.trace = trace,
	};
	KL_AUTO(kl_closep) int memory = -1;
	int err = share_file(&memory, &launcher.bytes, path);

	if (err < 0)
		return err;
	err = kl_gpu_child_ask(child, &launcher, sizeof(launcher), memory, &child->launcher.r,
			       sizeof(child->launcher), ASK_MS);
	child->launcher.why[sizeof(child->launcher.why) - 1] = '\0';
	if (err == 0 && child->launcher.closed != KL_GPU_CLOSED_ALL)
		err = kl_error(KL_ECANNOT,
			       "cannot run host code here: its process could not be confined");
	return err < 0 ? kl_error_in(err, "'%s'", path) : 0;
}

static void end_strings(struct kl_gpu_called *called)
{
	called->name[sizeof(called->name) - 1] = '\0';
	called->kernel[sizeof(called->kernel) - 1] = '\0';
}

int kl_gpu_child_launch(struct kl_gpu_child *child, uint32_t set, const int64_t *dims,
			uint32_t flags, uint64_t seed, int64_t limit_ms,
			struct kl_gpu_launched *out)
{
	struct kl_gpu_do_launch launch = {
		.head = kl_gpu_head(KL_GPU_OP_LAUNCH, set, sizeof(launch)),
		.flags = flags,
		.seed = seed,
		.limit_ms = limit_ms,
	};
	int err;

	memcpy(launch.dim, dims, sizeof(launch.dim));
	err = kl_gpu_child_ask(child, &launch, sizeof(launch), -1, &out->c.r, sizeof(*out),
			       limit_ms + LAUNCH_MS);
	end_strings(&out->c);
	if (out->seen.n > KL_GPU_TRACE_MOST)
		out->seen.n = KL_GPU_TRACE_MOST;
	for (uint32_t i = 0; i < out->seen.n; i++)
		out->seen.one[i].name[KL_GPU_TRACE_NAME - 1] = '\0';
	return err;
}

int kl_gpu_child_threads(const struct kl_gpu_child *child)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("/proc/%d/status", (int)child->pid);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *at;
	int n = -1;

	if (!child->pid || kl_fs_read(&text, path, 65536) < 0) {
		kl_error_clear();
		return -1;
	}
	at = strstr(text.ptr, "\nThreads:");
	return at && sscanf(at, "\nThreads: %d", &n) == 1 ? n : -1;
}

/* -- the host's memory for a set ------------------------------------------------------ */

/* Assign each tensor an offset, and return the size in bytes of a mapping for all tensors. */
static uint64_t lay_out(uint64_t *offset, const struct kl_gpu_tensor_layout *layout, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		offset[i] = bytes;
		if (layout[i].tensor)
			bytes += (kl_gpu_tensor_host_bytes(&layout[i]) + PAGE - 1) / PAGE * PAGE;
	}
	return bytes ? bytes : PAGE;
}

int kl_gpu_host_make(struct kl_gpu_host *host, const struct kl_gpu_tensor_layout *layout, size_t n)
{
	void *map;
	int err;

	host->bytes = lay_out(host->offset, layout, n);
	host->fd = memfd_create("tensors", MFD_CLOEXEC);
	if (host->fd < 0)
		return kl_error_errno("cannot create shared memory");
	/* allocate now, so that a lack of memory is an error here, not a bus error later */
	err = posix_fallocate(host->fd, 0, (off_t)host->bytes);
	if (err) {
		errno = err;
		return kl_error_errno("cannot allocate %llu bytes of shared memory",
				      (unsigned long long)host->bytes);
	}
	map = mmap(NULL, host->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, host->fd, 0);
	if (map == MAP_FAILED)
		return kl_error_errno("cannot map shared memory");
	host->at = map;
	kl_par_populate(host->at, host->bytes, true);
	return 0;
}

int kl_gpu_child_host(struct kl_gpu_child *child, struct kl_gpu_host *host,
		      const struct kl_gpu_tensor_layout *layout, size_t n)
{
	uint64_t offset[KL_GPU_MAX_TENSORS];
	struct kl_gpu_host *best = NULL;

	if (n > KL_GPU_MAX_TENSORS)
		return kl_error(KL_EINVALID, "too many arguments: %zu", n);
	for (size_t i = 0; i < KL_GPU_SPARES; i++) {
		struct kl_gpu_host *spare = &child->spare[i];

		if (spare->at && spare->bytes >= lay_out(offset, layout, n) &&
		    (!best || spare->bytes < best->bytes))
			best = spare;
	}
	if (!best)
		return kl_gpu_host_make(host, layout, n);
	*host = *best;
	lay_out(host->offset, layout, n);
	*best = (struct kl_gpu_host)KL_GPU_HOST_INIT;
	return 0;
}

/*
 * Return the entry with the smallest spare mapping, which a mapping of `bytes` is to replace.
 * Return NULL if even the smallest mapping has at least `bytes`.
 */
static struct kl_gpu_host *spare_place(struct kl_gpu_child *child, uint64_t bytes)
{
	struct kl_gpu_host *least = &child->spare[0];

	for (size_t i = 1; i < KL_GPU_SPARES; i++)
		if (child->spare[i].bytes < least->bytes)
			least = &child->spare[i];
	return least->bytes < bytes ? least : NULL;
}

void kl_gpu_child_host_back(struct kl_gpu_child *child, struct kl_gpu_host *host)
{
	struct kl_gpu_host *place = spare_place(child, host->bytes);

	if (!host->at || child->launcher.r.head.magic || host->bytes > KL_GPU_HOST_SPARE_BYTES ||
	    !place) {
		kl_gpu_host_release(host);
		return;
	}
	kl_gpu_host_release(place);
	*place = *host;
	*host = (struct kl_gpu_host)KL_GPU_HOST_INIT;
}

void kl_gpu_host_release(struct kl_gpu_host *host)
{
	if (host->at)
		munmap(host->at, host->bytes);
	host->at = NULL;
	host->bytes = 0;
	kl_closep(&host->fd);
}

/* -- sets, bindings, calls ------------------------------------------------------------ */

int kl_gpu_child_set(struct kl_gpu_child *child, uint32_t slot,
		     const struct kl_gpu_tensor_layout *layout, size_t n, bool right, bool pin,
		     const struct kl_gpu_host *host)
{
	struct kl_gpu_put_set set = {
		.head = kl_gpu_head(KL_GPU_OP_SET, slot, sizeof(set)),
		.n = (uint32_t)n,
		.right = right,
		.pin = pin,
		.host_bytes = host->bytes,
	};

	if (n > KL_GPU_MAX_TENSORS)
		return kl_error(KL_EINVALID, "too many arguments: %zu", n);
	memcpy(set.offset, host->offset, n * sizeof(set.offset[0]));
	memcpy(set.layout, layout, n * sizeof(set.layout[0]));
	return kl_gpu_child_ask_plain(child, &set, sizeof(set), host->fd, ASK_MS);
}

int kl_gpu_child_bind(struct kl_gpu_child *child, uint32_t slot, uint32_t module, uint32_t set,
		      const json_t *doc, uint64_t seed, int64_t limit_ms, struct kl_gpu_called *out)
{
	struct kl_gpu_put_bind bind = {
		.head = kl_gpu_head(KL_GPU_OP_BIND, slot, sizeof(bind)),
		.module = module,
		.set = set,
		.seed = seed,
		.limit_ms = limit_ms,
	};
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_closep) int memory = -1;
	int err;

	kl_json_canonical(&text, doc);
	if ((err = kl_sealed_make(&memory, "plan", text.ptr, text.len)) < 0)
		return err;
	bind.bytes = text.len;
	err = kl_gpu_child_ask(child, &bind, sizeof(bind), memory, &out->r, sizeof(*out),
			       limit_ms + ASK_MS);
	end_strings(out);
	return err;
}

int kl_gpu_child_call(struct kl_gpu_child *child, uint32_t bind, uint32_t flags, uint64_t seed,
		      int64_t limit_ms, struct kl_gpu_called *out)
{
	struct kl_gpu_do_call call = {
		.head = kl_gpu_head(KL_GPU_OP_CALL, bind, sizeof(call)),
		.flags = flags,
		.seed = seed,
		.limit_ms = limit_ms,
	};
	int err = kl_gpu_child_ask(child, &call, sizeof(call), -1, &out->r, sizeof(*out),
				   limit_ms + ASK_MS);

	end_strings(out);
	return err;
}

int kl_gpu_child_drop(struct kl_gpu_child *child, enum kl_gpu_op what, uint32_t slot)
{
	struct kl_gpu_drop drop = {
		.head = kl_gpu_head(KL_GPU_OP_DROP, slot, sizeof(drop)),
		.op = (uint32_t)what,
	};

	return kl_gpu_child_ask_plain(child, &drop, sizeof(drop), -1, ASK_MS);
}

int kl_gpu_child_probe(const char *uuid)
{
	KL_AUTO(kl_gpu_child_freep) struct kl_gpu_child *child = NULL;
	struct kl_gpu_head head = kl_gpu_head(KL_GPU_OP_PROBE, 0, sizeof(head));
	int err = kl_gpu_child_start(&child), ordinal;

	if (err < 0)
		return kl_error_in(KL_EIO, "the GPU is no longer healthy");
	ordinal = kl_gpu_child_ordinal(child, uuid);
	if (ordinal < 0)
		return kl_error(KL_EIO, "%s is no longer available", uuid);
	if ((err = kl_gpu_child_open(child, ordinal)) == 0)
		err = kl_gpu_child_ask_plain(child, &head, sizeof(head), -1, ASK_MS);
	return err < 0 ? kl_error_in(KL_EIO, "%s is no longer healthy", uuid) : 0;
}

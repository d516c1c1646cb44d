/* SPDX-License-Identifier: Apache-2.0 */
/* subject_memory - allocates argument memory and keeps it for the next process of a kernel */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/subject/subject_state.h"

#define PAGE 4096

int kl_memory_shared(void **map, int *fd, const char *name, uint64_t bytes)
{
	int err;

	*fd = memfd_create(name, MFD_CLOEXEC);
	if (*fd < 0)
		return kl_error_errno("cannot create shared memory");
	/* allocate now, so that a lack of memory is an error here and not a SIGBUS later */
	err = posix_fallocate(*fd, 0, (off_t)bytes);
	if (err) {
		errno = err;
		return kl_error_errno("cannot allocate %llu bytes of shared memory",
				      (unsigned long long)bytes);
	}
	*map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (*map == MAP_FAILED) {
		*map = NULL;
		return kl_error_errno("cannot map shared memory");
	}
	return 0;
}

static void drop_lent(struct kl_subject_lent *lent)
{
	if (lent->map) {
		munmap(lent->map, lent->bytes);
		close(lent->fd);
		free(lent->slack);
	}
	*lent = (struct kl_subject_lent){ .fd = -1, .least = lent->least };
}

void kl_subject_memory_release(struct kl_subject_memory *memory)
{
	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		drop_lent(&memory->tensor[i]);
}

void kl_subject_memory_reserve(struct kl_subject_memory *memory, const struct kl_job *job,
			       const struct kl_point *pt)
{
	int64_t bytes[KL_MAX_ARGS];

	kl_job_tensor_bytes(bytes, job, pt, 0);
	for (size_t i = 0; i < job->nargs; i++) {
		uint64_t least = ((uint64_t)bytes[i] + PAGE - 1) / PAGE * PAGE;

		if (least > memory->tensor[i].least)
			memory->tensor[i].least = least;
	}
}

static int take_tensor(struct kl_tensor *tensor, uint64_t bytes, struct kl_subject_lent *lent)
{
	if (lent && lent->map && lent->bytes >= bytes) {
		tensor->bytes = lent->bytes;
		tensor->map = lent->map;
		tensor->fd = lent->fd;
		tensor->slack = lent->slack;
		lent->map = NULL;
		return 0;
	}
	tensor->bytes = lent && lent->least > bytes ? lent->least : bytes;
	tensor->slack = kl_malloc(KL_PLACE_SLACK);
	return kl_memory_shared((void **)&tensor->map, &tensor->fd, "tensor", tensor->bytes);
}

int kl_memory_take(struct kl_cpu_subject *subject)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		struct kl_subject_lent *lent = subject->memory ? &subject->memory->tensor[i] : NULL;
		uint64_t bytes = 0;
		int err = 0;

		for (uint32_t point = 0; point < subject->wire->npoint; point++)
			if (subject->wire->arg[point][i].map_bytes > bytes)
				bytes = subject->wire->arg[point][i].map_bytes;
		if (bytes)
			err = take_tensor(&subject->tensor[i], bytes, lent);
		/*
		 * with two points, clear the memory; with one point this is not needed, because the
		 * first call rewrites all memory that the child can see
		 */
		if (bytes && err == 0 && subject->wire->npoint > 1)
			memset(subject->tensor[i].map, 0, bytes);
		if (err < 0)
			return kl_error_in(err, "argument '%s'", subject->name[i]);
	}
	return 0;
}

void kl_memory_give(struct kl_cpu_subject *subject)
{
	for (uint32_t i = 0; i < KL_MAX_ARGS; i++) {
		struct kl_tensor *tensor = &subject->tensor[i];
		struct kl_subject_lent mine = { .map = tensor->map,
						.slack = tensor->slack,
						.fd = tensor->fd,
						.bytes = tensor->bytes };

		if (!tensor->map) {
			if (tensor->fd >= 0)
				close(tensor->fd);
			free(tensor->slack);
			continue;
		}
		if (!subject->memory) {
			drop_lent(&mine);
			continue;
		}
		mine.least = subject->memory->tensor[i].least;
		drop_lent(&subject->memory->tensor[i]);
		subject->memory->tensor[i] = mine;
	}
}

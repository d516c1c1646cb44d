/* SPDX-License-Identifier: Apache-2.0 */
/* subject_memory - allocates argument memory and keeps it for the next process of a kernel */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/subject/subject_state.h"

#define PAGE 4096 /* slack is never larger than this, whatever the size of the data */

int kl_memory_shared(void **map, int *fd, const char *name, uint64_t bytes)
{
	int err;

	*fd = memfd_create(name, MFD_CLOEXEC);
	if (*fd < 0)
		return kl_error_errno("cannot make shared memory");
	/* allocate now, so that a lack of memory is an error here and not a SIGBUS later */
	err = posix_fallocate(*fd, 0, (off_t)bytes);
	if (err) {
		errno = err;
		return kl_error_errno("no memory for %llu bytes", (unsigned long long)bytes);
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
	*lent = (struct kl_subject_lent){ .fd = -1 };
}

void kl_subject_memory_release(struct kl_subject_memory *memory)
{
	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		drop_lent(&memory->tensor[i]);
}

static int take_tensor(struct kl_tensor *tensor, const struct kl_wire_arg *arg,
		       struct kl_subject_lent *lent)
{
	tensor->nslack = arg->map_bytes - arg->bytes;
	if (lent && lent->map && lent->bytes == arg->map_bytes) {
		tensor->map = lent->map;
		tensor->fd = lent->fd;
		tensor->slack = lent->slack;
		lent->map = NULL;
		return 0;
	}
	tensor->slack = kl_malloc(PAGE);
	return kl_memory_shared((void **)&tensor->map, &tensor->fd, "tensor", arg->map_bytes);
}

int kl_memory_take(struct kl_cpu_subject *subject)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		const struct kl_wire_arg *arg = &subject->wire->arg[i];
		int err = !arg->tensor ?
				  0 :
				  take_tensor(&subject->tensor[i], arg,
					      subject->memory ? &subject->memory->tensor[i] : NULL);

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
						.fd = tensor->fd };

		if (!tensor->map) {
			if (tensor->fd >= 0)
				close(tensor->fd);
			free(tensor->slack);
			continue;
		}
		mine.bytes = subject->wire->arg[i].map_bytes;
		if (!subject->memory) {
			drop_lent(&mine);
			continue;
		}
		drop_lent(&subject->memory->tensor[i]);
		subject->memory->tensor[i] = mine;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* subject_memory - argument memory that outlives a kernel's process, for the next one to use */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/subject/subject_state.h"

#define PAGE 4096 /* no slack is larger, whatever the data's size */

int kl_memory_shared(void **map, int *fd, const char *name, uint64_t bytes)
{
	int err;

	*fd = memfd_create(name, MFD_CLOEXEC);
	if (*fd < 0)
		return kl_error_errno("cannot make shared memory");
	/* now, so that a full memory is an error here and not a bus error there */
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

static void drop_lent(struct kl_subject_lent *m)
{
	if (m->map) {
		munmap(m->map, m->bytes);
		close(m->fd);
		free(m->slack);
	}
	*m = (struct kl_subject_lent){ .fd = -1 };
}

void kl_subject_memory_release(struct kl_subject_memory *m)
{
	for (size_t i = 0; i < KL_JOB_MAX_ARGS; i++)
		drop_lent(&m->tensor[i]);
}

static int take_tensor(struct kl_tensor *t, const struct kl_wire_arg *a,
		       struct kl_subject_lent *lent)
{
	t->nslack = a->map_bytes - a->bytes;
	if (lent && lent->map && lent->bytes == a->map_bytes) {
		t->map = lent->map;
		t->fd = lent->fd;
		t->slack = lent->slack;
		lent->map = NULL;
		return 0;
	}
	t->slack = kl_malloc(PAGE);
	return kl_memory_shared((void **)&t->map, &t->fd, "tensor", a->map_bytes);
}

int kl_memory_take(struct kl_cpu_subject *s)
{
	for (uint32_t i = 0; i < s->wire->nargs; i++) {
		const struct kl_wire_arg *a = &s->wire->arg[i];
		int err = !a->tensor ? 0 :
				       take_tensor(&s->tensor[i], a,
						   s->memory ? &s->memory->tensor[i] : NULL);

		if (err < 0)
			return kl_error_in(err, "argument '%s'", s->name[i]);
	}
	return 0;
}

void kl_memory_give(struct kl_cpu_subject *s)
{
	for (uint32_t i = 0; i < KL_JOB_MAX_ARGS; i++) {
		struct kl_tensor *t = &s->tensor[i];
		struct kl_subject_lent mine = { .map = t->map, .slack = t->slack, .fd = t->fd };

		if (!t->map) {
			if (t->fd >= 0)
				close(t->fd);
			free(t->slack);
			continue;
		}
		mine.bytes = s->wire->arg[i].map_bytes;
		if (!s->memory) {
			drop_lent(&mine);
			continue;
		}
		drop_lent(&s->memory->tensor[i]);
		s->memory->tensor[i] = mine;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int write_all(int fd, const char *data, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t part = write(fd, data + done, n - done);

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return kl_error_errno("cannot allocate %zu bytes of memory", n);
		done += (size_t)part;
	}
	return 0;
}

int kl_sealed_make(int *fd, const char *name, const void *data, size_t n)
{
	KL_AUTO(kl_closep) int memory = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	if (memory < 0)
		return kl_error_errno("cannot create a memfd");
	if ((err = write_all(memory, data, n)) < 0)
		return err;
	if (fcntl(memory, F_ADD_SEALS, SEALS) < 0)
		return kl_error_errno("cannot seal a memfd");
	*fd = memory;
	memory = -1;
	return 0;
}

bool kl_sealed_check(int fd, size_t n)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &st) == 0 && st.st_size >= 0 &&
	       (size_t)st.st_size >= n;
}

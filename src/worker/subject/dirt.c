/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/dirt.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sealed.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1; /* made once for this process */

static int make_file(void)
{
	KL_AUTO(kl_freep) unsigned char *bytes = kl_malloc(KL_DIRT_BYTES);

	memset(bytes, 0xff, KL_DIRT_BYTES);
	return kl_sealed_make(&file, "dirt", bytes, KL_DIRT_BYTES);
}

int kl_dirt_lend(int *fd)
{
	int err;

	pthread_mutex_lock(&lock);
	err = file < 0 ? make_file() : 0;
	pthread_mutex_unlock(&lock);
	if (err < 0)
		return err;
	*fd = fcntl(file, F_DUPFD_CLOEXEC, 0);
	return *fd < 0 ? kl_error_errno("cannot duplicate a descriptor") : 0;
}

int kl_dirt_map(uint64_t at, uint64_t bytes, int fd)
{
	if (mmap((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
		return kl_error_errno("cannot map memory for the kernel");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEST_IMAGE_LIB_H
#define KL_TEST_IMAGE_LIB_H

#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/image_map.h"

/*
 * image_lib - maps an image that the gate linked into the test's own process, to call it.
 */
static inline struct kl_image_mapped image_load(const char *path)
{
	struct kl_image_mapped mapped;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_ok(kl_image_map(&mapped, fd, (size_t)st.st_size, NULL, NULL));
	close(fd);
	return mapped;
}

#endif

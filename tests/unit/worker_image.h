/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TEST_WORKER_IMAGE_H
#define KL_TEST_WORKER_IMAGE_H

#include "test.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/vec.h"

/*
 * worker_image - compiles a source to an image for the worker, without an audit
 * (tests/tools/link_image.c).
 */

/* The image <dir>/<name>.image of a source; `flags` are NULL-terminated. The caller frees it. */
static inline char *worker_image(const char *dir, const char *name, const char *entry,
				 const char *source, const char *const *flags)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s/%s.c", dir, name);
	KL_AUTO(kl_freep) char *object = kl_asprintf("%s/%s.o", dir, name);
	char *image = kl_asprintf("%s/%s.image", dir, name);
	KL_AUTO(kl_strvec_release) struct kl_strvec compile = KL_STRVEC_INIT;
	const char *const link[] = { KL_SOURCE "/" KL_BUILD "/tests/link_image",
				     image,
				     entry,
				     KL_SOURCE "/" KL_BUILD "/tests/kernel_runtime.o",
				     "2",
				     object,
				     NULL };

	assert_ok(kl_fs_put(text, source, strlen(source), 0600));
	kl_strvec_push(&compile, "gcc");
	kl_strvec_pushv(&compile, flags);
	kl_strvec_push(&compile, "-w");
	kl_strvec_push(&compile, "-fPIC");
	kl_strvec_push(&compile, "-fno-stack-protector");
	kl_strvec_push(&compile, "-c");
	kl_strvec_push(&compile, "-o");
	kl_strvec_push(&compile, object);
	kl_strvec_push(&compile, text);
	assert_ok(kl_proc_output(NULL, (const char *const *)compile.v));
	assert_ok(kl_proc_output(NULL, link));
	return image;
}

#endif

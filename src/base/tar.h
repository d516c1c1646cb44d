/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_TAR_H
#define KL_BASE_TAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * tar - ustar archives, the container of a bundle: the plainest part of the format, so that
 * `tar tf` shows what is in it and equal content is equal bytes. Regular files alone: no
 * directories, links, devices, owners, times or long names.
 *
 *	kl_tar_add(&b, "manifest.json", text, len); ... kl_tar_end(&b);
 *
 *	struct kl_tar t;
 *	kl_tar_open(&t, bytes, n);
 *	while ((err = kl_tar_next(&t, &e)) > 0)
 *		... e.name, e.data, e.len	(borrowed from the bytes)
 *
 * The reader takes nothing but what the writer writes; whatever else an archive
 * may hold is KL_EINVALID, saying where.
 */
#define KL_TAR_NAME 100 /* with the NUL */
#define KL_TAR_MAX_FILE ((size_t)1 << 30)

/**
 * Letters, digits, `_ . + -` in parts between single slashes, none begins with a dot; at most 99
 * bytes.
 */
bool kl_tar_name_ok(const char *name);

void kl_tar_add(struct kl_buf *out, const char *name, const void *data, size_t len);
void kl_tar_end(struct kl_buf *out);

struct kl_tar {
	const unsigned char *p;
	size_t len, at;
	char last[KL_TAR_NAME];
};
struct kl_tar_entry {
	char name[KL_TAR_NAME];
	const char *data;
	size_t len;
};

void kl_tar_open(struct kl_tar *tar, const void *data, size_t len);
/**
 * 1: an entry; 0: the end, and nothing behind it; KL_EINVALID. Names rise, bytewise: none comes
 * twice.
 */
int kl_tar_next(struct kl_tar *tar, struct kl_tar_entry *entry);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_TAR_H
#define KL_BASE_TAR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * tar - reads and writes ustar archives, the container format of a bundle. Only the simplest part
 * of the format is used, so that `tar tf` can list a bundle and equal content gives equal bytes: an
 * archive has regular files, but no directories, links, devices, owners, times or long names.
 *
 *	kl_tar_add(&b, "manifest.json", text, len); ... kl_tar_end(&b);
 *
 *	struct kl_tar t;
 *	kl_tar_open(&t, bytes, n);
 *	while ((err = kl_tar_next(&t, &e)) > 0)
 *		... e.name, e.data, e.len	(borrowed from the bytes)
 *
 * The reader accepts exactly what the writer produces. It refuses anything else with KL_EINVALID
 * and a message that gives the position.
 */
#define KL_TAR_NAME 100 /* maximum number of bytes of a name, with the NUL */
#define KL_TAR_MAX_FILE ((size_t)1 << 30)

/**
 * Return true if `name` is allowed in an archive. A name has at most 99 bytes, which are letters,
 * digits, `_.+-`, and single slashes between components. No component can start with '.' or '-'.
 */
bool kl_tar_name_ok(const char *name);

/**
 * Append a file. Aborts (KL_BUG) if the name is not allowed or the file has more than
 * KL_TAR_MAX_FILE bytes.
 */
void kl_tar_add(struct kl_buf *out, const char *name, const void *data, size_t len);
/** Append the end-of-archive marker. */
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

/** Begin to read the archive `data`, which must outlive `tar` and its entries. */
void kl_tar_open(struct kl_tar *tar, const void *data, size_t len);
/**
 * Read the next entry. Return 1 for an entry, 0 at the end of the archive, KL_EINVALID if the
 * archive is malformed or continues after the end. Names must be in ascending byte order, so there
 * are no duplicates.
 */
int kl_tar_next(struct kl_tar *tar, struct kl_tar_entry *entry);

#endif

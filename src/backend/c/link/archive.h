/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_ARCHIVE_H
#define KL_BACKEND_C_LINK_ARCHIVE_H

#include "backend/c/link/object.h"

/*
 * archive - reads a static library of the system, such as libm.a: its table of symbols, and its
 * members as objects. The file is mapped into memory. Several threads can read from one archive.
 */
struct kl_archive;

/**
 * Map an archive. Return KL_ENOTFOUND if the file does not exist, or KL_EINVALID if it is not an
 * archive with a table of symbols.
 */
int kl_archive_open(struct kl_archive **out, const char *path);
void kl_archive_free(struct kl_archive *archive);
KL_DEFINE_CLEANUP(struct kl_archive *, kl_archive_free)

/** Return the bytes of the file, which the archive owns, and set *len to their number. */
const void *kl_archive_bytes(const struct kl_archive *archive, size_t *len);

/** Return the position in the file of the member that defines a symbol; 0 if no member does. */
size_t kl_archive_find(const struct kl_archive *archive, const char *symbol);
/**
 * Read the member at position `at` as an object, which the caller frees. Return KL_EINVALID if the
 * archive is damaged; other errors are those of kl_object_parse().
 */
int kl_archive_member(struct kl_object **out, const struct kl_archive *archive, size_t at);

#endif

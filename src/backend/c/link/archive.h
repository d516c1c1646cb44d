/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_ARCHIVE_H
#define KL_BACKEND_C_LINK_ARCHIVE_H

#include "backend/c/link/object.h"

/*
 * archive - a static library of the system, such as libm.a: its table of symbols, and its members
 * as objects. The file is mapped; several threads can read from one archive.
 */
struct kl_archive;

/** KL_ENOTFOUND: there is no such file; KL_EINVALID: it is no archive with a table of symbols. */
int kl_archive_open(struct kl_archive **out, const char *path);
void kl_archive_free(struct kl_archive *archive);
KL_DEFINE_CLEANUP(struct kl_archive *, kl_archive_free)

/** The bytes of the file. */
const void *kl_archive_bytes(const struct kl_archive *archive, size_t *len);

/** Find the member that defines a symbol: its position in the file, or 0. */
size_t kl_archive_find(const struct kl_archive *archive, const char *symbol);
/** Read the member at a position. The caller frees the object. */
int kl_archive_member(struct kl_object **out, const struct kl_archive *archive, size_t at);

#endif

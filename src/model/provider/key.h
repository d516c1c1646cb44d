/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_KEY_H
#define KL_MODEL_PROVIDER_KEY_H

#include <stddef.h>

#include "text/digest.h"

/*
 * key - the key of a recorded reply: a digest of the keys of its turn and of all turns before it
 * (struct kl_request_context in provider.h, `key`). A recorded reply is therefore used only if its
 * turn and all turns before it have the same keys as in the recording.
 *
 * The digest is SHA-256 over the keys in order, each as its length in bytes (a decimal number), a
 * NUL byte, and its bytes. docs/formats.md, "Recordings".
 */
void kl_provider_key(char hex[KL_DIGEST_HEX], const char *const *key, size_t n);

#endif

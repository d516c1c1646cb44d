/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_KEY_H
#define KL_MODEL_PROVIDER_KEY_H

#include <stddef.h>

#include "text/digest.h"

/*
 * key - the key of a recorded reply: a digest of the keys of all turns so far. Those are in struct
 * kl_request_context (provider.h). A reply is therefore only used if everything that led to it is
 * the same.
 *
 * SHA-256 over each key in order: its length in bytes as a decimal number, a NUL byte, its
 * bytes. docs/formats.md, "Recordings".
 */
void kl_provider_key(char hex[KL_DIGEST_HEX], const char *const *key, size_t n);

#endif

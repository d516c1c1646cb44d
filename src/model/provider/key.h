/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_KEY_H
#define KL_MODEL_PROVIDER_KEY_H

#include <stddef.h>

#include "text/digest.h"

/*
 * key - the key that a recorded reply is found by: one digest of the keys of all turns so far
 * (struct kl_request_context in provider.h), so that a reply is given only where everything that
 * led to it was the same.
 *
 * SHA-256 over each key in order: its length in bytes as a decimal number, a NUL byte, its
 * bytes. docs/formats.md, "Recordings".
 */
void kl_provider_key(char hex[KL_DIGEST_HEX], const char *const *key, size_t n);

#endif

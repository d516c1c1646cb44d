/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_ENVIRONMENT_H
#define KL_BASE_ENVIRONMENT_H

#include <stdbool.h>

#include "base/vec.h"

/*
 * environment - the environment of child processes, without the keys of language models.
 *
 * git, its hooks and credential helpers, ssh, ssh-keygen and compilers have no use for these keys.
 * Only a command that is itself a model's provider (model/provider/exec) can get one.
 */

/**
 * Can this variable ("NAME" or "NAME=value") be the key of a provider? KLINEAGE_CHAT_KEY, and every
 * name that ends in _API_KEY, _API_TOKEN, _AUTH_TOKEN or _BEDROCK.
 */
bool kl_environment_is_key(const char *entry);
/** Append our environment without these keys. */
void kl_environment_copy(struct kl_strvec *out);

#endif

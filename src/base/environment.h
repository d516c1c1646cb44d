/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_ENVIRONMENT_H
#define KL_BASE_ENVIRONMENT_H

#include <stdbool.h>

#include "base/vec.h"

/*
 * environment - the environment of child processes, without the API keys of model providers.
 *
 * git, its hooks and credential helpers, ssh, ssh-keygen and compilers do not need these keys. Only
 * a command that is itself a provider (model/provider/exec) can get such a key.
 */

/**
 * Return true if this variable ("NAME" or "NAME=value") can hold the API key of a provider:
 * KLINEAGE_CHAT_KEY and every name that ends in _API_KEY, _API_TOKEN, _AUTH_TOKEN or _BEDROCK.
 */
bool kl_environment_is_key(const char *entry);
/** Append the environment of this process, without the variables that can hold an API key. */
void kl_environment_copy(struct kl_strvec *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_MONEY_H
#define KL_MODEL_MONEY_H

#include <stdbool.h>
#include <stdint.h>

#include "repo/repo.h"

/*
 * money - US dollars as integers of 10^-9, so that sums are exact. People write and read
 * decimals; no float is on the way.
 */
#define KL_DOLLAR INT64_C(1000000000)
#define KL_MONEY_MAX (INT64_C(1000000) * KL_DOLLAR) /* more is a mistake, not a sum */
#define KL_MONEY_TEXT 32

/**
 * "40", "0.25": digits, at most 9 behind the point, up to KL_MONEY_MAX; no sign, blank or exponent.
 */
bool kl_money_parse(int64_t *nano, const char *text);

/** "$12.3456", rounded to 4 places, away from zero: what was spent is never shown as less. */
void kl_money_text(char out[KL_MONEY_TEXT], int64_t nano);

/** A sum in dollars of the configuration; absent: `dflt`. KL_EINVALID names the key. */
int kl_money_config(int64_t *nano, struct kl_repo *repo, const char *key, int64_t dflt);

#endif

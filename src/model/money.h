/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_MONEY_H
#define KL_MODEL_MONEY_H

#include <stdbool.h>
#include <stdint.h>

#include "repo/repo.h"

/*
 * money - amounts of US dollars as whole numbers of nano-dollars (10^-9 dollars). Sums are exact.
 * Users write and read decimals; no floating point is involved.
 */
#define KL_DOLLAR INT64_C(1000000000)
#define KL_MONEY_MAX (INT64_C(1000000) * KL_DOLLAR) /* larger amounts are rejected as mistakes */
#define KL_MONEY_TEXT 32

/**
 * Parse "40" or "0.25" dollars: digits, at most 9 after the point, up to KL_MONEY_MAX; no sign,
 * white space or exponent. Return false if it is malformed.
 */
bool kl_money_parse(int64_t *nano, const char *text);

/**
 * Parse an amount as programs write it, like "-1.25e-3", in units of 10^`unit` dollars (0 for
 * dollars, -2 for cents), and round it to nano-dollars. Return false if it is malformed, or its
 * absolute value is above KL_MONEY_MAX.
 */
bool kl_money_read_amount(int64_t *nano, const char *text, int unit);

/**
 * Format `nano` as "$12.3456". Round away from zero to 4 places, so that no cost is understated.
 */
void kl_money_text(char out[KL_MONEY_TEXT], int64_t nano);

/**
 * Read an amount in dollars from the configuration; `dflt` if it is not set. Return KL_EINVALID if
 * it is malformed. The message names the key.
 */
int kl_money_config(int64_t *nano, struct kl_repo *repo, const char *key, int64_t dflt);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_SETUP_H
#define KL_SEARCH_POLICY_SETUP_H

#include <stddef.h>
#include <stdint.h>

#include "text/digest.h"
#include "text/json.h"

/*
 * setup - a policy with the values of its parameters, for one cell.
 *
 * A policy lists its parameters in a table. A preset is a named set of values. Values are stored as
 * integers: a count as itself, a decimal in millionths, a word as its index.
 *
 *	kl_setup_init(&setup, policy);
 *	err = kl_setup_preset(&setup, "paper");
 *	err = kl_setup_set(&setup, "p_large", "0.25");
 */
struct kl_policy;

struct kl_policy_param {
	const char *name; /* NULL at the end of the table */
	const char *dflt; /* default, as a user would write it */
	int64_t least, most;
	int decimal;              /* 1 if the value is a decimal; then bounds are in millionths */
	const char *const *words; /* the words that are valid, NULL-terminated; or NULL */
	const char *what;         /* a line that describes the parameter to users */
};

/* clang-format off */
#define KL_PARAM_COUNT(key, value, low, high, line) \
	{ .name = (key), .dflt = (value), .least = (low), .most = (high), .what = (line) }
#define KL_PARAM_DECIMAL(key, value, low, high, line) \
	{ .name = (key), .dflt = (value), .decimal = 1, .least = (low) * KL_MILLION, \
	  .most = (high) * KL_MILLION, .what = (line) }
#define KL_PARAM_WORD(key, value, list, line) \
	{ .name = (key), .dflt = (value), .words = (list), .what = (line) }
#define KL_PARAMS_END { .name = NULL }
/* clang-format on */

struct kl_policy_preset {
	const char *name;     /* NULL at the end of the table */
	const char *settings; /* "alpha=0 rounds=5"; sets no other parameter */
	const char *what;     /* a line that describes the preset to users */
};

#define KL_MILLION ((int64_t)1000000)
#define KL_SETUP_PARAMS 16

struct kl_setup {
	const struct kl_policy *policy;
	int64_t value[KL_SETUP_PARAMS]; /* in the order of the policy's table */
	int64_t candidates;             /* number of candidates to make; at least 1 */
	int64_t width;                  /* number of tickets that are open at once; at least 1 */
	char key[KL_DIGEST_HEX];        /* key of the cell, for draws (draw.h) */
	/* what the policy knows at the beginning (memory.h); borrowed; NULL for nothing */
	json_t *memory;
};

/** Set all parameters to their defaults. */
void kl_setup_init(struct kl_setup *setup, const struct kl_policy *policy);
/** Set the parameters that a preset names. Return KL_EUSAGE if there is no such preset. */
int kl_setup_preset(struct kl_setup *setup, const char *name);
/**
 * Set one parameter from text. Return KL_EUSAGE if there is no such parameter or the value is not
 * valid.
 */
int kl_setup_set(struct kl_setup *setup, const char *name, const char *text);
/** Return the value of a decimal parameter. */
double kl_setup_decimal(const struct kl_setup *setup, int param);
/** Return the setup as JSON; the caller owns it. */
json_t *kl_setup_write(const struct kl_setup *setup);
/**
 * Read a setup that kl_setup_write() wrote. Return KL_EINVALID if it names a policy or a parameter
 * that this program does not have. The memory is borrowed from `json`.
 */
int kl_setup_read(struct kl_setup *out, const json_t *json);

#endif

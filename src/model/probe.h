/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROBE_H
#define KL_MODEL_PROBE_H

#include "model/cost.h"
#include "model/session.h"

/*
 * probe - sends one small request to the configured model, to test the configuration.
 *
 * The probe shows whether the model answers, whether it reports tokens that can be right, whether
 * its cache works, and what the request cost. The prompt has some 1400 tokens, since most caches
 * store no shorter prompt. The prompt is the same each time, so that a second probe can read it
 * from the cache.
 *
 * The request is metered like any other, in the ledger of the workload KL_PROBE_WORKLOAD. If the
 * user has a workload of this name, both share that ledger. The request is sent once. It is not
 * repeated if it fails, except with a renewed key if the server refuses the first key. Its reply is
 * not stored.
 *
 *	KL_AUTO(kl_probe_release) struct kl_probe probe;
 *
 *	err = kl_probe_run(&probe, repo);
 */
#define KL_PROBE_WORKLOAD "probe"
/* maximum tokens of the reply: enough for a model that reasons before its first word */
#define KL_PROBE_TOKENS 2048

struct kl_probe {
	char *provider, *model;
	char *url;   /* where the request was sent; NULL for a command or a recording */
	char *price; /* source of the price; NULL if not metered */
	int64_t ms;  /* time until the reply was complete, without the writes to the ledger */
	struct kl_reply reply;
	int64_t nano; /* cost; 0 if not metered */
	enum kl_cost_by by;
};

/**
 * Send the request and wait for the reply. Return KL_EINVALID if a setting is missing or wrong, or
 * the reply violates the protocol. Return KL_ENO if the budget does not allow it; other errors are
 * those of kl_provider_send(). On an error the members up to `price` can be set. The caller
 * releases `out` in any case.
 */
int kl_probe_run(struct kl_probe *out, struct kl_repo *repo);
void kl_probe_release(struct kl_probe *probe);

/** Return true if the reply was usable and, if the request was metered, its tokens were counted. */
bool kl_probe_works(const struct kl_probe *probe);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROBE_H
#define KL_MODEL_PROBE_H

#include "model/cost.h"
#include "model/session.h"

/*
 * probe - sends one small request to the configured model, to learn what works: whether it answers,
 * whether it reports tokens that can be right, whether its cache works, what the request cost. The
 * prompt has some 1400 tokens, since most caches hold no shorter one; it is the same each time, so
 * that a second probe can read it from the cache.
 *
 * It is metered like any request, in the ledger of the workload KL_PROBE_WORKLOAD, and sent once,
 * without patience. Its reply is not stored.
 *
 *	KL_AUTO(kl_probe_release) struct kl_probe probe;
 *
 *	err = kl_probe_run(&probe, repo);
 */
#define KL_PROBE_WORKLOAD "probe"
/* of the reply, at most: a model that reasons needs them before its first word */
#define KL_PROBE_TOKENS 2048

struct kl_probe {
	char *provider, *model;
	char *url;   /* where the request was sent; NULL: a command, or a recording */
	char *price; /* its source; NULL: not metered */
	int64_t ms;  /* until the reply was complete */
	struct kl_reply reply;
	int64_t nano; /* cost; 0 if not metered */
	enum kl_cost_by by;
};

/**
 * KL_EINVALID: a setting is missing or wrong, or the reply violates the protocol; KL_ENO: the budget
 * does not allow it; other errors as kl_provider_send(). On an error the members up to `price` can
 * be set. The caller releases `out` in any case.
 */
int kl_probe_run(struct kl_probe *out, struct kl_repo *repo);
void kl_probe_release(struct kl_probe *probe);

/** Was the reply usable, and were its tokens counted if they cost money? */
bool kl_probe_works(const struct kl_probe *probe);

#endif

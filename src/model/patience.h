/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PATIENCE_H
#define KL_MODEL_PATIENCE_H

#include "base/rng.h"
#include "repo/repo.h"

/*
 * patience - decides whether and when to repeat a failed request to a provider. It does not wait.
 *
 * The patience of a session (klineage.chat.patience) is a time limit for an outage of its provider.
 * An outage begins with the first failure after a reply, and ends with the next reply. Until the
 * limit, a failed request is repeated after a pause (provider/retry.h). After the limit, each turn
 * has a single attempt until a reply comes, so that the session waits only once for one outage.
 */
struct kl_patience {
	int64_t limit_ms;
	int64_t since_ns;  /* time of the first failure since the last reply; 0 if there is none */
	unsigned failures; /* failures since the last reply */
	struct kl_rng rng;
};

/** Read the limit from the configuration. Return KL_EINVALID if the setting is malformed. */
int kl_patience_read(struct kl_patience *out, struct kl_repo *repo);

/**
 * Record a failure at time `now_ns`. `wish_ms` is the pause that the server asks for, or -1 if
 * there is none. Return the pause before the next attempt, in milliseconds. If there must be no
 * next attempt, return -1 and set `*why` to the reason, which is static.
 */
int64_t kl_patience_failed(struct kl_patience *patience, const char **why, int64_t wish_ms,
			   int64_t now_ns);

/** Record that the provider replied: the next failure counts as the first of a new outage. */
void kl_patience_answered(struct kl_patience *patience);

#endif

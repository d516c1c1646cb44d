/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_SESSION_IMPL_H
#define KL_MODEL_SESSION_IMPL_H

#include "base/lock.h"
#include "model/ledger.h"
#include "model/price.h"
#include "model/provider/provider.h"
#include "model/session.h"

/*
 * session_impl - what session.c, request.c and open_reservation.c share: provider, price and cap.
 */
struct kl_session {
	struct kl_repo *repo;
	struct kl_provider *provider;
	struct kl_price *price; /* NULL: nothing is metered */
	char *model, *workload;
	enum kl_budget budget;
	int64_t cap;
	int64_t max_tokens, least_tokens;
	int64_t pause_ms; /* how long gating takes; 0: unknown */
	int cache;        /* enum kl_cache_ttl, or KL_CACHE_AUTO */
	struct kl_progress *progress;
};

#define KL_CACHE_AUTO (-1)

/**
 * Who sends the next turn of a conversation holds this, until its reply is stored: two would pay
 * for one answer. As kl_lock_take.
 */
int kl_conversation_lock(struct kl_lock *lock, struct kl_repo *repo, const char *workload,
			 const char *name, const char *phase, int64_t wait_ms);

#endif

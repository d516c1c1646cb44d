/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CHAT_CHAT_IMPL_H
#define KL_CHAT_CHAT_IMPL_H

#include "chat/chat.h"
#include "chat/ledger.h"
#include "chat/price.h"
#include "chat/provider.h"

/* chat_impl - what chat.c and talk.c share: who is talked to, at what price, under which cap. */
struct kl_chat {
	struct kl_repo *repo;
	struct kl_provider *provider;
	struct kl_price *price;		/* NULL: nothing is metered */
	char *model, *workload;
	enum kl_budget budget;
	int64_t cap;
	int64_t max_tokens, least_tokens;
	int64_t pause_ms;		/* how long gating takes; 0: unknown */
	int cache;			/* enum kl_chat_cache, or KL_CACHE_AUTO */
	struct kl_progress *progress;
};

#define KL_CACHE_AUTO (-1)

#endif

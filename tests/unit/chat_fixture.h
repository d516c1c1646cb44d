/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CHAT_FIXTURE_H
#define KL_CHAT_FIXTURE_H

/*
 * chat_fixture - a conversation to ask providers about: two system blocks, and what
 * user and assistant say at each turn.
 */
#include "model/provider/provider.h"
#include "scratch.h"

#define MAX_TALK 16

static const char *const request_system[] = { "You simplify kernels.",
					      "The contract: \"topk\" \\ 1" };

struct request {
	struct kl_message message[MAX_TALK];
	struct kl_provider_request q;
	struct kl_request_context x;
};

/** A request of `n` messages, user first, NULL after the last. */
static __attribute__((unused)) void request_of(struct request *request, const char *const *said)
{
	memset(request, 0, sizeof(*request));
	for (size_t i = 0; said[i]; i++) {
		assert_true(i < MAX_TALK);
		request->message[i] = (struct kl_message){ .assistant = i % 2, .text = said[i] };
		request->q.nmessage = i + 1;
	}
	request->q.model = "test-model-1";
	request->q.max_tokens = 1000;
	request->q.system = request_system;
	request->q.nsystem = 2;
	request->q.message = request->message;
	request->q.cache = KL_CACHE_5M;
	request->x.phase = "back-0";
	request->x.turn = request->q.nmessage / 2;
}

#define REQUEST(t, ...) request_of((t), (const char *const[]){ __VA_ARGS__, NULL })

#endif

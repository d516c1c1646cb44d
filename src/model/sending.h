/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_SENDING_H
#define KL_MODEL_SENDING_H

#include "model/cost.h"
#include "model/options.h"
#include "model/request.h"
#include "model/session_impl.h"
#include "text/digest.h"

/*
 * sending - sends a turn to the provider: builds the request, reserves its cost, and sends it until
 * there is a reply. An attempt is repeated if its failure can be temporary, as long as the patience
 * lasts (patience.h). Each attempt has a reservation of its own; the reservation of a failed
 * attempt is settled before the pause, or stays open if nothing is known of its cost.
 *
 *	KL_AUTO(kl_sending_release) struct kl_sending sending = { 0 };
 *
 *	err = kl_sending_run(&sending, conversation, &request);
 *	... store sending.reply and settle sending.reserved at sending.nano ...
 */
struct kl_sending {
	struct kl_conversation *conversation;
	struct kl_session *session;
	const struct kl_request *spec;
	const char *key;
	struct kl_provider_request q;
	struct kl_model_options options;
	char cache_key[KL_DIGEST_HEX]; /* digest of the model and the system texts */
	struct kl_message *message;
	const char **keys;
	int64_t request_bytes;
	int64_t wanted; /* limit of tokens for the reply, if the budget allows it */
	/* reservation of the current attempt; unused if the session is not metered */
	struct kl_reservation reserved;
	/* number of attempts so far; number of those that can have cost money */
	unsigned attempts, paid;
	struct kl_reply reply;
	int64_t nano;       /* cost of the attempt, nano-dollars */
	enum kl_cost_by by; /* where `nano` comes from */
	bool heard;         /* part of the reply has arrived */
	int64_t ms;         /* time from the start of the attempt until its reply was complete */
};

/**
 * Send the next turn of the conversation. On success the reply is complete, although its text can
 * have a flaw, and its reservation is still open. Return KL_ETIMEOUT if there is no reply within
 * the session's patience. Return KL_ENO if the budget does not allow a further attempt. After any
 * other error, another attempt would fail, too.
 */
int kl_sending_run(struct kl_sending *out, struct kl_conversation *conversation,
		   const struct kl_request *spec);
void kl_sending_release(struct kl_sending *sending);

/** Return the settlement of the current attempt; it borrows from `sending`. */
struct kl_ledger_bill kl_sending_bill(const struct kl_sending *sending);

#endif

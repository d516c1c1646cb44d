/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sending.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/proc.h"
#include "model/money.h"
#include "model/provider/usage.h"

#define LONG_PAUSE_MS (4 * 60 * 1000) /* after a longer pause a 5-minute cache can have expired */
#define NAP_MS 50
#define CACHE_KEY 32 /* hex digits of a cache key; every provider allows 64 characters */
/*
 * maximum number of attempts of a turn that can have cost money, so that a request that makes its
 * provider fail each time is not paid for again and again
 */
#define MOST_PAID 8

void kl_sending_release(struct kl_sending *sending)
{
	kl_model_options_release(&sending->options);
	free(sending->message);
	free(sending->keys);
	kl_reply_release(&sending->reply);
}

/* --- the request --------------------------------------------------------------------- */

/* Choose the cache lifetime by the expected pause before the next turn. */
static enum kl_cache_ttl pick_cache(const struct kl_conversation *conversation)
{
	int64_t pause = conversation->session->pause_ms;

	if (conversation->session->cache != KL_CACHE_AUTO)
		return (enum kl_cache_ttl)conversation->session->cache;
	if (conversation->stored_ns && (kl_clock_ns() - conversation->stored_ns) / 1000000 > pause)
		pause = (kl_clock_ns() - conversation->stored_ns) / 1000000;
	return pause > LONG_PAUSE_MS ? KL_CACHE_1H : KL_CACHE_5M;
}

/*
 * Make the cache key: a digest that is the same for all conversations with this model and these
 * system texts.
 */
static void make_cache_key(struct kl_sending *sending)
{
	struct kl_digest *digest = kl_digest_new();

	kl_digest_adds(digest, sending->session->model);
	for (size_t i = 0; i < sending->conversation->nsystem; i++)
		kl_digest_adds(digest, sending->conversation->system[i]);
	kl_digest_end(digest, sending->cache_key);
	sending->cache_key[CACHE_KEY] = '\0';
}

static void build_request(struct kl_sending *sending)
{
	const struct kl_conversation *conversation = sending->conversation;
	int64_t most = sending->spec->max_tokens;

	sending->message = kl_calloc(2 * conversation->n + 1, sizeof(*sending->message));
	sending->keys = kl_calloc(conversation->n + 1, sizeof(*sending->keys));
	for (size_t i = 0; i < conversation->n; i++) {
		const struct kl_turn *turn = &conversation->turn[i];

		sending->message[2 * i] = (struct kl_message){ false, turn->user };
		sending->message[2 * i + 1] = (struct kl_message){ true, turn->reply };
		sending->keys[i] = turn->key;
	}
	sending->message[2 * conversation->n] = (struct kl_message){ false, sending->spec->user };
	sending->keys[conversation->n] = sending->key;
	make_cache_key(sending);
	sending->wanted = most > 0 ? most : sending->session->max_tokens;
	sending->q = (struct kl_provider_request){
		.model = sending->session->model,
		.system = (const char *const *)conversation->system,
		.nsystem = conversation->nsystem,
		.message = sending->message,
		.nmessage = 2 * conversation->n + 1,
		.cache = pick_cache(conversation),
		.ends = conversation->single,
		.max_tokens = sending->wanted,
		.cache_key = sending->cache_key,
		.effort = sending->options.effort,
		.tier = sending->options.tier,
		.extra = sending->options.extra,
	};
}

static int measure_request(struct kl_sending *sending)
{
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
	int err = kl_provider_body(&body, NULL, sending->session->provider, &sending->q);

	sending->request_bytes = (int64_t)body.len;
	return err;
}

/* Reserve the worst-case cost of an attempt, with as many tokens as the budget allows. */
static int reserve_attempt(struct kl_sending *sending)
{
	const struct kl_conversation *conversation = sending->conversation;
	const struct kl_session *session = sending->session;
	struct kl_ledger_ask ask = {
		.budget = session->budget,
		.cap = session->cap,
		.name = conversation->name,
		.phase = conversation->phase,
		.model = session->model,
		.turn = (int64_t)conversation->n,
		.tokens = sending->wanted,
		.least_tokens = session->least_tokens,
	};
	int err;

	if (!session->price)
		return 0;
	if (ask.least_tokens > ask.tokens)
		ask.least_tokens = ask.tokens;
	kl_price_worst(&ask.fixed, &ask.per_token, session->price, sending->q.cache,
		       sending->request_bytes);
	if ((err = KL_FAULT("chat-reserve")) < 0 ||
	    (err = kl_ledger_reserve(&sending->reserved, session->repo, session->account, &ask)) <
		    0)
		return err;
	sending->q.max_tokens = sending->reserved.tokens;
	return KL_FAULT("chat-reserved");
}

/* --- progress ------------------------------------------------------------------------ */

static void show_progress(struct kl_sending *sending, int64_t bytes, const struct kl_usage *usage)
{
	const struct kl_price *price = sending->session->price;
	char money[KL_MONEY_TEXT] = "unmetered";
	/* some providers report input tokens at the start, but this count can still change */
	struct kl_usage so_far = usage ? *usage : (struct kl_usage){ 0 };
	int64_t in = kl_usage_prompt(&so_far), out = so_far.output, nano = 0;

	/* if the count is lower than one token per 4 received bytes, show the latter */
	if (out < bytes / 4)
		out = bytes / 4;
	so_far.output = out;
	if (price && !kl_price_cost(&nano, price, &so_far, 1000))
		kl_money_text(money, nano);
	kl_progress_step(sending->session->progress, "%s, turn %zu: %lld tokens in, %lld out, %s",
			 sending->conversation->phase, sending->conversation->n, (long long)in,
			 (long long)out, money);
}

static int count_bytes(int64_t bytes, const struct kl_usage *so_far, void *payload)
{
	struct kl_sending *sending = payload;
	bool first = !sending->heard;

	sending->heard = true;
	show_progress(sending, bytes, so_far);
	return kl_proc_interrupted() || (first && KL_FAULT("chat-heard") < 0);
}

/* --- the cost of an attempt ------------------------------------------------------------ */

struct kl_ledger_bill kl_sending_bill(const struct kl_sending *sending)
{
	const struct kl_conversation *conversation = sending->conversation;

	return (struct kl_ledger_bill){
		.budget = sending->session->budget,
		.name = conversation->name,
		.phase = conversation->phase,
		.model = sending->session->model,
		.turn = (int64_t)conversation->n,
		.reservation = &sending->reserved,
		.nano = sending->nano,
		.usage = &sending->reply.usage,
		.implausible = sending->by == KL_COST_IMPLAUSIBLE,
		.estimated = sending->by == KL_COST_ESTIMATED,
	};
}

static struct kl_cost_of cost_of(const struct kl_sending *sending)
{
	return (struct kl_cost_of){
		.price = sending->session->price,
		.cache = sending->q.cache,
		.request_bytes = sending->request_bytes,
		.max_tokens = sending->q.max_tokens,
		.reserved = sending->reserved.nano,
		.blind = kl_provider_blind(sending->session->provider),
	};
}

/*
 * Tell the user that the cost of the attempt is unknown, that the reserved amount counts as spent,
 * and how to settle it.
 */
static int explain_open(const struct kl_sending *sending, int err)
{
	char money[KL_MONEY_TEXT];

	kl_money_text(money, sending->reserved.nano);
	return kl_error_hint(err,
			     "the cost of this request is unknown, so %s stay reserved for it "
			     "until you run 'git klineage chat settle'",
			     money);
}

/*
 * Settle the reservation of a failed attempt at its cost or an upper bound of its cost; if the cost
 * is unknown, the reservation stays open. Return `err`, with its message.
 */
static int settle_failed(struct kl_sending *sending, int err)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	KL_AUTO(kl_freep) char *hints = kl_strdup(kl_error_hints());
	struct kl_cost_of of = cost_of(sending);
	struct kl_ledger_bill bill;

	if (!sending->session->price)
		return err;
	sending->by = kl_cost_of_failure(&sending->nano, &of, &sending->reply);
	sending->paid += sending->by == KL_COST_OPEN || sending->nano > 0;
	if (sending->by == KL_COST_OPEN)
		return explain_open(sending, err);
	bill = kl_sending_bill(sending);
	if (kl_ledger_settle(sending->session->repo, sending->session->account, &bill, NULL) < 0) {
		sending->reply.failure.transient = false;
		err = kl_error((enum kl_err)err,
			       "%s (and its reservation could not be settled: %s)", message,
			       kl_error_last());
	} else {
		err = kl_error((enum kl_err)err, "%s", message);
	}
	return *hints ? kl_error_hint(err, "%s", hints) : err;
}

/* --- one attempt ------------------------------------------------------------------------- */

/*
 * Append the files that the command edited to the reply of the command. If the command printed no
 * text, the files alone are the reply.
 */
static int collect_files(struct kl_sending *sending)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const struct kl_request *spec = sending->spec;
	struct kl_reply *reply = &sending->reply;
	int err;

	if (!spec->collect)
		return 0;
	if (reply->flaw != KL_FLAW_EMPTY)
		kl_buf_adds(&text, reply->text);
	if ((err = spec->collect(&text, spec->dir, spec->payload)) < 0)
		return err;
	if (strlen(text.ptr) != text.len)
		return kl_error(KL_EINVALID, "the files left in '%s' are not text", spec->dir);
	if (!text.len)
		return 0;
	if (reply->flaw == KL_FLAW_EMPTY)
		reply->flaw = KL_FLAW_NONE;
	free(reply->text);
	reply->text = kl_buf_detach(&text);
	return 0;
}

static int send_once(struct kl_sending *sending)
{
	struct kl_session *session = sending->session;
	struct kl_request_context context = {
		.phase = sending->conversation->phase,
		.turn = sending->conversation->n,
		.key = sending->keys,
		.dir = sending->spec->dir,
		.alone = sending->spec->alone,
		.about = sending->spec->about,
	};
	struct kl_provider_watch watch = { .heard = count_bytes, .payload = sending };
	struct kl_cost_of of;
	int64_t start;
	int err;

	kl_reply_release(&sending->reply);
	sending->attempts++;
	show_progress(sending, 0, NULL);
	start = kl_clock_ns();
	err = kl_provider_send(&sending->reply, session->provider, &sending->q, &context, &watch);
	sending->ms = (kl_clock_ns() - start) / 1000000;
	if (err < 0)
		return settle_failed(sending, err);
	if ((err = collect_files(sending)) < 0)
		return settle_failed(sending, err);
	of = cost_of(sending);
	sending->by = kl_cost_of_reply(&sending->nano, &of, &sending->reply);
	kl_patience_answered(&session->patience);
	return 0;
}

/* --- repeated attempts --------------------------------------------------------------------- */

static int give_up(const struct kl_sending *sending, const char *why)
{
	return kl_error_reword(KL_ETIMEOUT, "%s (gave up after %u attempt%s: %s)", kl_error_last(),
			       sending->attempts, sending->attempts == 1 ? "" : "s", why);
}

static int wait_ms(const struct kl_sending *sending, int64_t ms)
{
	const struct kl_conversation *conversation = sending->conversation;
	int64_t end = kl_clock_ns() + ms * 1000000;

	kl_progress_print(sending->session->progress, "  %s, turn %zu: %s; retrying in %lld s",
			  conversation->phase, conversation->n, kl_error_last(),
			  (long long)(ms + 999) / 1000);
	while (kl_clock_ns() < end) {
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		kl_clock_sleep_ms(NAP_MS < ms ? NAP_MS : ms);
	}
	return 0;
}

/*
 * Reserve for another attempt. Called after the pause, so that an interrupt during the pause leaves
 * no reservation.
 */
static int reserve_again(struct kl_sending *sending)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	int err = reserve_attempt(sending);

	if (err != KL_ENO)
		return err;
	return kl_error_reword(err, "%s (no further attempt after: %s)", kl_error_last(), message);
}

/*
 * If the failure can be temporary, wait and reserve for another attempt; otherwise return the final
 * error.
 */
static int after_failure(struct kl_sending *sending, int err)
{
	const struct kl_send_failure *failure = &sending->reply.failure;
	const char *why = "each attempt may have cost money";
	int64_t pause;

	if (!failure->transient || sending->spec->once)
		return err;
	pause = kl_patience_failed(&sending->session->patience, &why, failure->after_ms,
				   kl_clock_ns());
	if (pause < 0 || sending->paid >= MOST_PAID)
		return give_up(sending, why);
	if ((err = wait_ms(sending, pause)) < 0)
		return err;
	return reserve_again(sending);
}

int kl_sending_run(struct kl_sending *out, struct kl_conversation *conversation,
		   const struct kl_request *spec)
{
	int err;

	*out = (struct kl_sending){
		.conversation = conversation,
		.session = conversation->session,
		.spec = spec,
		.key = spec->key ? spec->key : spec->user,
	};
	if (!spec->user || !*spec->user)
		return kl_error(KL_EINVALID, "the request has no text");
	if ((err = kl_model_options_read(&out->options, out->session->repo, conversation->phase)) <
	    0)
		return err;
	build_request(out);
	if ((err = measure_request(out)) < 0 || (err = reserve_attempt(out)) < 0)
		return err;
	while ((err = send_once(out)) < 0)
		if ((err = after_failure(out, err)) < 0)
			return err;
	return 0;
}

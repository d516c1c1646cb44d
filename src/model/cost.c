/* SPDX-License-Identifier: Apache-2.0 */
#include "model/cost.h"

#include "base/error.h"
#include "model/provider/usage.h"

/* Return true if the counts are possible for this request. `text` is true if the reply has text. */
static bool are_possible(const struct kl_cost_of *of, const struct kl_usage *usage, bool text)
{
	struct kl_usage_bounds bounds = { 4 * KL_USAGE_MAX, KL_USAGE_MAX, of->price && text };

	if (of->price && of->blind) {
		bounds.prompt = of->request_bytes + KL_PRICE_ALLOWANCE;
		bounds.output = of->max_tokens + KL_COST_SLACK;
	}
	return kl_usage_is_possible(usage, &bounds);
}

/*
 * Compute the cost at the listed price times the factor of tier and region, or take the cost that
 * the provider states if it is higher.
 */
static int price_reply(int64_t *nano, const struct kl_cost_of *of, const struct kl_reply *reply)
{
	int64_t permille = reply->permille ? reply->permille : 1000;
	int err = kl_price_cost(nano, of->price, &reply->usage, permille);

	if (err < 0)
		return err;
	if (reply->stated_nano > *nano)
		*nano = reply->stated_nano;
	return 0;
}

static bool is_plausible(int64_t *nano, const struct kl_cost_of *of, const struct kl_reply *reply)
{
	bool text = reply->flaw == KL_FLAW_NONE || reply->flaw == KL_FLAW_LENGTH;

	if (!are_possible(of, &reply->usage, text))
		return false;
	if (of->price && price_reply(nano, of, reply) < 0) {
		kl_error_clear();
		return false;
	}
	return !of->blind || *nano <= of->reserved;
}

enum kl_cost_by kl_cost_of_reply(int64_t *nano, const struct kl_cost_of *of, struct kl_reply *reply)
{
	bool known = reply->usage.known;

	*nano = 0;
	if (known && is_plausible(nano, of, reply))
		return KL_COST_COUNTED;
	reply->usage = (struct kl_usage){ 0 };
	*nano = of->reserved;
	return known ? KL_COST_IMPLAUSIBLE : KL_COST_RESERVED;
}

/* --- the cost of a reply that broke off ------------------------------------------------ */

static int64_t most_output(const struct kl_cost_of *of, const struct kl_reply *reply)
{
	const struct kl_send_failure *failure = &reply->failure;
	int64_t thought = failure->wait_ms / 1000 * KL_COST_TOKENS_PER_SECOND +
			  failure->wait_ms % 1000 * KL_COST_TOKENS_PER_SECOND / 1000;
	int64_t seen = failure->bytes > reply->usage.output ? failure->bytes : reply->usage.output;
	int64_t most = seen + thought + KL_COST_UNSEEN;

	return most < of->max_tokens ? most : of->max_tokens;
}

static enum kl_cost_by estimate(int64_t *nano, const struct kl_cost_of *of, struct kl_reply *reply)
{
	struct kl_usage bound = reply->usage;
	int64_t fixed, per_token, output = most_output(of, reply);

	bound.known = true;
	bound.output = output;
	if (are_possible(of, &bound, false) && kl_usage_prompt(&bound) &&
	    !kl_price_cost(nano, of->price, &bound, 1000)) {
		reply->usage = bound;
	} else {
		kl_error_clear();
		reply->usage = (struct kl_usage){ 0 };
		kl_price_worst(&fixed, &per_token, of->price, of->cache, of->request_bytes);
		*nano = fixed + output * per_token;
	}
	if (*nano > of->reserved)
		*nano = of->reserved;
	return KL_COST_ESTIMATED;
}

static bool is_free(const struct kl_usage *usage)
{
	return usage->known && !kl_usage_prompt(usage) && !usage->output;
}

enum kl_cost_by kl_cost_of_failure(int64_t *nano, const struct kl_cost_of *of,
				   struct kl_reply *reply)
{
	*nano = 0;
	if (is_free(&reply->usage))
		return KL_COST_COUNTED;
	/*
	 * the reply was complete but is unusable, for example because a command left binary files
	 */
	if (reply->usage.known)
		return kl_cost_of_reply(nano, of, reply);
	if (reply->failure.begun)
		return estimate(nano, of, reply);
	reply->usage = (struct kl_usage){ 0 };
	return KL_COST_OPEN;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/experience.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

/* Replace the digest by the SHA-256 of the present digest followed by the JSON text. */
static void add_json(struct kl_experience *seen, json_t *json)
{
	struct kl_digest *digest = kl_digest_new();
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	kl_json_canonical(&text, json);
	kl_digest_adds(digest, seen->digest);
	kl_digest_add(digest, text.ptr, text.len);
	kl_digest_end(digest, seen->digest);
	json_decref(json);
}

void kl_experience_init(struct kl_experience *seen, const struct kl_setup *setup)
{
	*seen = (struct kl_experience){ .setup = setup };
	add_json(seen, kl_setup_write(setup));
	if (setup->policy->create)
		seen->state = setup->policy->create(setup);
}

void kl_experience_release(struct kl_experience *seen)
{
	if (seen->state)
		seen->setup->policy->release(seen->state);
	for (int64_t i = 0; i < seen->n; i++)
		kl_observation_release(&seen->at[i]);
	free(seen->at);
	*seen = (struct kl_experience){ 0 };
}

void kl_experience_add(struct kl_experience *seen, const struct kl_observation *observation)
{
	if (observation->ticket != seen->n)
		KL_BUG("ticket %" PRId64 " is folded after %" PRId64, observation->ticket,
		       seen->n - 1);
	KL_GROW(seen->at, (size_t)seen->n + 1, seen->alloc);
	kl_observation_copy(&seen->at[seen->n++], observation);
	add_json(seen, kl_observation_write(observation));
	if (seen->state)
		seen->setup->policy->fold(seen, &seen->at[seen->n - 1]);
}

void kl_experience_propose(struct kl_intent *out, const struct kl_experience *seen, int64_t ticket)
{
	struct kl_draws draws = { .key = seen->setup->key, .ticket = ticket };

	if (seen->setup->policy->horizon(seen->setup, ticket) != seen->n - 1)
		KL_BUG("ticket %" PRId64 " is proposed from tickets 0 to %" PRId64, ticket,
		       seen->n - 1);
	seen->setup->policy->propose(out, seen, &draws);
}

void kl_experience_digest(char hex[KL_DIGEST_HEX], const struct kl_experience *seen)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *json = json_object();

	kl_json_set_str(json, "history", seen->digest);
	if (seen->state)
		kl_json_set(json, "state", seen->setup->policy->write(seen));
	kl_json_canonical(&text, json);
	kl_digest_hex(hex, text.ptr, text.len);
}

double kl_experience_speed(const struct kl_experience *seen, int64_t ticket)
{
	return (double)seen->at[ticket].speed_ppm / KL_MILLION;
}

bool kl_experience_is_correct(const struct kl_experience *seen, int64_t ticket)
{
	return seen->at[ticket].outcome == KL_OUTCOME_CORRECT;
}

int64_t kl_experience_best(const struct kl_experience *seen)
{
	int64_t best = 0;

	for (int64_t i = 1; i < seen->n; i++)
		if (kl_experience_is_correct(seen, i) &&
		    seen->at[i].speed_ppm > seen->at[best].speed_ppm)
			best = i;
	return best;
}

json_t *kl_experience_number(double number)
{
	char hex[17];
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	snprintf(hex, sizeof(hex), "%016" PRIx64, bits);
	return json_string(hex);
}

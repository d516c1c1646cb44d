/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "model/conversation.h"
#include "model/session_impl.h"
#include "repo/refs.h"
#include "text/name.h"

#define MAX_REPLY 1000000 /* tokens; more than any model generates */
#define DEFAULT_REPLY 32768
#define DEFAULT_LEAST 1024

void kl_session_free(struct kl_session *session)
{
	if (!session)
		return;
	kl_provider_free(session->provider);
	kl_price_free(session->price);
	free(session->model);
	free(session->workload);
	free(session->purse);
	free(session->account);
	free(session);
}

/* --- opening -------------------------------------------------------------------- */

static int read_tokens(int64_t *out, struct kl_repo *repo, const char *key, int64_t dflt)
{
	int err = kl_repo_config_int(out, repo, key, dflt);

	if (!err && (*out < 1 || *out > MAX_REPLY))
		return kl_error(KL_EINVALID, "config %s: must be 1 to %d tokens", key, MAX_REPLY);
	return err;
}

static int read_cache(int *out, struct kl_repo *repo)
{
	static const struct {
		const char *name;
		int cache;
	} word[] = {
		{ "auto", KL_CACHE_AUTO },
		{ "none", KL_CACHE_NONE },
		{ "5m", KL_CACHE_5M },
		{ "1h", KL_CACHE_1H },
	};
	const char *value = kl_repo_config(repo, "klineage.chat.cache");

	for (size_t i = 0; i < KL_ARRAY_SIZE(word); i++)
		if (!strcmp(value ? value : "auto", word[i].name)) {
			*out = word[i].cache;
			return 0;
		}
	return kl_error(KL_EINVALID,
			"config klineage.chat.cache: '%s' is not one of auto, none, 5m, 1h", value);
}

static int read_limits(struct kl_session *session)
{
	struct kl_repo *repo = session->repo;
	int err;

	if ((err = read_tokens(&session->max_tokens, repo, "klineage.chat.maxTokens",
			       DEFAULT_REPLY)) < 0 ||
	    (err = read_tokens(&session->least_tokens, repo, "klineage.chat.leastTokens",
			       DEFAULT_LEAST)) < 0 ||
	    (err = read_cache(&session->cache, repo)) < 0 ||
	    (err = kl_patience_read(&session->patience, repo)) < 0)
		return err;
	return kl_budget_cap(&session->cap, repo, session->budget);
}

static int open_provider(struct kl_session *session, const struct kl_session_opts *opts)
{
	struct kl_provider_opts provider_opts = { .name = opts->provider,
						  .command = opts->command,
						  .replay = opts->replay,
						  .answer = opts->answer,
						  .payload = opts->payload };
	int err;

	if (!provider_opts.name)
		provider_opts.name = kl_repo_config(session->repo, "klineage.chat.provider");
	if (!provider_opts.name) {
		err = kl_error(KL_EINVALID, "no provider is configured");
		return kl_error_hint(err, "run: git config klineage.chat.provider <name> "
					  "(anthropic, openai, vllm, exec ...)");
	}
	return kl_provider_open(&session->provider, session->repo, &provider_opts);
}

/*
 * Find the model and its price. Provider `exec` is metered only if the user sets
 * klineage.chat.metered. A session that is not metered needs no model.
 */
static int find_price(struct kl_session *session, const struct kl_session_opts *opts)
{
	const char *model = opts->model ? opts->model :
					  kl_repo_config(session->repo, "klineage.chat.model");
	bool metered;
	int err = kl_repo_config_bool(&metered, session->repo, "klineage.chat.metered", false);

	if (err < 0)
		return err;
	metered = metered || kl_provider_metered(session->provider);
	if (!model && metered) {
		err = kl_error(KL_EINVALID, "no model is configured");
		return kl_error_hint(err, "run: git config klineage.chat.model <name>");
	}
	if (model && (strlen(model) > 200 || model[strcspn(model, " \t\r\n\033\177")]))
		return kl_error(KL_EINVALID,
				"config klineage.chat.model: '%.40s' is not a valid model name",
				model);
	session->model = kl_strdup(model ? model : kl_provider_name(session->provider));
	return metered ? kl_price_find(&session->price, session->repo, session->model) : 0;
}

int kl_session_open(struct kl_session **out, struct kl_repo *repo,
		    const struct kl_session_opts *opts)
{
	KL_AUTO(kl_session_freep) struct kl_session *session = kl_calloc(1, sizeof(*session));
	int cleared, err;

	if (!kl_name_is_slug(opts->workload))
		return kl_error(KL_EINVALID, "'%.100s' is not a valid workload name",
				opts->workload);
	session->repo = repo;
	if (opts->purse && !kl_name_is_slug(opts->purse))
		return kl_error(KL_EINVALID, "'%.100s' is not a valid name of a search",
				opts->purse);
	session->workload = kl_strdup(opts->workload);
	session->purse = opts->purse ? kl_strdup(opts->purse) : NULL;
	session->account = kl_ledger_account(opts->workload, opts->purse);
	session->budget = opts->budget;
	session->pause_ms = opts->pause_ms;
	session->progress = opts->progress;
	if ((err = kl_refs_recover(repo, &cleared)) < 0 ||
	    (err = open_provider(session, opts)) < 0 || (err = find_price(session, opts)) < 0 ||
	    (err = read_limits(session)) < 0)
		return err;
	if (opts->cap)
		session->cap = *opts->cap;
	*out = kl_steal(&session);
	return 0;
}

int kl_session_conversation(struct kl_conversation *out, struct kl_session *session,
			    const char *name, const char *phase, const char *const *text,
			    size_t ntext)
{
	int err = kl_conversation_load(out, session->repo, session->workload, name, phase);

	if (err < 0)
		return err;
	out->session = session;
	kl_conversation_system(out, text, ntext);
	return 0;
}

/* --- money ---------------------------------------------------------------------- */

int kl_session_money(int64_t *spent, int64_t *cap, struct kl_session *session)
{
	struct kl_ledger_totals totals;
	int err = kl_ledger_totals(&totals, session->repo, session->account);

	if (err < 0)
		return err;
	*spent = totals.of[session->budget].settled + totals.of[session->budget].reserved;
	*cap = session->cap;
	return 0;
}

/*
 * The lowest cost assumes that the prompt has one token per 5 bytes, and that all of it except the
 * last tenth is read from a cache. This is low but possible: the text of kernels has 3 to 4 bytes
 * per token.
 */
void kl_session_cost(int64_t *least, int64_t *most, const struct kl_session *session,
		     int64_t request_bytes, int64_t reply_tokens)
{
	int64_t fixed, per_token, tokens = request_bytes / 5;
	struct kl_usage usage = { .known = true, .input = tokens / 10, .output = reply_tokens };
	const struct kl_rates *rates;

	*least = *most = 0;
	if (!session->price)
		return;
	rates = &session->price->rates;
	*(rates->cache_read < rates->input ? &usage.cache_read : &usage.input) += tokens -
										  tokens / 10;
	*least = kl_rates_cost(rates, &usage, 1000);
	kl_price_worst(&fixed, &per_token, session->price,
		       session->cache == KL_CACHE_AUTO ? KL_CACHE_1H :
							 (enum kl_cache_ttl)session->cache,
		       request_bytes);
	*most = fixed + per_token * reply_tokens;
}

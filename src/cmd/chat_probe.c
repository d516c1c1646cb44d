/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/chat_probe.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "model/money.h"
#include "model/probe.h"
#include "model/provider/flaw.h"
#include "model/provider/usage.h"
#include "model/turn.h"

/*
 * names of the ways in which a cost is known; the cost of a probe is never estimated or open,
 * because its reply is complete
 */
static const char *const by_name[] = {
	[KL_COST_COUNTED] = "counted",
	[KL_COST_RESERVED] = "reserved",
	[KL_COST_IMPLAUSIBLE] = "implausible",
};

static const char *cache_word(const struct kl_usage *usage)
{
	if (!usage->known)
		return "unknown";
	if (usage->cache_read)
		return "read";
	return usage->cache_write_5m + usage->cache_write_1h ? "written" : "unused";
}

/* --- as JSON ------------------------------------------------------------------------- */

static void print_json(const struct kl_probe *probe)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.probe/1");
	kl_json_set_bool(value, "works", kl_probe_works(probe));
	kl_json_set_str(value, "provider", probe->provider);
	kl_json_set_str(value, "url", probe->url);
	kl_json_set_str(value, "model", probe->model);
	kl_json_set_str(value, "answered", probe->reply.model);
	kl_json_set_str(value, "stop", kl_stop_name(probe->reply.stop));
	kl_json_set_str(value, "flaw", probe->reply.flaw ? kl_flaw_name(probe->reply.flaw) : NULL);
	kl_json_set_int(value, "ms", probe->ms);
	kl_json_set(value, "usage", kl_usage_json(&probe->reply.usage));
	kl_json_set_str(value, "cache", cache_word(&probe->reply.usage));
	kl_json_set_int(value, "nano", probe->nano);
	kl_json_set_str(value, "by", probe->price ? by_name[probe->by] : NULL);
	kl_json_set_str(value, "price", probe->price);
	kl_listing_put(value);
}

/* --- as text -------------------------------------------------------------------------- */

static void print_reply(const struct kl_probe *probe)
{
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;

	if (probe->reply.flaw == KL_FLAW_NONE) {
		printf("reply:    complete after %lld ms\n", (long long)probe->ms);
		return;
	}
	kl_flaw_explain(&why, probe->reply.flaw, KL_PROBE_TOKENS);
	printf("reply:    cannot be used: %s\n", why.ptr);
}

static void print_tokens(const struct kl_probe *probe)
{
	const struct kl_usage *usage = &probe->reply.usage;

	if (usage->known)
		printf("tokens:   %lld in, %lld out\n", (long long)kl_usage_prompt(usage),
		       (long long)usage->output);
	else if (probe->by == KL_COST_IMPLAUSIBLE)
		puts("tokens:   the provider's counts cannot be right");
	else
		puts("tokens:   the provider does not report them");
}

static void print_cache(const struct kl_usage *usage)
{
	int64_t prompt = kl_usage_prompt(usage);

	if (!usage->known)
		puts("cache:    unknown");
	else if (usage->cache_read)
		printf("cache:    hit: %lld of %lld tokens were read from it (%lld %%)\n",
		       (long long)usage->cache_read, (long long)prompt,
		       (long long)(100 * usage->cache_read / prompt));
	else if (usage->cache_write_5m + usage->cache_write_1h)
		printf("cache:    not hit, but %lld of %lld tokens were written to it; a second probe "
		       "should read them\n",
		       (long long)(usage->cache_write_5m + usage->cache_write_1h),
		       (long long)prompt);
	else
		puts("cache:    not hit; a second probe can hit it, unless the model caches longer "
		     "prompts only");
}

static void print_cost(const struct kl_probe *probe)
{
	char money[KL_MONEY_TEXT];

	if (!probe->price) {
		puts("cost:     not metered");
		return;
	}
	kl_money_text(money, probe->nano);
	printf("cost:     %s%s (price: %s)\n", money,
	       probe->by == KL_COST_COUNTED ? "" : ", as reserved", probe->price);
}

static void print_text(const struct kl_probe *probe)
{
	const char *answered = probe->reply.model;

	printf("provider: %s%s%s\n", probe->provider, probe->url ? ", " : "",
	       probe->url ? probe->url : "");
	printf("model:    %s", probe->model);
	if (answered && strcmp(answered, probe->model))
		printf(" (%s answered)", answered);
	putchar('\n');
	print_reply(probe);
	print_tokens(probe);
	print_cache(&probe->reply.usage);
	print_cost(probe);
}

int kl_chat_probe_say(struct kl_repo *repo, bool json)
{
	KL_AUTO(kl_probe_release) struct kl_probe probe;
	int err = kl_probe_run(&probe, repo);

	if (err < 0)
		return err;
	if (json)
		print_json(&probe);
	else
		print_text(&probe);
	if (kl_probe_works(&probe))
		return 0;
	err = kl_error(KL_ENO, "model '%s' replied, but the reply or its token counts are unusable",
		       probe.model);
	if (!probe.reply.usage.known && probe.price)
		kl_error_hint(err, "without token counts each request costs what was reserved for "
				   "it; see klineage.provider.<name>.usage");
	return err;
}

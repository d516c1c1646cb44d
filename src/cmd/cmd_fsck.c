/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fsck - git klineage fsck: checks everything that lies in refs */
#include <stdlib.h>
#include <string.h>

#include "card/library.h"
#include "cmd/cmd.h"
#include "cmd/listing.h"
#include "cmd/opt.h"
#include "fsck/check.h"
#include "fsck/check_card_commit.h"
#include "text/json.h"

static const char synopsis[] = "fsck [<options>]";

static void print_finding(enum kl_check_severity s, const char *where, const char *what,
			  void *payload)
{
	json_t *list = payload, *j;

	if (!list) {
		printf("%s: ", s == KL_CHECK_ERROR ? "error" : "warning");
		/* a reader's own message begins with the place */
		if (strncmp(what, where, strlen(where)))
			printf("%s: ", where);
		puts(what);
		return;
	}
	j = json_object();
	kl_json_set_str(j, "severity", s == KL_CHECK_ERROR ? "error" : "warning");
	kl_json_set_str(j, "where", where);
	kl_json_set_str(j, "what", what);
	json_array_append_new(list, j);
}

static void on_card(const struct kl_library_finding *f, void *payload)
{
	struct kl_check *c = payload;

	*(f->error ? &c->errors : &c->warnings) += 1;
	print_finding(f->error ? KL_CHECK_ERROR : KL_CHECK_WARNING, f->where, f->what, c->payload);
}

static int check_cards(size_t *cards, struct kl_check *c)
{
	KL_AUTO(kl_library_freep) struct kl_library *l = NULL;
	int err = kl_library_open(&l, c->repo);

	return err < 0 ? err : kl_library_check(cards, l, on_card, c);
}

static void print_listing(const struct kl_listing *out, const struct kl_check *c, size_t cards,
			  size_t chains, json_t *list)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();

	kl_json_set_str(j, "schema", "klineage.fsck/1");
	kl_json_set_int(j, "lineages", (int64_t)c->lineages);
	kl_json_set_int(j, "walks", (int64_t)c->walks);
	kl_json_set_int(j, "rejected", (int64_t)c->rejected);
	kl_json_set_int(j, "events", (int64_t)c->events);
	kl_json_set_int(j, "cards", (int64_t)cards);
	kl_json_set_int(j, "chains", (int64_t)chains);
	kl_json_set_int(j, "conversations", (int64_t)c->conversations);
	kl_json_set_int(j, "ledgers", (int64_t)c->ledgers);
	kl_json_set_int(j, "errors", (int64_t)c->errors);
	kl_json_set_int(j, "warnings", (int64_t)c->warnings);
	kl_json_set(j, "findings", list);
	kl_listing_print(out, j, "findings",
			 (const char *const[]){ "severity", "where", "what", NULL });
}

static const char *plural_s(size_t n)
{
	return n == 1 ? "" : "s";
}

static void print_sum(const struct kl_check *c, size_t cards, size_t chains)
{
	printf("%zu lineage%s, %zu walk%s, %zu ref%s of rejections, %zu events", c->lineages,
	       plural_s(c->lineages), c->walks, plural_s(c->walks), c->rejected,
	       plural_s(c->rejected), c->events);
	if (c->conversations || c->ledgers)
		printf(", %zu conversation%s, %zu ledger%s", c->conversations,
		       plural_s(c->conversations), c->ledgers, plural_s(c->ledgers));
	if (chains)
		printf(", %zu chain%s of what cards made", chains, plural_s(chains));
	printf(", %zu card%s: %zu error%s, %zu warning%s\n", cards, plural_s(cards), c->errors,
	       plural_s(c->errors), c->warnings, plural_s(c->warnings));
}

int cmd_fsck(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct kl_listing out = { 0 };
	const struct kl_opt opts[] = { KL_OPT_LISTING(&out), KL_OPT_END };
	struct kl_check c = { .repo = ctx->repo, .report = print_finding };
	size_t cards = 0, chains = 0;
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc)
		return kl_opt_usage(synopsis, "fsck takes no argument");
	if ((err = kl_listing_check(&out, synopsis)) < 0)
		return err;
	if (kl_listing_asked(&out))
		c.payload = json_array();
	if ((err = kl_check_run(&c)) < 0 || (err = check_cards(&cards, &c)) < 0 ||
	    (err = kl_made_check(&chains, c.repo, on_card, &c)) < 0)
		return err;
	if (kl_listing_asked(&out))
		print_listing(&out, &c, cards, chains, c.payload);
	else
		print_sum(&c, cards, chains);
	return c.errors ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_fsck - git klineage fsck: checks everything stored in refs */
#include <stdlib.h>

#include "base/prefix.h"
#include "card/library.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cmd.h"
#include "fsck/check.h"
#include "fsck/check_card_commit.h"
#include "text/json.h"

static const char synopsis[] = "fsck [<options>]";

static void print_finding(enum kl_check_severity severity, const char *where, const char *what,
			  void *payload)
{
	json_t *list = payload, *value;

	if (!list) {
		printf("%s: ", severity == KL_CHECK_ERROR ? "error" : "warning");
		/* the message of a parse error already starts with `where` */
		if (!kl_prefix_has(what, where))
			printf("%s: ", where);
		kl_out_line(stdout, what);
		putchar('\n');
		return;
	}
	value = json_object();
	kl_json_set_str(value, "severity", severity == KL_CHECK_ERROR ? "error" : "warning");
	kl_json_set_str(value, "where", where);
	kl_json_set_str(value, "what", what);
	json_array_append_new(list, value);
}

static void on_card(const struct kl_library_finding *finding, void *payload)
{
	struct kl_check *check = payload;

	*(finding->error ? &check->errors : &check->warnings) += 1;
	print_finding(finding->error ? KL_CHECK_ERROR : KL_CHECK_WARNING, finding->where,
		      finding->what, check->payload);
}

static int check_cards(size_t *cards, struct kl_check *check)
{
	KL_AUTO(kl_library_freep) struct kl_library *library = NULL;
	int err = kl_library_open(&library, check->repo);

	return err < 0 ? err : kl_library_check(cards, library, on_card, check);
}

static void print_listing(const struct kl_listing *out, const struct kl_check *check, size_t cards,
			  size_t chains, json_t *list)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();

	kl_json_set_str(value, "schema", "klineage.fsck/1");
	kl_json_set_int(value, "lineages", (int64_t)check->lineages);
	kl_json_set_int(value, "walks", (int64_t)check->walks);
	kl_json_set_int(value, "rejected", (int64_t)check->rejected);
	kl_json_set_int(value, "campaigns", (int64_t)check->campaigns);
	kl_json_set_int(value, "searches", (int64_t)check->searches);
	kl_json_set_int(value, "studies", (int64_t)check->studies);
	kl_json_set_int(value, "transplants", (int64_t)check->transplants);
	kl_json_set_int(value, "events", (int64_t)check->events);
	kl_json_set_int(value, "cards", (int64_t)cards);
	kl_json_set_int(value, "chains", (int64_t)chains);
	kl_json_set_int(value, "conversations", (int64_t)check->conversations);
	kl_json_set_int(value, "ledgers", (int64_t)check->ledgers);
	kl_json_set_int(value, "errors", (int64_t)check->errors);
	kl_json_set_int(value, "warnings", (int64_t)check->warnings);
	kl_json_set(value, "findings", list);
	kl_listing_print(out, value, "findings",
			 (const char *const[]){ "severity", "where", "what", NULL });
}

static const char *plural_s(size_t n)
{
	return n == 1 ? "" : "s";
}

static void print_sum(const struct kl_check *check, size_t cards, size_t chains)
{
	printf("%zu lineage%s, %zu walk%s, %zu ref%s of rejections, %zu events", check->lineages,
	       plural_s(check->lineages), check->walks, plural_s(check->walks), check->rejected,
	       plural_s(check->rejected), check->events);
	if (check->campaigns)
		printf(", %zu campaign%s", check->campaigns, plural_s(check->campaigns));
	if (check->searches)
		printf(", %zu search%s", check->searches, check->searches == 1 ? "" : "es");
	if (check->studies)
		printf(", %zu stud%s", check->studies, check->studies == 1 ? "y" : "ies");
	if (check->transplants)
		printf(", %zu chain%s of transplants", check->transplants,
		       plural_s(check->transplants));
	if (check->conversations || check->ledgers)
		printf(", %zu conversation%s, %zu ledger%s", check->conversations,
		       plural_s(check->conversations), check->ledgers, plural_s(check->ledgers));
	if (chains)
		printf(", %zu chain%s of card commits", chains, plural_s(chains));
	printf(", %zu card%s: %zu error%s, %zu warning%s\n", cards, plural_s(cards), check->errors,
	       plural_s(check->errors), check->warnings, plural_s(check->warnings));
}

int cmd_fsck(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	struct kl_listing out = { 0 };
	const struct kl_opt opts[] = { KL_OPT_LISTING(&out), KL_OPT_END };
	struct kl_check check = { .repo = ctx->repo, .report = print_finding };
	size_t cards = 0, chains = 0;
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc)
		return kl_opt_usage(synopsis, "fsck takes no arguments");
	if ((err = kl_listing_check(&out, synopsis)) < 0)
		return err;
	if (kl_listing_asked(&out))
		check.payload = json_array();
	if ((err = kl_check_run(&check)) < 0 || (err = check_cards(&cards, &check)) < 0 ||
	    (err = kl_check_card_commits(&chains, check.repo, on_card, &check)) < 0)
		return err;
	if (kl_listing_asked(&out))
		print_listing(&out, &check, cards, chains, check.payload);
	else
		print_sum(&check, cards, chains);
	return check.errors ? 1 : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor - git klineage doctor: checks what this machine and this clone have for verdicts */
#include <stdio.h>
#include <string.h>

#include "cmd/checkup.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/opt.h"
#include "cmd/cli/out.h"
#include "cmd/cmd.h"

static const char synopsis[] = "doctor [<options>] [--json | --porcelain [-z]]";

static enum kl_paint paint_of(enum kl_finding_state state)
{
	static const enum kl_paint paints[] = { KL_PAINT_PASS, KL_PAINT_RESET, KL_PAINT_WARN,
						KL_PAINT_FAIL };

	return paints[state];
}

static void print_finding(const struct kl_finding *finding, const struct kl_term *term)
{
	printf("%s%-4s%s  %-10s  ", kl_paint(term, paint_of(finding->state)),
	       kl_finding_state_name(finding->state), kl_paint(term, KL_PAINT_RESET),
	       finding->check);
	kl_out_fold(finding->text, 18, 18);
	putchar('\n');
	if (finding->mend) {
		printf("%18s", "");
		kl_out_line(stdout, finding->mend);
		putchar('\n');
	}
}

static void print_listing(const struct kl_checkup *checkup, const struct kl_listing *out)
{
	static const char *const fields[] = { "check", "state", "text", "mend", NULL };
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *list = json_array();

	kl_json_set_str(value, "schema", "klineage.doctor/1");
	kl_json_set_str(value, "worst", kl_finding_state_name(kl_checkup_worst(checkup)));
	for (size_t i = 0; i < checkup->n; i++) {
		json_t *finding = json_object();

		kl_json_set_str(finding, "check", checkup->v[i].check);
		kl_json_set_str(finding, "state", kl_finding_state_name(checkup->v[i].state));
		kl_json_set_str(finding, "text", checkup->v[i].text);
		kl_json_set_str(finding, "mend", checkup->v[i].mend);
		json_array_append_new(list, finding);
	}
	kl_json_set(value, "findings", list);
	kl_listing_print(out, value, "findings", fields);
}

int cmd_doctor(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_checkup_release) struct kl_checkup checkup = { 0 };
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_listing out = { 0 };
	bool clock = true;
	const struct kl_opt opts[] = { KL_OPT_BOOL('\0', "clock", &clock, "time a loop (default)"),
				       KL_OPT_LISTING(&out), KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if ((err = kl_listing_check(&out, synopsis)) < 0)
		return err;
	if (argc)
		return kl_opt_usage(synopsis, "doctor takes no argument");
	/* outside a repository, only the machine is checked */
	err = kl_repo_open(&repo);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if ((err = kl_checkup_run(&checkup, repo, clock)) < 0)
		return err;
	if (kl_listing_asked(&out)) {
		print_listing(&checkup, &out);
	} else {
		for (size_t i = 0; i < checkup.n; i++)
			print_finding(&checkup.v[i], &ctx->term);
	}
	return kl_checkup_worst(&checkup) == KL_FINDING_BAD;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_transplant - git klineage transplant: tries each step of a lineage at other states */
#include <stdio.h>

#include "cmd/cli/listing.h"
#include "cmd/cmd.h"
#include "cmd/transplant_print.h"
#include "cmd/transplant_session.h"
#include "transplant/transplant_file.h"

static const char synopsis[] = "transplant [<options>] [<workload>[/<name>]][:<step>]\n"
			       "transplant --export <file> [<workload>[/<name>]]\n"
			       "transplant --import <file> [<workload>[/<name>]]";

static void show_result(const struct kl_transplant_session *session,
			const struct kl_transplant_args *args)
{
	if (args->json) {
		KL_AUTO(json_decrefp) json_t *document = kl_transplant_json(&session->transplant,
									    args->within_ppm);

		kl_listing_put(document);
		return;
	}
	kl_transplant_print(&session->transplant, session->step, args->within_ppm);
}

struct judging {
	struct kl_transplant_session *session;
	struct kl_repo *repo;
};

static int judge_steps(void *payload)
{
	struct judging *judging = payload;

	return kl_transplant_judge(&judging->session->transplant, judging->repo,
				   &judging->session->opts);
}

static int transplant_steps(struct kl_transplant_session *session, struct kl_repo *repo,
			    const struct kl_transplant_args *args, const char *what)
{
	struct judging judging = { session, repo };
	int err = kl_transplant_session_open(session, repo, args, what);

	if (!err && !args->dry_run)
		err = kl_transplant_session_judge(session, judge_steps, &judging);
	kl_transplant_session_quiet(session);
	if (err < 0)
		return err;
	show_result(session, args);
	return kl_transplant_session_end(session);
}

/* Carry verdicts to a file, or from a file that another repository wrote. */
static int carry_verdicts(struct kl_repo *repo, const char *what, const char *to, const char *from)
{
	KL_AUTO(kl_transplant_session_close) struct kl_transplant_session session = { 0 };
	const struct kl_transplant_args dry = { .dry_run = true };
	struct kl_transplant *transplant = &session.transplant;
	size_t n = 0, left = 0;
	int err = kl_transplant_session_open(&session, repo, &dry, what);

	if (err < 0)
		return err;
	if (to)
		err = kl_transplant_file_write(&n, transplant, to);
	else
		err = kl_transplant_file_read(&n, &left, transplant, repo, from);
	if (err < 0)
		return err;
	printf("%s/%s: %zu verdict%s %s", transplant->view.workload, transplant->view.name, n,
	       n == 1 ? "" : "s", to ? "exported" : "imported");
	if (from)
		printf(", %zu already known or of other kernels", left);
	putchar('\n');
	return 0;
}

int cmd_transplant(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_transplant_session_close) struct kl_transplant_session session = { 0 };
	struct kl_transplant_args args = { 0 };
	const char *to = NULL, *from = NULL;
	const struct kl_opt opts[] = {
		KL_TRANSPLANT_OPTS(&args),
		KL_OPT_STR('\0', "export", &to, "<file>", "write the known verdicts to a file"),
		KL_OPT_STR('\0', "import", &from, "<file>",
			   "take over the verdicts of a file that --export wrote"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "one lineage can be given, not %d", argc);
	if ((err = kl_transplant_args_check(&args, synopsis)) < 0)
		return err;
	if (to && from)
		return kl_opt_usage(synopsis, "--export and --import cannot be used together");
	if (to || from)
		return carry_verdicts(ctx->repo, argc ? argv[0] : NULL, to, from);
	return transplant_steps(&session, ctx->repo, &args, argc ? argv[0] : NULL);
}

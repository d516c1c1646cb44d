/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_transplant - git klineage transplant: tries each step of a lineage at other states */
#include "cmd/cli/listing.h"
#include "cmd/cmd.h"
#include "cmd/transplant_print.h"
#include "cmd/transplant_session.h"

static const char synopsis[] = "transplant [<options>] [<workload>[/<name>]][:<step>]";

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

int cmd_transplant(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(kl_transplant_session_close) struct kl_transplant_session session = { 0 };
	struct kl_transplant_args args = { 0 };
	const struct kl_opt opts[] = { KL_TRANSPLANT_OPTS(&args), KL_OPT_END };
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err)
		return err > 0 ? 0 : err;
	if (argc > 1)
		return kl_opt_usage(synopsis, "one lineage can be given, not %d", argc);
	if ((err = kl_transplant_args_check(&args, synopsis)) < 0)
		return err;
	return transplant_steps(&session, ctx->repo, &args, argc ? argv[0] : NULL);
}

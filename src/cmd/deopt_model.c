/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/deopt_model.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "cmd/resume_args.h"
#include "model/money.h"
#include "rewrite/rewriter.h"

void kl_deopt_model_release(struct kl_deopt_model *model)
{
	kl_session_free(model->session);
	json_decref(model->kept);
	free(model->who);
	model->session = NULL;
	model->kept = NULL;
	model->who = NULL;
}

static char *kept_path(const struct kl_repo *repo)
{
	return kl_fs_join(kl_repo_git_dir(repo), "klineage/op.model");
}

/* --- choice ----------------------------------------------------------------- */

static int parse_rederive(const char **who, const char *word, const char *from)
{
	*who = NULL;
	if (!word || !strcmp(word, "none"))
		return 0;
	if (strcmp(word, "chat") && strcmp(word, "exec"))
		return kl_error(KL_EUSAGE, "%s takes chat, exec or none, not '%s'", from, word);
	*who = word;
	return 0;
}

static int check_options(const struct kl_deopt_model *model)
{
	if (!model->who && (model->exec || model->model || model->budget))
		return kl_error(KL_EUSAGE,
				"%s needs a walk with a model: --rewriter chat or exec, or "
				"--rederive",
				model->exec  ? "--exec" :
				model->model ? "--model" :
					       "--budget");
	if (model->exec && strcmp(model->who, "exec"))
		return kl_error(KL_EUSAGE,
				"--exec needs the rewriter 'exec', but this walk's model "
				"is '%s'",
				model->who);
	return 0;
}

int kl_deopt_model_choose(struct kl_deopt_model *model, const char **rederive,
			  const char *rewriters)
{
	const char *proposes = kl_rewriters_model(rewriters), *config, *derives;
	int err;

	config = *rederive ? NULL : kl_repo_config(model->repo, "klineage.rederive");
	if (*rederive)
		err = parse_rederive(&derives, *rederive, "--rederive");
	else if (config)
		err = parse_rederive(&derives, config, "config klineage.rederive");
	else
		err = parse_rederive(&derives, proposes, "");
	if (err < 0)
		return err;
	if (proposes && derives && strcmp(proposes, derives))
		return kl_error(KL_EUSAGE,
				"a walk uses one model: '%s' proposes, so '%s' cannot "
				"re-derive",
				proposes, derives);
	*rederive = derives;
	model->who = proposes || derives ? kl_strdup(proposes ? proposes : derives) : NULL;
	return check_options(model);
}

/* --- resuming ----------------------------------------------------------------- */

int kl_deopt_model_resume(struct kl_deopt_model *model)
{
	KL_AUTO(kl_freep) char *path = kept_path(model->repo);
	int err = check_options(model);

	return err < 0 || model->kept ? err : kl_said_load(&model->kept, path);
}

void kl_deopt_model_forget(struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kept_path(repo);

	unlink(path);
}

/* --- opening ------------------------------------------------------------------ */

static int open_session(struct kl_deopt_model *model, struct kl_session_opts *opts,
			const char *budget)
{
	int64_t cap;

	if (budget && *budget && !kl_money_parse(&cap, budget))
		return kl_error(KL_EUSAGE, "--budget takes US dollars, like 2.50, not '%s'",
				budget);
	opts->cap = budget && *budget ? &cap : NULL;
	return kl_session_open(&model->session, model->repo, opts);
}

int kl_deopt_model_look(struct kl_session **out, struct kl_deopt_model *model, const char *workload)
{
	struct kl_session_opts opts = {
		.workload = workload,
		.budget = KL_BUDGET_INDUCE,
		.pause_ms = model->pause_ms,
		.progress = model->progress,
	};
	const char *budget;
	int err;

	if (!model->kept)
		model->kept = json_object();
	opts.command = kl_said_word(model->kept, "exec", model->exec);
	opts.model = kl_said_word(model->kept, "model", model->model);
	budget = kl_said_word(model->kept, "budget", model->budget);
	if (model->who && !strcmp(model->who, "exec"))
		opts.provider = "exec";
	if (!model->session && (err = open_session(model, &opts, budget)) < 0)
		return err;
	*out = model->session;
	return 0;
}

int kl_deopt_model_open(struct kl_session **out, struct kl_deopt_model *model, const char *workload)
{
	KL_AUTO(kl_freep) char *path = kept_path(model->repo);
	int err = kl_deopt_model_look(out, model, workload);

	if (err < 0)
		return err;
	return model->begins || model->exec || model->model || model->budget ?
		       kl_said_keep(model->kept, path) :
		       0;
}

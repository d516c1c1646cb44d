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

void kl_deopt_model_release(struct kl_deopt_model *m)
{
	kl_session_free(m->session);
	json_decref(m->kept);
	free(m->who);
	m->session = NULL;
	m->kept = NULL;
	m->who = NULL;
}

static char *kept_path(const struct kl_repo *repo)
{
	return kl_fs_join(kl_repo_git_dir(repo), "klineage/op.model");
}

/* --- who -------------------------------------------------------------------- */

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

static int check_said(const struct kl_deopt_model *m)
{
	if (!m->who && (m->exec || m->model || m->budget))
		return kl_error(KL_EUSAGE,
				"%s is for a walk with a model: --rewriter chat or exec, "
				"or --rederive",
				m->exec  ? "--exec" :
				m->model ? "--model" :
					   "--budget");
	if (m->exec && strcmp(m->who, "exec"))
		return kl_error(KL_EUSAGE,
				"--exec is the command of the rewriter 'exec', and this "
				"walk's model is '%s'",
				m->who);
	return 0;
}

int kl_deopt_model_choose(struct kl_deopt_model *m, const char **rederive, const char *rewriters)
{
	const char *proposes = kl_rewriters_model(rewriters), *config, *derives;
	int err;

	config = *rederive ? NULL : kl_repo_config(m->repo, "klineage.rederive");
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
				"one model a walk: '%s' proposes, so '%s' cannot derive anew",
				proposes, derives);
	*rederive = derives;
	m->who = proposes || derives ? kl_strdup(proposes ? proposes : derives) : NULL;
	return check_said(m);
}

/* --- what was said ------------------------------------------------------------ */

int kl_deopt_model_resume(struct kl_deopt_model *m)
{
	KL_AUTO(kl_freep) char *path = kept_path(m->repo);
	int err = check_said(m);

	return err < 0 || m->kept ? err : kl_said_load(&m->kept, path);
}

void kl_deopt_model_forget(struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kept_path(repo);

	unlink(path);
}

/* --- opening ------------------------------------------------------------------ */

static int open_it(struct kl_deopt_model *m, struct kl_session_opts *o, const char *budget)
{
	int64_t cap;

	if (budget && *budget && !kl_money_parse(&cap, budget))
		return kl_error(KL_EUSAGE, "--budget takes US dollars, like 2.50, not '%s'",
				budget);
	o->cap = budget && *budget ? &cap : NULL;
	return kl_session_open(&m->session, m->repo, o);
}

int kl_deopt_model_look(struct kl_session **out, struct kl_deopt_model *m, const char *workload)
{
	struct kl_session_opts o = {
		.workload = workload,
		.budget = KL_BUDGET_INDUCE,
		.pause_ms = m->pause_ms,
		.progress = m->progress,
	};
	const char *budget;
	int err;

	if (!m->kept)
		m->kept = json_object();
	o.command = kl_said_word(m->kept, "exec", m->exec);
	o.model = kl_said_word(m->kept, "model", m->model);
	budget = kl_said_word(m->kept, "budget", m->budget);
	if (m->who && !strcmp(m->who, "exec"))
		o.provider = "exec";
	if (!m->session && (err = open_it(m, &o, budget)) < 0)
		return err;
	*out = m->session;
	return 0;
}

int kl_deopt_model_open(struct kl_session **out, struct kl_deopt_model *m, const char *workload)
{
	KL_AUTO(kl_freep) char *path = kept_path(m->repo);
	int err = kl_deopt_model_look(out, m, workload);

	if (err < 0)
		return err;
	return m->begins || m->exec || m->model || m->budget ? kl_said_keep(m->kept, path) : 0;
}

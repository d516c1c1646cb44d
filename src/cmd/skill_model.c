/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/skill_model.h"

#include <string.h>

#include "base/error.h"
#include "cmd/opt.h"
#include "model/money.h"

void kl_skill_model_release(struct kl_skill_model *m)
{
	kl_session_free(m->session);
	m->session = NULL;
}

bool kl_skill_model_is(const struct kl_skill_model *m)
{
	return m->rewriter && strcmp(m->rewriter, "none");
}

int kl_skill_model_check(struct kl_skill_model *m, const char *synopsis)
{
	int64_t cap;

	if (m->rewriter && strcmp(m->rewriter, "chat") && strcmp(m->rewriter, "exec") &&
	    strcmp(m->rewriter, "none"))
		return kl_opt_usage(synopsis, "--rewriter takes chat, exec or none, not '%s'",
				    m->rewriter);
	if (!kl_skill_model_is(m) && (m->exec || m->model || m->budget))
		return kl_opt_usage(synopsis, "%s is for a model: --rewriter chat or exec",
				    m->exec  ? "--exec" :
				    m->model ? "--model" :
					       "--budget");
	if (m->exec && strcmp(m->rewriter, "exec"))
		return kl_opt_usage(synopsis, "--exec is the command of --rewriter exec");
	if (m->budget && !kl_money_parse(&cap, m->budget))
		return kl_opt_usage(synopsis, "--budget takes US dollars, like 2.50, not '%s'",
				    m->budget);
	return 0;
}

int kl_skill_model_open(struct kl_session **out, struct kl_skill_model *m, const char *workload)
{
	int64_t cap = 0;
	struct kl_session_opts o = {
		.provider = strcmp(m->rewriter, "exec") ? NULL : "exec",
		.command = m->exec,
		.model = m->model,
		.workload = workload,
		.budget = m->of,
		.progress = m->progress,
	};
	int err = 0;

	if (m->budget && kl_money_parse(&cap, m->budget))
		o.cap = &cap;
	if (!m->session)
		err = kl_session_open(&m->session, m->repo, &o);
	*out = m->session;
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/skill_model.h"

#include <string.h>

#include "base/error.h"
#include "cmd/cli/opt.h"
#include "model/money.h"

void kl_skill_model_release(struct kl_skill_model *model)
{
	kl_session_free(model->session);
	model->session = NULL;
}

bool kl_skill_model_is(const struct kl_skill_model *model)
{
	return model->rewriter && strcmp(model->rewriter, "none");
}

int kl_skill_model_check(struct kl_skill_model *model, const char *synopsis)
{
	int64_t cap;

	if (model->rewriter && strcmp(model->rewriter, "chat") && strcmp(model->rewriter, "exec") &&
	    strcmp(model->rewriter, "none"))
		return kl_opt_usage(synopsis, "--rewriter takes chat, exec or none, not '%s'",
				    model->rewriter);
	if (!kl_skill_model_is(model) && (model->exec || model->model || model->budget))
		return kl_opt_usage(synopsis, "%s needs --rewriter chat or exec",
				    model->exec  ? "--exec" :
				    model->model ? "--model" :
						   "--budget");
	if (model->exec && strcmp(model->rewriter, "exec"))
		return kl_opt_usage(synopsis, "--exec needs --rewriter exec");
	if (model->budget && !kl_money_parse(&cap, model->budget))
		return kl_opt_usage(synopsis, "--budget takes US dollars, like 2.50, not '%s'",
				    model->budget);
	return 0;
}

int kl_skill_model_open(struct kl_session **out, struct kl_skill_model *model, const char *workload)
{
	int64_t cap = 0;
	struct kl_session_opts opts = {
		.provider = strcmp(model->rewriter, "exec") ? model->provider : "exec",
		.answer = model->answer,
		.payload = model->payload,
		.command = model->exec,
		.model = model->model,
		.workload = workload,
		.purse = model->purse,
		.budget = model->of,
		.progress = model->progress,
	};
	int err = 0;

	if (model->budget && kl_money_parse(&cap, model->budget))
		opts.cap = &cap;
	if (!model->session)
		err = kl_session_open(&model->session, model->repo, &opts);
	*out = model->session;
	return err;
}

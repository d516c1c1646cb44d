/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_SKILL_MODEL_H
#define KL_CMD_SKILL_MODEL_H

#include "base/progress.h"
#include "model/session.h"
#include "repo/repo.h"

/*
 * skill_model - options that choose the model of `admit` and `materialize`: provider, command,
 * model and budget. These verbs use a model only if --rewriter names one. (A walk can also get its
 * model from the configuration.)
 */
struct kl_skill_model {
	const char *rewriter, *exec, *model, *budget; /* as given; NULL if not given */
	struct kl_repo *repo;
	struct kl_progress *progress;
	enum kl_budget of; /* the budget to spend from */
	const char *purse; /* name of a search, whose purse is used; NULL if there is none */
	/* provider of the rewriter `chat`, with its function; NULL: the configured provider */
	const char *provider;
	int (*answer)(char **text, const void *about, void *payload);
	void *payload;
	/* private */
	struct kl_session *session;
};

/**
 * The four options, for an option table; `money` is the budget's name, "induce" or "materialize",
 * and must match `of`.
 */
#define KL_SKILL_MODEL_OPTS(m, money)                                                           \
	KL_OPT_STR('\0', "rewriter", &(m)->rewriter, "<who>",                                   \
		   "let a model make edits: chat or exec (default: none)"),                     \
		KL_OPT_STR('\0', "exec", &(m)->exec, "<command>", "run this command for exec"), \
		KL_OPT_STR('\0', "model", &(m)->model, "<name>",                                \
			   "use this model for chat and exec (default: klineage.chat.model)"),  \
		KL_OPT_STR('\0', "budget", &(m)->budget, "<usd>",                               \
			   "limit what the workload may cost (default: klineage.budget." money  \
			   ")")

void kl_skill_model_release(struct kl_skill_model *model);

/** Check the options. Return KL_EUSAGE if they are invalid or contradict each other. */
int kl_skill_model_check(struct kl_skill_model *model, const char *synopsis);
/** Return true if a model was chosen. */
bool kl_skill_model_is(const struct kl_skill_model *model);
/** Open the session if it is not open yet. `model` owns the session. */
int kl_skill_model_open(struct kl_session **out, struct kl_skill_model *model,
			const char *workload);

#endif

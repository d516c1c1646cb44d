/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_DEOPT_MODEL_H
#define KL_CMD_DEOPT_MODEL_H

#include "base/progress.h"
#include "model/session.h"
#include "repo/repo.h"
#include "text/json.h"

/*
 * deopt_model - options that choose the model of a walk: provider, command, model and budget.
 *
 * The options given when a walk starts also hold for every later --continue. They are kept in this
 * worktree's git directory (klineage/op.model, docs/formats.md, "Refs"), and trusted like the
 * configuration there. They are never stored in a git object, so a clone or fetch cannot bring in a
 * command or a budget.
 */
struct kl_deopt_model {
	const char *exec, *model, *budget; /* options given now; NULL: not given */
	struct kl_repo *repo;
	struct kl_progress *progress;
	int64_t pause_ms; /* expected pause between two turns; 0: unknown */
	bool begins;      /* a new operation is being started */
	char *who;        /* "chat" or "exec"; NULL: the walk has no model */
	/* private */
	json_t *kept;
	struct kl_session *session;
};

void kl_deopt_model_release(struct kl_deopt_model *model);

/**
 * Choose the model that proposes steps and the model that re-derives them, and set `who`.
 * `*rederive` is the value of --rederive: "chat", "exec" or "none"; NULL: use the configured model;
 * if none is configured, the model that proposes. On return, `*rederive` is the model that
 * re-derives; NULL: no step is re-derived. KL_EUSAGE: two different models in one walk, or a model
 * option in a walk without a model.
 */
int kl_deopt_model_choose(struct kl_deopt_model *model, const char **rederive,
			  const char *rewriters);
/**
 * Load the options of the operation in progress, and check the options given now; `who` must be
 * set.
 */
int kl_deopt_model_resume(struct kl_deopt_model *model);

/**
 * Open the session if it is not open yet, and do not store the options. `model` owns the session.
 */
int kl_deopt_model_look(struct kl_session **out, struct kl_deopt_model *model,
			const char *workload);
/**
 * Open the session like kl_deopt_model_look(), then store the options if an operation starts or any
 * option is given.
 */
int kl_deopt_model_open(struct kl_session **out, struct kl_deopt_model *model,
			const char *workload);
/** Delete the stored options when an operation ends. */
void kl_deopt_model_forget(struct kl_repo *repo);

#endif

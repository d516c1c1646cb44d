/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_DEOPT_MODEL_H
#define KL_CMD_DEOPT_MODEL_H

#include "base/progress.h"
#include "model/session.h"
#include "repo/repo.h"
#include "text/json.h"

/*
 * deopt_model - options that choose the model of a walk: who, by which command, for how much.
 *
 * What was said at the start holds for every --continue. It is kept in this worktree's git
 * directory (klineage/op.model, docs/formats.md, "Refs"), beside the configuration and as trusted
 * as that, and never in an object: a clone or a fetch brings no command here, nor a budget.
 */
struct kl_deopt_model {
	const char *exec, *model, *budget; /* as said now; NULL: not */
	struct kl_repo *repo;
	struct kl_progress *progress;
	int64_t pause_ms; /* session.h */
	bool begins;      /* the operation is about to begin */
	char *who;        /* "chat" or "exec"; NULL: the walk has no model */
	/* private */
	json_t *kept;
	struct kl_session *session;
};

void kl_deopt_model_release(struct kl_deopt_model *model);

/**
 * Who proposes and who derives anew. `*rederive` is what was asked for: "chat", "exec", "none", or
 * NULL (configuration, else who proposes); it becomes who does, or NULL. KL_EUSAGE: two models in
 * one walk, or something said of a model where there is none.
 */
int kl_deopt_model_choose(struct kl_deopt_model *model, const char **rederive,
			  const char *rewriters);
/**
 * Of the operation in progress, `who` being set: what was said at its start, and what is said now.
 */
int kl_deopt_model_resume(struct kl_deopt_model *model);

/** Open the conversation to look at its figures; nothing is kept. */
int kl_deopt_model_look(struct kl_session **out, struct kl_deopt_model *model,
			const char *workload);
/** Open the conversation, once; at the beginning of an operation keep what was said. */
int kl_deopt_model_open(struct kl_session **out, struct kl_deopt_model *model,
			const char *workload);
/** The operation is over: forget what was said; the next one would anyway. */
void kl_deopt_model_forget(struct kl_repo *repo);

#endif

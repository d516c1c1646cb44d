/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_OPTIONS_H
#define KL_MODEL_OPTIONS_H

#include "model/provider/message.h"
#include "repo/repo.h"

/*
 * options - how a model is asked to work: effort, service tier, temperature and further members of
 * a request. Each is read from klineage.chat.<role>.<option>, else from klineage.chat.<option>. The
 * role is the first word of a conversation's phase: "back", "forward", "traits", "lift" ...
 */
struct kl_model_options {
	char *effort, *tier; /* or NULL */
	json_t *extra;       /* an object with the temperature and the further members, or NULL */
};

/** KL_EINVALID: a value is malformed, or a member is one that the request has anyway. */
int kl_model_options_read(struct kl_model_options *out, struct kl_repo *repo, const char *phase);
void kl_model_options_release(struct kl_model_options *options);

/** The options that are set, as canonical JSON, owned by the caller; NULL if none is set. */
char *kl_model_options_text(const struct kl_model_options *options);

#endif

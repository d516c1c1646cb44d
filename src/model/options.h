/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_OPTIONS_H
#define KL_MODEL_OPTIONS_H

#include "model/provider/message.h"
#include "repo/repo.h"

/*
 * options - how the user wants a model to work: effort, service tier, temperature, and the members
 * that the user adds to requests (option `extra`). Each option is read from
 * klineage.chat.<role>.<option> or, if that is not set, from klineage.chat.<option>. The role is
 * the first word of a conversation's phase: "back", "forward", "traits", "lift" ...
 */
struct kl_model_options {
	char *effort, *tier; /* or NULL */
	/* an object with the temperature and the members that the user adds, or NULL */
	json_t *extra;
};

/**
 * Read the options for conversations of this phase. Return KL_EINVALID if a value is malformed, or
 * the user adds a member that every request already has.
 */
int kl_model_options_read(struct kl_model_options *out, struct kl_repo *repo, const char *phase);
void kl_model_options_release(struct kl_model_options *options);

/** Return the options that are set as canonical JSON, owned by the caller; NULL if none is set. */
char *kl_model_options_text(const struct kl_model_options *options);

#endif

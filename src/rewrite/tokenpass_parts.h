/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TOKENPASS_PARTS_H
#define KL_REWRITE_TOKENPASS_PARTS_H

#include "rewrite/tokenpass.h"

/* tokenpass_parts - what the files of tokenpass share. Inside src/rewrite only. */

/** Words of directive `i`, one blank between them: "#pragma GCC unroll 8". Appended to `out`. */
void kl_tokenpass_directive(struct kl_buf *out, const struct kl_ctokens *tokens, size_t i);

/* Passes of CUDA, as kl_tokenpass.find; templates/passes/passes.yaml says what they are for. */
void kl_tokenpass_drop_bounds(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_roll_loop(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scalar_load(struct kl_cedits *out, const struct kl_ctokens *tokens);

#endif

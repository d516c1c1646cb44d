/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TOKENPASS_PARTS_H
#define KL_REWRITE_TOKENPASS_PARTS_H

#include "rewrite/pass/tokenpass.h"

/* tokenpass_parts - functions that the files tokenpass*.c share. Private to src/rewrite. */

/** Append directive `i` with single blanks between words: "#pragma GCC unroll 8". */
void kl_tokenpass_directive(struct kl_buf *out, const struct kl_ctokens *tokens, size_t i);

/* `find` of the pass scalar-lanes. */
void kl_tokenpass_scalar_lanes(struct kl_cedits *out, const struct kl_ctokens *tokens);

/* Each is `find` of a pass for CUDA; templates/passes/passes.yaml describes the passes. */
void kl_tokenpass_drop_bounds(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_roll_loop(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_even_registers(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_plain_copy(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_plain_operand(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scatter_store(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scalar_product(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scalar_group_product(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scalar_load(struct kl_cedits *out, const struct kl_ctokens *tokens);

#endif

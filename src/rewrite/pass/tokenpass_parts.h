/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TOKENPASS_PARTS_H
#define KL_REWRITE_TOKENPASS_PARTS_H

#include "rewrite/pass/tokenpass.h"

/* tokenpass_parts - functions that the files tokenpass*.c share. Private to src/rewrite. */

/** Append directive `i` with single blanks between words: "#pragma GCC unroll 8". */
void kl_tokenpass_directive(struct kl_buf *out, const struct kl_ctokens *tokens, size_t i);

/**
 * Check that a directive, or the string of a _Pragma, forbids to unroll a loop: "#pragma unroll 1".
 */
bool kl_tokenpass_forbids_unroll(const char *words);

/* Each is `find` of a pass; templates/passes/passes.yaml describes the passes. */
void kl_tokenpass_count_by_loop(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_no_guess(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_rebranch(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_reroll(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scalar_lanes(struct kl_cedits *out, const struct kl_ctokens *tokens);

/* The same, of passes for CUDA. */
void kl_tokenpass_drop_bounds(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_roll_loop(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_even_registers(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_plain_copy(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_plain_operand(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scatter_store(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scalar_product(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scalar_group_product(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_drop_cache_hint(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_copy_at_once(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_exact_math(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_unpad(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_drop_swizzle(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_unshuffle(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_unballot(struct kl_cedits *out, const struct kl_ctokens *tokens);
void kl_tokenpass_scalar_load(struct kl_cedits *out, const struct kl_ctokens *tokens);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_C_TYPE_H
#define KL_CONTRACT_C_TYPE_H

#include "base/vec.h"
#include "plan/lexer.h"

/*
 * c_type - finds the element type that contracts have for a C type. The type is given as a list of
 * its words ("unsigned", "char"). Known are the types of C, of <stdint.h> and <stddef.h>, common
 * short names ("u32"), and the typedefs of the source itself.
 */

/** Return true if a word in capitals, such as "EXPORT", is probably a macro and not a type. */
bool kl_c_type_is_macro(const char *word);
/**
 * Return the name of the element type, such as "u8" or "bool". If no type fits, leave out the words
 * that are probably macros, and try again. Return NULL if still no type fits.
 */
const char *kl_c_type_dtype(const struct kl_tokens *tokens, const struct kl_strvec *words);

/** Return true if an oracle can use the type: it is a type of C, <stdint.h> or <stddef.h>. */
bool kl_c_type_is_standard(const struct kl_strvec *words);
/**
 * Return the C type of an element type; for integers, the type of <stdint.h>, such as "uint8_t".
 */
const char *kl_c_type_name(const char *dtype);

#endif

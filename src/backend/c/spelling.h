/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_SPELLING_H
#define KL_BACKEND_C_SPELLING_H

#include <stdbool.h>

/*
 * spelling - finds spellings of C that plan/lexer.h does not read as a compiler does.
 */

/**
 * Return true if the lexer splits the preprocessed text as a compiler does. Return false in doubt:
 * if the text has a raw string, a digraph, a trigraph, a comment, a name with characters that are
 * not ASCII, a backslash outside strings, _Pragma, a digit separator, a string that does not end in
 * its line, or brackets that do not match.
 */
bool kl_spelling_is_plain(const char *text);

#endif

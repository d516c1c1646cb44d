/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_token - tokens of PTX */
#include <ctype.h>
#include <string.h>

#include "backend/cuda/ptx_parts.h"
#include "base/error.h"

int kl_ptx_bad(const struct kl_ptx_reader *r, const char *what)
{
	return kl_error(KL_ENO, "the PTX is not what a compiler makes: %s, at line %zu", what,
			r->line);
}

static bool starts_name(char c)
{
	return isalpha((unsigned char)c) || strchr("_$%.", c);
}

/* "%tid.x" and "ld.global.L1::no_allocate.u32" are one token, "0f3F800000" and "12" a number. */
static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

static int skip_space(struct kl_ptx_reader *r)
{
	while (r->at < r->end) {
		if (*r->at == '\n')
			r->line++;
		if (isspace((unsigned char)*r->at)) {
			r->at++;
		} else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '/') {
			while (r->at < r->end && *r->at != '\n')
				r->at++;
		} else if (r->end - r->at > 1 && r->at[0] == '/' && r->at[1] == '*') {
			for (r->at += 2; r->end - r->at > 1 && (r->at[0] != '*' || r->at[1] != '/');
			     r->at++)
				r->line += *r->at == '\n';
			if (r->end - r->at < 2)
				return kl_ptx_bad(r, "a comment without an end");
			r->at += 2;
		} else {
			break;
		}
	}
	return 0;
}

static int read_string(struct kl_ptx_reader *r)
{
	const char *from = r->at++;

	while (r->at < r->end && *r->at != '"' && *r->at != '\n')
		r->at += *r->at == '\\' && r->end - r->at > 1 ? 2 : 1;
	if (r->at >= r->end || *r->at != '"')
		return kl_ptx_bad(r, "a string without an end");
	r->at++;
	r->t = (struct kl_ptx_token){ KL_PTX_STRING, from, (size_t)(r->at - from) };
	return 0;
}

int kl_ptx_next(struct kl_ptx_reader *r)
{
	int err = skip_space(r);
	const char *from = r->at;

	if (err < 0)
		return err;
	if (from == r->end) {
		r->t = (struct kl_ptx_token){ KL_PTX_END, from, 0 };
		return 0;
	}
	if (*from == '"')
		return read_string(r);
	if (starts_name(*from) || isdigit((unsigned char)*from)) {
		while (r->at < r->end) {
			if (r->end - r->at > 2 && r->at[0] == ':' && r->at[1] == ':' &&
			    isalnum((unsigned char)r->at[2]))
				r->at += 2;
			else if (!in_name(*r->at))
				break;
			r->at++;
		}
		r->t = (struct kl_ptx_token){ isdigit((unsigned char)*from) ? KL_PTX_NUMBER :
									      KL_PTX_NAME,
					      from, (size_t)(r->at - from) };
		return 0;
	}
	if (!strchr("@!{}()[]<>,;:+-*/=&|^~?", *from))
		return kl_ptx_bad(r, "a character that has no place in it");
	r->at++;
	r->t = (struct kl_ptx_token){ KL_PTX_PUNCT, from, 1 };
	return 0;
}

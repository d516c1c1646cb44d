/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_token - splits PTX into tokens */
#include <ctype.h>
#include <string.h>

#include "backend/cuda/ptx_parts.h"
#include "base/error.h"

int kl_ptx_bad(const struct kl_ptx_reader *reader, const char *what)
{
	return kl_error(KL_ENO,
			"the PTX does not have the form that a compiler writes: %s, at line %zu",
			what, reader->line);
}

static bool starts_name(char ch)
{
	return isalpha((unsigned char)ch) || strchr("_$%.", ch);
}

/*
 * Return true if the character can continue a name or a number. Names are single tokens with all
 * modifiers, such as "%tid.x" and "ld.global.L1::no_allocate.u32"; numbers are "0f3F800000" and
 * "12".
 */
static bool in_name(char ch)
{
	return isalnum((unsigned char)ch) || ch == '_' || ch == '$' || ch == '.' || ch == '%';
}

static int skip_space(struct kl_ptx_reader *reader)
{
	while (reader->at < reader->end) {
		if (*reader->at == '\n')
			reader->line++;
		if (isspace((unsigned char)*reader->at)) {
			reader->at++;
		} else if (reader->end - reader->at > 1 && reader->at[0] == '/' &&
			   reader->at[1] == '/') {
			while (reader->at < reader->end && *reader->at != '\n')
				reader->at++;
		} else if (reader->end - reader->at > 1 && reader->at[0] == '/' &&
			   reader->at[1] == '*') {
			for (reader->at += 2; reader->end - reader->at > 1 &&
					      (reader->at[0] != '*' || reader->at[1] != '/');
			     reader->at++)
				reader->line += *reader->at == '\n';
			if (reader->end - reader->at < 2)
				return kl_ptx_bad(reader, "a comment without an end");
			reader->at += 2;
		} else {
			break;
		}
	}
	return 0;
}

static int read_string(struct kl_ptx_reader *reader)
{
	const char *from = reader->at++;

	while (reader->at < reader->end && *reader->at != '"' && *reader->at != '\n')
		reader->at += *reader->at == '\\' && reader->end - reader->at > 1 ? 2 : 1;
	if (reader->at >= reader->end || *reader->at != '"')
		return kl_ptx_bad(reader, "a string without an end");
	reader->at++;
	reader->t = (struct kl_ptx_token){ KL_PTX_STRING, from, (size_t)(reader->at - from) };
	return 0;
}

int kl_ptx_next(struct kl_ptx_reader *reader)
{
	int err = skip_space(reader);
	const char *from = reader->at;

	if (err < 0)
		return err;
	if (from == reader->end) {
		reader->t = (struct kl_ptx_token){ KL_PTX_END, from, 0 };
		return 0;
	}
	if (*from == '"')
		return read_string(reader);
	if (starts_name(*from) || isdigit((unsigned char)*from)) {
		while (reader->at < reader->end) {
			if (reader->end - reader->at > 2 && reader->at[0] == ':' &&
			    reader->at[1] == ':' && isalnum((unsigned char)reader->at[2]))
				reader->at += 2;
			else if (!in_name(*reader->at))
				break;
			reader->at++;
		}
		reader->t = (struct kl_ptx_token){ isdigit((unsigned char)*from) ? KL_PTX_NUMBER :
										   KL_PTX_NAME,
						   from, (size_t)(reader->at - from) };
		return 0;
	}
	if (!strchr("@!{}()[]<>,;:+-*/=&|^~?", *from))
		return kl_ptx_bad(reader, "an unexpected character");
	reader->at++;
	reader->t = (struct kl_ptx_token){ KL_PTX_PUNCT, from, 1 };
	return 0;
}

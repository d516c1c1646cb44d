/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/pragmas.h"

#include <string.h>

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* Skip blanks and a word; NULL if another word comes next. */
static const char *skip_word(const char *at, const char *end, const char *word)
{
	size_t n = strlen(word);

	at = skip_blanks(at, end);
	return (size_t)(end - at) >= n && !memcmp(at, word, n) ? at + n : NULL;
}

/* Return true if the line is a pragma of OpenMP. */
static bool is_openmp(const char *line, const char *end)
{
	const char *at = skip_word(line, end, "#");

	if (at)
		at = skip_word(at, end, "pragma");
	if (at)
		at = skip_word(at, end, "omp");
	return at && at < end && (*at == ' ' || *at == '\t');
}

static bool has_openmp(const char *text, size_t len)
{
	static const char operator[] = "_Pragma(\"omp ";
	const char *end = text + len;

	for (const char *line = text; line < end; line++) {
		const char *next = memchr(line, '\n', (size_t)(end - line));

		next = next ? next : end;
		if (is_openmp(line, next))
			return true;
		line = next;
	}
	return memmem(text, len, operator, sizeof(operator) - 1) != NULL;
}

const char *kl_pragmas_ignored(const struct kl_surface *surface)
{
	if (surface->contract->threads)
		return NULL;
	for (size_t i = 0; i < surface->nfile; i++)
		if (has_openmp(surface->file[i].data, surface->file[i].len))
			return "pragmas of OpenMP are ignored, and the kernel has one thread: add "
			       "'threads: <n>' to 'surface' in the contract";
	return NULL;
}

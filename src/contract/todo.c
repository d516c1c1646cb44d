/* SPDX-License-Identifier: Apache-2.0 */
#include "contract/todo.h"

#include <string.h>

#include "base/mem.h"

static size_t count_places(const char *from, const char *to)
{
	size_t n = 0;

	for (const char *at = from; (at = memmem(at, (size_t)(to - at), "TODO", 4)); at += 4)
		n++;
	return n;
}

void kl_todo_find(struct kl_todo *out, const char *text)
{
	for (int line = 1; *text; line++) {
		const char *end = strchrnul(text, '\n');
		const char *hash = memchr(text, '#', (size_t)(end - text));
		const char *stop = hash ? hash : end;
		size_t n = count_places(text, stop), blanks = strspn(text, " \t");

		if (n) {
			while (stop > text && (stop[-1] == ' ' || stop[-1] == '\t'))
				stop--;
			kl_strvec_pushf(&out->line, "%d: %.*s", line, (int)(stop - text - blanks),
					text + blanks);
		}
		out->n += n;
		text = *end ? end + 1 : end;
	}
}

void kl_todo_release(struct kl_todo *todo)
{
	kl_strvec_release(&todo->line);
}

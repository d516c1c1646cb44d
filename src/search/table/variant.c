/* SPDX-License-Identifier: Apache-2.0 */
#include "search/table/variant.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "search/table/table.h"

static const char stale_line[] = "/* the same kernel */\n";
static const char broken_line[] = "this line is not of the language;\n";

/* --- constants ------------------------------------------------------------------------------- */

static bool is_name_char(int ch)
{
	return isalnum(ch) || ch == '_';
}

/* Return where the value begins if `at` defines the name with the value, else NULL. */
static const char *match_definition(const char *at, const char *name, const char *value)
{
	size_t digits = strlen(value);

	at += strlen(name);
	if (is_name_char((unsigned char)*at))
		return NULL;
	at += strspn(at, " \t");
	if (*at == '=')
		at += 1 + strspn(at + 1, " \t");
	return !strncmp(at, value, digits) && !isdigit((unsigned char)at[digits]) &&
			       at[digits] != '.' ?
		       at :
		       NULL;
}

static const char *find_value(const char *text, const char *name, const char *value)
{
	for (const char *at = text; (at = strstr(at, name)); at++) {
		bool begins = at == text || !is_name_char((unsigned char)at[-1]);
		const char *found = begins ? match_definition(at, name, value) : NULL;

		if (found)
			return found;
	}
	return NULL;
}

/* Return a copy in which `n` bytes of one file, from `at` on, are `text`. */
static int replace_text(struct kl_surface **out, const struct kl_surface *surface, size_t i,
			size_t at, size_t n, const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf changed = KL_BUF_INIT;
	const struct kl_file *file = &surface->file[i];
	struct kl_file edit = { .path = file->path };

	kl_buf_add(&changed, file->data, at);
	kl_buf_adds(&changed, text);
	kl_buf_add(&changed, file->data + at + n, file->len - at - n);
	edit.data = changed.ptr ? changed.ptr : (char *)"";
	edit.len = changed.len;
	return kl_surface_with(out, surface, &edit, 1);
}

int kl_variant_tune(struct kl_surface **out, const struct kl_surface *surface, const char *name,
		    int64_t from, int64_t to)
{
	KL_AUTO(kl_freep) char *old = kl_asprintf("%" PRId64, from);
	KL_AUTO(kl_freep) char *new = kl_asprintf("%" PRId64, to);

	*out = NULL;
	for (size_t i = 0; i < surface->nfile; i++) {
		KL_AUTO(kl_freep) char *text = kl_strndup(surface->file[i].data,
							  surface->file[i].len);
		const char *at = find_value(text, name, old);

		if (at)
			return replace_text(out, surface, i, (size_t)(at - text), strlen(old), new);
	}
	return 0;
}

/* --- lines ----------------------------------------------------------------------------------- */

static int append_line(struct kl_surface **out, const struct kl_surface *surface, const char *line)
{
	*out = NULL;
	for (size_t i = 0; i < surface->nfile; i++)
		if (kl_suffix_in(surface->file[i].path, surface->contract->language->texts))
			return replace_text(out, surface, i, surface->file[i].len, 0, line);
	return 0;
}

int kl_variant_stale(struct kl_surface **out, const struct kl_surface *surface)
{
	return append_line(out, surface, stale_line);
}

int kl_variant_broken(struct kl_surface **out, const struct kl_surface *surface)
{
	return append_line(out, surface, broken_line);
}

/* --- moved changes --------------------------------------------------------------------------- */

static const struct kl_file *find_file(const struct kl_surface *surface, const char *path)
{
	for (size_t i = 0; i < surface->nfile; i++)
		if (!strcmp(surface->file[i].path, path))
			return &surface->file[i];
	return NULL;
}

/* Return a copy of `n` lines of a text, from line `line` on. */
static char *copy_lines(const struct kl_file *file, int64_t line, int64_t n)
{
	const char *at = file->data, *end = at + file->len, *from = at;

	for (int64_t i = 0; i < line + n && at < end; i++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		at = nl ? nl + 1 : end;
		if (i + 1 == line)
			from = at;
	}
	return kl_strndup(from, (size_t)(at - from));
}

static int move_edit(struct kl_surface **out, const struct kl_surface *surface,
		     const struct kl_file *before, const struct kl_table_edit *edit)
{
	KL_AUTO(kl_freep) char *block = copy_lines(before, edit->line, edit->drop);

	for (size_t i = 0; i < surface->nfile; i++) {
		KL_AUTO(kl_freep) char *text = NULL;
		const char *at;

		if (strcmp(surface->file[i].path, edit->path) != 0)
			continue;
		text = kl_strndup(surface->file[i].data, surface->file[i].len);
		at = *block ? strstr(text, block) : NULL;
		if (!at || (at != text && at[-1] != '\n') || strstr(at + 1, block))
			return 0;
		return replace_text(out, surface, i, (size_t)(at - text), strlen(block),
				    edit->text);
	}
	return 0;
}

int kl_variant_moved(struct kl_surface **out, const struct kl_surface *surface,
		     const struct kl_surface *before, const struct kl_surface *after)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *moved = NULL;
	struct kl_table_state change = { 0 };
	int err = 0;

	*out = NULL;
	kl_table_state_diff(&change, before, after);
	for (size_t i = 0; !err && i < change.nedit; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *next = NULL;

		err = move_edit(&next, moved ? moved : surface,
				find_file(before, change.edit[i].path), &change.edit[i]);
		kl_surface_free(kl_steal(&moved));
		moved = kl_steal(&next);
		if (!moved)
			break;
	}
	kl_table_state_release(&change);
	*out = kl_steal(&moved);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* sources - makes the sources of a table's state from its edits, and edits from sources */
#include <string.h>

#include "base/error.h"
#include "search/table/table.h"

/* --- applying edits -------------------------------------------------------------------------- */

/* Return where line `line` of the text begins, or NULL if it has fewer lines. */
static const char *find_line(const char *text, size_t len, int64_t line)
{
	const char *at = text, *end = text + len;

	for (; line > 0; line--) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		if (!nl)
			return line == 1 && at < end ? end : NULL;
		at = nl + 1;
	}
	return at;
}

static int apply_edit(struct kl_file *file, const struct kl_table_edit *edit)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	const char *from = find_line(file->data, file->len, edit->line), *to;

	to = from ? find_line(from, file->len - (size_t)(from - file->data), edit->drop) : NULL;
	if (!to)
		return kl_error(KL_EINVALID, "an edit of '%s' is beyond its lines", edit->path);
	kl_buf_add(&out, file->data, (size_t)(from - file->data));
	kl_buf_adds(&out, edit->text);
	kl_buf_add(&out, to, file->len - (size_t)(to - file->data));
	if (out.len > KL_SEARCH_TABLE_BYTES)
		return kl_error(KL_EINVALID, "'%s' becomes too large", edit->path);
	free(file->data);
	file->len = out.len;
	file->data = kl_buf_detach(&out);
	return 0;
}

static struct kl_file *find_file(struct kl_file *file, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(file[i].path, path))
			return &file[i];
	return NULL;
}

static int apply_state(struct kl_file *file, size_t n, const struct kl_table_state *state)
{
	for (size_t i = 0; i < state->nedit; i++) {
		struct kl_file *edited = find_file(file, n, state->edit[i].path);
		int err;

		if (!edited)
			return kl_error(KL_EINVALID, "'%s' is not a source of the contract",
					state->edit[i].path);
		if ((err = apply_edit(edited, &state->edit[i])) < 0)
			return err;
	}
	return 0;
}

/* Apply the edits of all states on the way from the root to `state`, the root's first. */
static int apply_chain(struct kl_file *file, size_t n, const struct kl_search_table *table,
		       const struct kl_table_state *state)
{
	KL_AUTO(kl_freep) const struct kl_table_state **chain = NULL;
	size_t depth = 0, alloc = 0;
	int err = 0;

	for (;; state = &table->state[state->from]) {
		KL_GROW(chain, depth + 1, alloc);
		chain[depth++] = state;
		if (state == table->state)
			break;
	}
	while (!err && depth)
		err = apply_state(file, n, chain[--depth]);
	return err;
}

static int make_surface(struct kl_surface **out, const struct kl_search_table *table,
			const struct kl_table_state *state, const struct kl_surface *base)
{
	struct kl_file *file = kl_calloc(base->nfile, sizeof(*file));
	int err;

	for (size_t i = 0; i < base->nfile; i++)
		file[i] = (struct kl_file){ .path = base->file[i].path, .data = kl_strdup("") };
	err = apply_chain(file, base->nfile, table, state);
	if (!err)
		err = kl_surface_with(out, base, file, base->nfile);
	for (size_t i = 0; i < base->nfile; i++)
		free(file[i].data);
	free(file);
	return err;
}

int kl_search_table_surface(struct kl_surface **out, const struct kl_search_table *table,
			    const struct kl_table_state *state, const struct kl_surface *base)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	int err;

	if (strcmp(base->contract_digest, table->contract))
		return kl_error(KL_EINVALID,
				"the table is of another contract of '%s': that of the kernel is "
				"%.12s, that of the table %.12s",
				table->workload, base->contract_digest, table->contract);
	if ((err = make_surface(&surface, table, state, base)) < 0)
		return kl_error_in(err, "state '%s' of the table", state->id);
	if (strcmp(surface->digest, state->surface))
		return kl_error(KL_EINVALID,
				"state '%s' of the table: its edits do not give the sources that "
				"were judged",
				state->id);
	*out = kl_steal(&surface);
	return 0;
}

/* --- making edits ---------------------------------------------------------------------------- */

/* Return the number of bytes of the whole lines with which both texts begin; count the lines. */
static size_t same_start(int64_t *lines, const struct kl_file *left, const struct kl_file *right)
{
	size_t most = left->len < right->len ? left->len : right->len, start = 0;

	for (size_t i = 0; i < most && left->data[i] == right->data[i]; i++)
		if (left->data[i] == '\n') {
			start = i + 1;
			(*lines)++;
		}
	return start;
}

/* Return the number of bytes of the whole lines with which both texts end, beyond `start`. */
static size_t same_end(const struct kl_file *left, const struct kl_file *right, size_t start)
{
	size_t most = (left->len < right->len ? left->len : right->len) - start, end = 0, n = 0;

	while (n < most && left->data[left->len - n - 1] == right->data[right->len - n - 1]) {
		n++;
		/* the lines end here if one begins at this place in both texts */
		if ((left->len == n || left->data[left->len - n - 1] == '\n') &&
		    (right->len == n || right->data[right->len - n - 1] == '\n'))
			end = n;
	}
	return end;
}

static int64_t count_lines(const char *text, size_t len)
{
	int64_t lines = 0;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	return lines + (len && text[len - 1] != '\n');
}

static void diff_file(struct kl_table_edit *out, const struct kl_file *from,
		      const struct kl_file *to)
{
	int64_t line = 0;
	size_t start = same_start(&line, from, to);
	size_t end = same_end(from, to, start);

	*out = (struct kl_table_edit){
		.path = kl_strdup(to->path),
		.text = kl_strndup(to->data + start, to->len - start - end),
		.line = line,
		.drop = count_lines(from->data + start, from->len - start - end),
	};
}

void kl_table_state_diff(struct kl_table_state *state, const struct kl_surface *from,
			 const struct kl_surface *to)
{
	state->edit = kl_calloc(to->nfile, sizeof(*state->edit));
	for (size_t i = 0; i < to->nfile; i++) {
		struct kl_file none = { .data = (char *)"" };
		const struct kl_file *old = from ? &from->file[i] : &none;

		if (old->len != to->file[i].len ||
		    memcmp(old->data, to->file[i].data, old->len) != 0)
			diff_file(&state->edit[state->nedit++], old, &to->file[i]);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "transplant/transplant_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "contract/surface.h"
#include "event/note_writer.h"
#include "transplant/transplant_log.h"

#define MAX_FILE ((size_t)64 << 20)

static void add_event(struct kl_buf *out, size_t *n, const struct kl_event *event)
{
	if (!event)
		return;
	kl_event_write(out, event);
	kl_buf_addch(out, '\n');
	++*n;
}

int kl_transplant_file_write(size_t *n, const struct kl_transplant *transplant, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t steps = kl_transplant_steps(transplant);

	*n = 0;
	add_event(&text, n, transplant->root);
	for (size_t step = 1; step <= steps; step++)
		for (size_t place = 0; place <= steps; place++)
			add_event(&text, n, kl_transplant_at(transplant, step, place)->event);
	if (!*n)
		return kl_error(KL_ENOTFOUND, "no transplant of %s/%s has a verdict",
				transplant->view.workload, transplant->view.name);
	return kl_fs_write_output(path, text.ptr, text.len);
}

/*
 * --- reading ---------------------------------------------------------------------------------
 */

/* Return true if the event judges `digest`. */
static bool is_about(const struct kl_event *event, const struct kl_transplant *transplant,
		     const char *digest)
{
	return event->kind == KL_KIND_GATE && *digest && !kl_event_is_outdated(event) &&
	       kl_event_is_for(event, digest, transplant->state[0]->contract_digest);
}

/* Return true if exactly one cell without a verdict has this kernel. */
static bool is_only(const struct kl_transplant *transplant, const char *digest)
{
	size_t n = 0, steps = kl_transplant_steps(transplant);

	for (size_t step = 1; step <= steps; step++) {
		for (size_t place = 0; place <= steps; place++) {
			const struct kl_transplant_cell *cell = kl_transplant_at(transplant, step,
										 place);

			n += cell->state == KL_CELL_OPEN && !strcmp(cell->digest, digest);
		}
	}
	return n == 1;
}

/*
 * Return true if the event, which judges the kernel of a cell, holds at the state of that cell. A
 * pass must be timed against the state; a kernel that fails does so whatever it was made from.
 * `no-change` does not name the state that it found the same code in, so only one cell may be left
 * for it.
 */
static bool is_at(const struct kl_event *event, const struct kl_transplant *transplant,
		  const char *digest, const char *state)
{
	if (kl_comparisons_parent(&event->profile.vs))
		return kl_event_is_against(event, state);
	if (event->failure == KL_FAILURE_NO_CHANGE)
		return is_only(transplant, digest);
	return event->verdict == KL_VERDICT_FAIL && kl_event_is_fail(event);
}

static int keep_cell(bool *kept, struct kl_transplant *transplant, struct kl_repo *repo,
		     const struct kl_event *event, size_t step, size_t place)
{
	struct kl_transplant_cell *cell = kl_transplant_at(transplant, step, place);
	KL_AUTO(kl_surface_freep) struct kl_surface *kernel = NULL;
	int err;

	if (cell->state != KL_CELL_OPEN || !is_about(event, transplant, cell->digest) ||
	    !is_at(event, transplant, cell->digest, transplant->state[place]->digest))
		return 0;
	if ((err = kl_transplant_merge(&kernel, repo, transplant, step, place)) < 0)
		return err;
	cell->event = kl_event_copy(event);
	cell->state = KL_CELL_JUDGED;
	*kept = true;
	return kl_transplant_log_add(transplant, repo, step, place, kernel, KL_NOTING_FOREIGN);
}

static int keep_event(bool *kept, struct kl_transplant *transplant, struct kl_repo *repo,
		      const struct kl_event *event)
{
	size_t steps = kl_transplant_steps(transplant);
	int err = 0;

	if (!transplant->root && !event->profile.vs.n &&
	    (event->verdict == KL_VERDICT_PASS || kl_event_is_fail(event)) &&
	    is_about(event, transplant, transplant->state[0]->digest)) {
		transplant->root = kl_event_copy(event);
		*kept = true;
		return kl_transplant_log_root(transplant, repo, KL_NOTING_FOREIGN);
	}
	for (size_t step = 1; !err && step <= steps; step++)
		for (size_t place = 0; !err && place <= steps; place++)
			err = keep_cell(kept, transplant, repo, event, step, place);
	return err;
}

/* Read all events of a file before any of them is kept, so that a bad file changes nothing. */
static int read_events(struct kl_event **event, const struct kl_strvec *lines, const char *path)
{
	for (size_t i = 0; i < lines->n; i++)
		if (*lines->v[i] && kl_event_parse(&event[i], lines->v[i], strlen(lines->v[i])) < 0)
			return kl_error(KL_EINVALID, "%s:%zu: not a gate event: %s", path, i + 1,
					kl_error_last());
	return 0;
}

int kl_transplant_file_read(size_t *n, size_t *left, struct kl_transplant *transplant,
			    struct kl_repo *repo, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec lines = KL_STRVEC_INIT;
	struct kl_event **event;
	int err = kl_fs_read(&text, path, MAX_FILE);

	*n = *left = 0;
	if (err < 0)
		return err;
	if (memchr(text.ptr, 0, text.len))
		return kl_error(KL_EINVALID, "%s: not a file of gate events: it has a zero byte",
				path);
	kl_strvec_split(&lines, text.ptr, "\n");
	event = kl_calloc(lines.n + 1, sizeof(*event));
	err = read_events(event, &lines, path);
	/* events that name no state come last, when the cells of the others have their verdicts */
	for (int last = 0; last < 2; last++) {
		for (size_t i = 0; !err && i < lines.n; i++) {
			bool kept = false;

			if (!event[i] || (event[i]->failure == KL_FAILURE_NO_CHANGE) != last)
				continue;
			err = keep_event(&kept, transplant, repo, event[i]);
			*n += kept;
			*left += !kept;
		}
	}
	for (size_t i = 0; i < lines.n; i++)
		kl_event_free(event[i]);
	free(event);
	return err;
}

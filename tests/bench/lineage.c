/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lineage - a lineage of any length, as a walk would leave it: commits with
 * their trailers, and on each the state's event and the forward one.
 *
 *	lineage <repository> <steps> <directory of a kernel with its contract>
 *
 * Its states differ in a comment, its times are invented: a bench of what reads a
 * lineage. `git klineage fsck` finds nothing wrong with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/proc.h"
#include "contract/surface.h"
#include "repo/notes.h"
#include "sample.h"
#include "walk/sequencer.h"
#include "walk/step.h"

#define EPOCH 1767225600 /* 2026-01-01 */

static int state(struct kl_surface **out, const struct kl_surface *base, size_t i)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("%.*s/* state %zu */\n", (int)base->file[0].len,
						   base->file[0].data, i);
	struct kl_file edit = { .path = base->file[0].path, .data = text, .len = strlen(text) };

	return kl_surface_with(out, base, &edit, 1);
}

static void make_step(struct kl_step *step, size_t i, const char *workload)
{
	KL_AUTO(kl_freep) char *locus = kl_asprintf("axpy.c:axpy:%zu", i);
	KL_AUTO(json_decrefp) json_t *record = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
							 "action", "untile", "mechanism",
							 "register-tile", "locus", locus, "origin",
							 "induced", "rewriter", "passes", "source",
							 "lower-tile", "delta", "clean");

	kl_step_from_json(step, record);
	step->kind = i ? KL_STEP_FORWARD : KL_STEP_ROOT;
	step->number = (int)i;
	step->derivation = kl_strdup("inverse");
	step->workload = kl_strdup(workload);
	step->platform = kl_strdup("cpu/x86-64-v3");
	step->expert = kl_strdup("0123456789012345678901234567890123456789");
	step->termination = kl_strdup("complete");
}

static void add_message(struct kl_buf *out, size_t i, const char *workload)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_step step;

	make_step(&step, i, workload);
	kl_step_message(&buf, &step);
	kl_step_release(&step);
	kl_buf_addf(out, "data %zu\n%s\n", buf.len, buf.ptr);
}

static void add_file(struct kl_buf *out, const struct kl_file *file)
{
	kl_buf_addf(out, "M 100644 inline %s\ndata %zu\n", file->path, file->len);
	kl_buf_add(out, file->data, file->len);
	kl_buf_addch(out, '\n');
}

static int import(const char *dir, const char *ref, const struct kl_surface *base, size_t steps)
{
	KL_AUTO(kl_buf_release) struct kl_buf in = KL_BUF_INIT;
	struct kl_proc_opts opts = {
		.argv = (const char *[]){ "git", "-C", dir, "fast-import", "--quiet", NULL },
		.flags = KL_PROC_INHERIT_STDERR,
	};
	struct kl_proc_result res;
	int err = 0;

	for (size_t i = 0; i <= steps && !err; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;

		kl_buf_addf(&in, "commit %s\ncommitter bench <bench@klineage.invalid> %zu +0000\n",
			    ref, EPOCH + i);
		add_message(&in, i, base->contract->workload);
		err = state(&surface, base, i);
		if (!err)
			add_file(&in, &surface->file[0]);
		if (!err && !i) {
			add_file(&in, &surface->oracle[0]);
			add_file(&in, &surface->contract_file);
		}
	}
	opts.in = in.ptr;
	opts.in_len = in.len;
	if (!err)
		err = kl_proc_run(&res, &opts);
	return err || !res.exit ? err : kl_error(KL_EIO, "git fast-import failed");
}

/* ends what `text` points to at the newline, and goes behind it */
static char *next_line(char **text)
{
	char *line = *text;

	*text += strcspn(line, "\n");
	if (**text)
		*(*text)++ = '\0';
	return line;
}

static void add_note(struct kl_note_line *note, const git_oid *commit, struct kl_event *event)
{
	struct kl_buf line = KL_BUF_INIT;
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	event->commit = kl_event_keep(event, hex);
	kl_event_write(&line, event);
	note->commit = *commit;
	note->line = kl_buf_detach(&line);
}

static int write_notes(struct kl_repo *repo, char *commits, const struct kl_surface *base,
		       size_t steps)
{
	struct kl_note_line *note = kl_calloc(2 * steps + 1, sizeof(*note));
	KL_AUTO(kl_event_freep) struct kl_event *before = NULL;
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i <= steps && !err; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL, *forward = NULL;
		git_oid commit;

		err = kl_oid_parse(&commit, next_line(&commits));
		if (!err)
			err = state(&surface, base, i);
		if (err)
			break;
		event = sample_event(i, surface->contract->workload, surface->digest,
				     surface->contract_digest);
		add_note(&note[n++], &commit, event);
		if (i) {
			forward = kl_event_inverse(event, before, EPOCH);
			add_note(&note[n++], &commit, forward);
			kl_event_free(before);
		}
		before = kl_event_ref(event);
	}
	if (!err)
		err = kl_notes_add(repo, KL_NOTES_GATE, note, n);
	while (n)
		free((char *)note[--n].line);
	free(note);
	return err;
}

int main(int argc, char **argv)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *base = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf commits = KL_BUF_INIT;
	char ref[256];
	size_t steps;
	int err;

	if (argc != 4) {
		fprintf(stderr, "usage: lineage <repository> <steps> <directory of a kernel>\n");
		return 129;
	}
	steps = strtoul(argv[2], NULL, 10);
	err = kl_surface_from_dir(&base, argv[3], "");
	if (!err) {
		kl_lineage_ref(ref, "lineage", base->contract->workload, "bench");
		err = import(argv[1], ref, base, steps);
	}
	if (!err)
		err = kl_proc_output(&commits, (const char *[]){ "git", "-C", argv[1], "rev-list",
								 "--reverse", ref, NULL });
	if (!err)
		err = kl_repo_open_at(&repo, argv[1]);
	if (!err)
		err = write_notes(repo, commits.ptr, base, steps);
	if (err)
		fprintf(stderr, "lineage: %s\n", kl_error_last());
	return err ? 1 : 0;
}

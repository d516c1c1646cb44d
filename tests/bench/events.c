/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events - how long do many events take, written to the notes and folded back?
 *
 *	git rev-list HEAD | events write <dir>	one event on each commit, in one call
 *	events fold <dir>			all of them, read and folded
 *	events indexed <dir>			all of them, by their index; third figure: notes of the index
 *
 * Prints the number of events and the nanoseconds; the repository's opening is
 * in them, making the events is not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/event_index_parts.h"
#include "event/fold.h"
#include "repo/notes.h"
#include "sample.h"

#define ROOM 100000

static size_t read_commits(git_oid *commit)
{
	char line[64];
	size_t n = 0;

	while (n < ROOM && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (kl_oid_parse(&commit[n], line) < 0)
			break;
		n++;
	}
	return n;
}

static int write_events(const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	git_oid *commit = kl_calloc(ROOM, sizeof(*commit));
	size_t n = read_commits(commit);
	struct kl_note_line *note = kl_calloc(n + 1, sizeof(*note));
	int64_t start;
	int err;

	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
		struct kl_buf line = KL_BUF_INIT;
		char hex[KL_OID_HEX], surface[KL_DIGEST_HEX];

		kl_oid_hex(hex, &commit[i]);
		kl_digest_hex(surface, hex, strlen(hex));
		event = sample_event(i, "sample", surface, surface);
		event->commit = hex;
		kl_event_write(&line, event);
		note[i].commit = commit[i];
		note[i].line = kl_buf_detach(&line);
	}
	start = kl_clock_ns();
	err = kl_repo_open_at(&repo, dir);
	if (!err)
		err = kl_notes_add(repo, KL_NOTES_GATE, note, n);
	if (!err)
		printf("%zu %" PRId64 "\n", n, kl_clock_ns() - start);
	for (size_t i = 0; i < n; i++)
		free((char *)note[i].line);
	free(note);
	free(commit);
	return err;
}

static int fold_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	struct kl_fold fold;
	size_t *n = payload;

	kl_fold_lines(&fold, text, len, NULL, NULL);
	*n += fold.verdicts.n;
	kl_fold_release(&fold);
	return 0;
}

static int fold_events(const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	int64_t start = kl_clock_ns();
	size_t n = 0;
	int err = kl_repo_open_at(&repo, dir);

	if (!err)
		err = kl_notes_each(repo, KL_NOTES_GATE, fold_note, &n);
	if (!err)
		printf("%zu %" PRId64 "\n", n, kl_clock_ns() - start);
	return err;
}

static int indexed(const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_event_index_freep) struct kl_event_index *other = NULL;
	int64_t start = kl_clock_ns();
	size_t bytes = 0;
	int err = kl_repo_open_at(&repo, dir);

	if (!err)
		err = kl_event_index_open(&other, repo, KL_NOTES_GATE);
	for (size_t i = 0; !err && i < other->head->events; i++)
		bytes += other->event[i].len; /* each is looked at */
	if (!err)
		printf("%" PRIu64 " %" PRId64 " %" PRIu64 "\n", bytes ? other->head->events : 0,
		       kl_clock_ns() - start, other->head->notes);
	return err;
}

int main(int argc, char **argv)
{
	int err;

	if (argc == 3 && !strcmp(argv[1], "write"))
		err = write_events(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "fold"))
		err = fold_events(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "indexed"))
		err = indexed(argv[2]);
	else
		err = kl_error(KL_EUSAGE, "usage: events write|fold|indexed <dir>");
	if (err)
		fprintf(stderr, "events: %s\n", kl_error_last());
	return err ? 1 : 0;
}

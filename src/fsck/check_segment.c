/* SPDX-License-Identifier: Apache-2.0 */
/* check_segment - checks campaigns: the files of their segments, their candidates and their logs */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "event/segment.h"
#include "event/segment_log.h"
#include "fsck/parts.h"
#include "repo/tree.h"

/* maximum number of files in the tree of a candidate from a remote */
#define MAX_FOREIGN_FILES 1024

/* One campaign, and its tree or log. */
struct checking {
	struct kl_checker *checker;
	const char *where; /* the ref, or the name of a foreign one */
	const char *workload;
	git_oid tree; /* zero if the log is checked */
	size_t line;
};

static void report_flaw(const char *path, size_t line, const char *what, void *payload)
{
	const struct checking *checking = payload;

	if (line)
		kl_check_report(checking->checker, KL_CHECK_ERROR, checking->where,
				"%s, line %zu: %s", path, line, what);
	else
		kl_check_report(checking->checker, KL_CHECK_ERROR, checking->where, "%s: %s", path,
				what);
}

/* Check that the candidate's tree is kept, and has the files that were judged. */
static void check_candidate(struct checking *checking, const struct kl_event *event)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf(KL_SEGMENT_TREES "/%.2s/%s", event->tree,
						   strlen(event->tree) > 2 ? event->tree + 2 : "");
	struct kl_checker *checker = checking->checker;
	git_oid tree;

	if (kl_repo_tree_entry(&tree, NULL, checker->c->repo, &checking->tree, path) < 0) {
		kl_error_clear();
		kl_check_report(checker, KL_CHECK_WARNING, checking->where,
				"the segment does not keep the tree of event %.12s", event->id);
		return;
	}
	if (event->kind == KL_KIND_GATE && !checker->foreign &&
	    !kl_check_is_for_tree(checker, event, &tree))
		kl_check_report(
			checker, KL_CHECK_WARNING, checking->where,
			"event %.12s is stale: it judged other files than those of its tree",
			event->id);
	kl_error_clear();
}

static void check_event(const char *path, struct kl_event *event, void *payload)
{
	struct checking *checking = payload;
	struct kl_checker *checker = checking->checker;

	checker->c->events++;
	if (!checker->foreign) {
		kl_map_put(&checker->cited, event->id, checker);
		if (*event->sig || event->kind == KL_KIND_RETRACT) {
			kl_trust_add_event(&checker->signed_, checker->signed_at.n,
					   kl_event_ref(event), false);
			kl_strvec_push(&checker->signed_at, checking->where);
		}
	}
	if (!git_oid_is_zero(&checking->tree) && !*event->commit && *event->tree)
		check_candidate(checking, event);
}

/* --- the files of segments ---------------------------------------------------------- */

/* Return true if an earlier check has seen the file: a name belongs to one content only. */
static bool is_known(const struct checking *checking, const char *path, const git_oid *oid)
{
	const git_oid *known = checking->checker->c->known;
	git_oid old;
	bool same;

	if (!known || git_oid_is_zero(known))
		return false;
	same = kl_repo_tree_entry(&old, NULL, checking->checker->c->repo, known, path) == 0 &&
	       !memcmp(&old, oid, sizeof(old));
	kl_error_clear();
	return same;
}

static void check_file(struct checking *checking, const char *path,
		       const struct kl_tree_entry *entry)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_segment_check check = {
		.flaw = report_flaw,
		.event = check_event,
		.payload = checking,
	};

	if (is_known(checking, path, &entry->oid))
		return;
	if (entry->mode != KL_MODE_FILE) {
		report_flaw(path, 0, "not a regular file", checking);
		return;
	}
	if (kl_repo_blob_read(&text, checking->checker->c->repo, &entry->oid, KL_SEGMENT_MAX_FILE) <
	    0) {
		report_flaw(path, 0, kl_error_last(), checking);
		kl_error_clear();
		return;
	}
	kl_segment_check(&check, checking->workload, path, text.ptr, text.len);
}

static void check_kept(struct checking *checking, const char *path,
		       const struct kl_tree_entry *entry)
{
	KL_AUTO(kl_blobs_release) struct kl_blobs files = { 0 };
	char hex[KL_OID_HEX], right[sizeof(KL_SEGMENT_TREES) + KL_OID_HEX + 2];

	kl_oid_hex(hex, &entry->oid);
	snprintf(right, sizeof(right), KL_SEGMENT_TREES "/%.2s/%s", hex, hex + 2);
	if (entry->mode != KL_MODE_TREE || strcmp(path, right))
		report_flaw(path, 0, "not the tree of a candidate under its id", checking);
	else if (checking->checker->foreign && !is_known(checking, path, &entry->oid) &&
		 (kl_repo_tree_list(&files, checking->checker->c->repo, &entry->oid,
				    MAX_FOREIGN_FILES) < 0 ||
		  kl_repo_tree_check_plain(checking->checker->c->repo, &entry->oid) < 0)) {
		report_flaw(path, 0, kl_error_last(), checking);
		kl_error_clear();
	}
}

typedef void check_entry_fn(struct checking *checking, const char *path,
			    const struct kl_tree_entry *entry);

static bool is_digits(const char *name)
{
	return strlen(name) == 2 && !name[strspn(name, "0123456789abcdef")];
}

/* Check the directories with names of two digits below `path`, and each entry in them. */
static int check_fanout(struct checking *checking, const char *path, check_entry_fn *fn)
{
	KL_AUTO(kl_tree_entries_release) struct kl_tree_entries dirs = { 0 };
	struct kl_repo *repo = checking->checker->c->repo;
	int err = kl_repo_tree_level(&dirs, repo, &checking->tree, path);

	for (size_t i = 0; !err && i < dirs.n; i++) {
		KL_AUTO(kl_tree_entries_release) struct kl_tree_entries files = { 0 };
		KL_AUTO(kl_freep) char *dir = kl_fs_join(path, dirs.v[i].path);

		if (!*path && !strcmp(dir, KL_SEGMENT_TREES))
			continue;
		if (!is_digits(dirs.v[i].path) || dirs.v[i].mode != KL_MODE_TREE) {
			report_flaw(dir, 0, "this does not belong into a campaign", checking);
			continue;
		}
		err = kl_repo_tree_level(&files, repo, &checking->tree, dir);
		for (size_t k = 0; !err && k < files.n; k++) {
			KL_AUTO(kl_freep) char *file = kl_fs_join(dir, files.v[k].path);

			fn(checking, file, &files.v[k]);
		}
	}
	return err;
}

void kl_check_campaign(struct kl_checker *checker, const char *ref, const git_oid *tip,
		       const char *workload)
{
	struct checking checking = { .checker = checker, .where = ref, .workload = workload };

	checker->c->campaigns++;
	if (kl_repo_tree_of(&checking.tree, checker->c->repo, tip) < 0 ||
	    check_fanout(&checking, KL_SEGMENT_TREES, check_kept) < 0 ||
	    check_fanout(&checking, "", check_file) < 0)
		kl_check_report_error(checker, ref);
}

/* --- logs -------------------------------------------------------------------------------- */

static int check_line(const char *text, size_t len, void *payload)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	struct checking *checking = payload;
	struct kl_segment_line line;

	checking->line++;
	if (kl_segment_line_read(&line, &event, text, len, checking->workload) < 0) {
		kl_check_report(checking->checker, KL_CHECK_ERROR, checking->where, "line %zu: %s",
				checking->line, kl_error_last());
		kl_error_clear();
		return 0;
	}
	check_event("", event, checking);
	return 0;
}

static int check_log(struct kl_checker *checker, const char *campaign)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *where = kl_asprintf("klineage/campaign/%s.jsonl", campaign);
	KL_AUTO(kl_freep) char *workload = kl_strndup(campaign, strcspn(campaign, "/"));
	struct checking checking = { .checker = checker, .where = where, .workload = workload };
	bool torn;
	int err = kl_segment_log_peek(&text, &torn, checker->c->repo, campaign);

	if (err < 0)
		return err;
	kl_segment_each_line(text.ptr, text.len, check_line, &checking);
	if (torn)
		kl_check_report(checker, KL_CHECK_WARNING, where,
				"the last line is not complete, because its writer was stopped; it "
				"does not count, and the next writer removes it");
	return 0;
}

int kl_check_logs(struct kl_checker *checker)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec logs = KL_STRVEC_INIT;
	int err = kl_segment_log_list(&logs, checker->c->repo);

	for (size_t i = 0; !err && i < logs.n; i++)
		err = check_log(checker, logs.v[i]);
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/import.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/map.h"
#include "contract/surface.h"
#include "event/event.h"
#include "lineage/export.h"
#include "repo/notes.h"
#include "text/mail.h"
#include "walk/sequencer.h"
#include "walk/step.h"

#define MAX_FILE (64u << 20)
#define MAX_FILES 100000
#define MAX_TRIES 20

struct importer {
	struct kl_repo *repo;
	const char *dir;
	json_t *index;
	git_oid *commit, *tree; /* commit and tree of each state, from K_0 on */
	size_t n;               /* number of states */
	git_oid rejected;       /* commit of the last rejected step */
	size_t nrejected;       /* number of rejected steps */
	struct kl_map commits;  /* id in the export -> id in this repository; values owned */
	struct kl_note_line *note;
	size_t nnote, note_alloc;
	struct kl_strvec lines;
	const char *workload, *name;
};

static void importer_release(struct importer *importer)
{
	json_decref(importer->index);
	free(importer->commit);
	free(importer->tree);
	free(importer->note);
	kl_map_release(&importer->commits);
	kl_strvec_release(&importer->lines);
}

int kl_import_date(int64_t *time, int *offset, const char *text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm = { 0 };
	char month[4] = "", sign;
	const char *comma = strchr(text, ','), *at;
	int zone;

	if (sscanf(comma ? comma + 1 : text, "%2d %3s %4d %2d:%2d:%2d %c%4d", &tm.tm_mday, month,
		   &tm.tm_year, &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &sign, &zone) != 8 ||
	    (sign != '+' && sign != '-') || strlen(month) != 3 || !(at = strstr(months, month)) ||
	    (at - months) % 3)
		return kl_error(KL_EINVALID, "invalid date '%.40s'", text);
	tm.tm_mon = (int)(at - months) / 3;
	tm.tm_year -= 1900;
	*offset = (zone / 100 * 60 + zone % 100) * (sign == '-' ? -1 : 1);
	*time = (int64_t)timegm(&tm) - *offset * 60;
	return 0;
}

static int read_file(struct kl_buf *out, struct importer *importer, const char *path)
{
	KL_AUTO(kl_freep) char *full = NULL;

	if (!kl_fs_path_ok(path))
		return kl_error(KL_EINVALID, "lineage.json names the unsafe path '%s'", path);
	full = kl_fs_join(importer->dir, path);
	return kl_fs_read(out, full, MAX_FILE);
}

/*
 * Map the commit id that an entry of lineage.json gives to the commit that was built here. The two
 * ids must be equal, unless `anew` is set: a rejected step is rebuilt on another parent.
 */
static int register_commit(struct importer *importer, const json_t *entry, const char *key,
			   const git_oid *here, bool anew)
{
	const char *was;
	git_oid *copy;
	char hex[KL_OID_HEX];
	int err = kl_json_str(&was, entry, key);

	if (err < 0)
		return err;
	kl_oid_hex(hex, here);
	if (!anew && strcmp(hex, was))
		return kl_error(KL_EINVALID,
				"commit %.12s was rebuilt as %.12s, so the export has been changed",
				was, hex);
	copy = kl_malloc(sizeof(*copy));
	*copy = *here;
	kl_map_put(&importer->commits, was, copy);
	return 0;
}

/* --- building K_0 ----------------------------------------------------------------- */

struct files {
	struct kl_tree_edit *e;
	size_t n, alloc;
	struct kl_strvec keep; /* owns the paths and texts of the edits */
};

static void files_release(struct files *files)
{
	free(files->e);
	kl_strvec_release(&files->keep);
}

static int add_file(struct files *files, const char *full, const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct stat st;
	size_t len;
	int err;

	if (lstat(full, &st) < 0)
		return kl_error_errno("cannot stat '%s'", full);
	if (!S_ISREG(st.st_mode))
		return kl_error(KL_EINVALID, "'%s' is not a regular file", full);
	if (!kl_fs_path_ok(path))
		return kl_error(KL_EINVALID, "'%s' is not a valid path of a tracked file", path);
	if ((err = kl_fs_read(&text, full, MAX_FILE)) < 0)
		return err;
	len = text.len;
	kl_strvec_push(&files->keep, path);
	kl_strvec_take(&files->keep, kl_buf_detach(&text));
	KL_GROW(files->e, files->n + 1, files->alloc);
	files->e[files->n++] = (struct kl_tree_edit){
		.path = files->keep.v[files->keep.n - 2],
		.data = files->keep.v[files->keep.n - 1],
		.len = len,
		.mode = st.st_mode & 0100 ? 0100755 : 0100644,
	};
	return 0;
}

static int add_dir(struct files *files, const char *full, const char *path, int depth)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;
	int err = kl_fs_list(&names, full);

	for (size_t i = 0; !err && i < names.n; i++) {
		KL_AUTO(kl_freep) char *below = kl_fs_join(full, names.v[i]);
		KL_AUTO(kl_freep) char *sub = *path ? kl_fs_join(path, names.v[i]) :
						      kl_strdup(names.v[i]);
		struct stat st;

		if (files->n >= MAX_FILES || depth > 64)
			return kl_error(KL_EINVALID, "'%s' has too many files or directories",
					full);
		if (lstat(below, &st) == 0 && S_ISDIR(st.st_mode))
			err = add_dir(files, below, sub, depth + 1);
		else
			err = add_file(files, below, sub);
	}
	return err;
}

static int build_root(struct importer *importer)
{
	KL_AUTO(files_release) struct files files = { .keep = KL_STRVEC_INIT };
	KL_AUTO(kl_freep) char *full = kl_fs_join(importer->dir, "state-0");
	struct kl_commit_spec spec = { 0 };
	json_t *root;
	int64_t offset;
	int err;

	if ((err = kl_json_obj(&root, importer->index, "root")) < 0 ||
	    (err = kl_json_str(&spec.author, root, "author")) < 0 ||
	    (err = kl_json_int(&spec.time, root, "time")) < 0 ||
	    (err = kl_json_int(&offset, root, "offset")) < 0 ||
	    (err = kl_json_str(&spec.message, root, "message")) < 0 ||
	    (err = add_dir(&files, full, "", 0)) < 0 ||
	    (err = kl_repo_tree_edit(&importer->tree[0], importer->repo, NULL, files.e, files.n)) <
		    0)
		return err;
	spec.tree = importer->tree[0];
	spec.offset = (int)offset;
	if ((err = kl_repo_commit_write(&importer->commit[0], importer->repo, &spec)) < 0)
		return err;
	return register_commit(importer, root, "commit", &importer->commit[0], false);
}

/* --- building commits from patches ----------------------------------------------- */

/*
 * Apply the patch in the mail `file` to the tree `before`, and commit the result with the given
 * parents.
 */
static int build_patch(git_oid *commit, git_oid *tree, struct importer *importer, const char *file,
		       const git_oid *before, const git_oid *parent, size_t nparent)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_mail_release) struct kl_mail mail = { 0 };
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	struct kl_commit_spec spec = { .parent = parent, .nparent = nparent };
	int err;

	if ((err = read_file(&text, importer, file)) < 0 ||
	    (err = kl_mail_parse(&mail, file, text.ptr, text.len)) < 0 ||
	    (err = kl_step_parse(&step, file, mail.message)) < 0 ||
	    (err = kl_import_date(&spec.time, &spec.offset, mail.date)) < 0)
		return err;
	*tree = *before;
	if (*mail.diff)
		err = kl_repo_apply(tree, importer->repo, before, "", mail.diff, strlen(mail.diff));
	if (err == KL_ENO)
		return kl_error(KL_EINVALID, "%s does not apply to the state that it should change",
				file);
	if (err < 0)
		return err;
	/* a patch can create symlinks and submodules, but a state of a lineage must not have any */
	if ((err = kl_repo_tree_check_plain(importer->repo, tree)) < 0)
		return kl_error_in(err, "%s", file);
	spec.tree = *tree;
	spec.author = mail.from;
	spec.message = mail.message;
	return kl_repo_commit_write(commit, importer->repo, &spec);
}

static int build_step(struct importer *importer, size_t i, const json_t *entry)
{
	git_oid parent[2] = { importer->commit[i - 1] }, tree;
	const char *file, *rederived = kl_json_str_or(entry, "rederived", NULL);
	int err;

	if ((err = kl_json_str(&file, entry, "file")) < 0)
		return err;
	if (rederived &&
	    ((err = build_patch(&parent[1], &tree, importer, rederived, &importer->tree[i - 1],
				parent, 1)) < 0 ||
	     (err = register_commit(importer, entry, "rederived_commit", &parent[1], false)) < 0))
		return err;
	err = build_patch(&importer->commit[i], &importer->tree[i], importer, file,
			  &importer->tree[i - 1], parent, rederived ? 2 : 1);
	return err < 0 ? err :
			 register_commit(importer, entry, "commit", &importer->commit[i], false);
}

static int build_rejected(struct importer *importer, const json_t *entry)
{
	git_oid parent[2], tree, commit;
	const char *file;
	int64_t on;
	int err;

	if ((err = kl_json_str(&file, entry, "file")) < 0 ||
	    (err = kl_json_int(&on, entry, "on")) < 0)
		return err;
	if (on < 0 || (size_t)on >= importer->n)
		return kl_error(KL_EINVALID, "%s was tried on K_%lld, which is not in the lineage",
				file, (long long)on);
	parent[0] = importer->commit[on];
	parent[1] = importer->rejected;
	err = build_patch(&commit, &tree, importer, file, &importer->tree[on], parent,
			  importer->nrejected ? 2 : 1);
	if (err < 0)
		return err;
	importer->rejected = commit;
	importer->nrejected++;
	return register_commit(importer, entry, "commit", &commit, true);
}

static int build_commits(struct importer *importer)
{
	json_t *steps, *rejected, *entry;
	const char *tip;
	size_t i;
	int err;

	if ((err = kl_json_arr(&steps, importer->index, "steps")) < 0 ||
	    (err = kl_json_arr(&rejected, importer->index, "rejected")) < 0 ||
	    (err = kl_json_str(&tip, importer->index, "tip")) < 0)
		return err;
	importer->n = json_array_size(steps) + 1;
	importer->commit = kl_calloc(importer->n, sizeof(*importer->commit));
	importer->tree = kl_calloc(importer->n, sizeof(*importer->tree));
	if ((err = build_root(importer)) < 0)
		return kl_error_in(err, "state-0");
	json_array_foreach(steps, i, entry)
		if ((err = build_step(importer, i + 1, entry)) < 0)
			return err;
	json_array_foreach(rejected, i, entry)
		if ((err = build_rejected(importer, entry)) < 0)
			return err;
	if (kl_map_get(&importer->commits, tip) == NULL)
		return kl_error(KL_EINVALID,
				"the tip in lineage.json is not one of the commits of the export");
	return 0;
}

/* --- reading events --------------------------------------------------------------- */

/* Check that an event judges the files of the commit in whose note it was. */
static int check_event(struct importer *importer, const struct kl_event *event,
		       const git_oid *commit)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	git_oid tree;
	int err;

	if ((err = kl_repo_tree_of(&tree, importer->repo, commit)) < 0 ||
	    (err = kl_surface_from_tree(&surface, importer->repo, &tree, "")) < 0)
		return err;
	if (!kl_event_is_for(event, surface->digest, surface->contract_digest))
		return kl_error(KL_EINVALID,
				"event %.12s is about other files than those of its commit",
				event->id);
	return 0;
}

static int add_event(struct importer *importer, const char *line, size_t len)
{
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	struct kl_buf text = KL_BUF_INIT;
	const git_oid *commit;
	git_oid tree;
	int err = kl_event_parse(&event, line, len);

	if (err < 0)
		return err;
	commit = kl_map_get(&importer->commits, event->commit);
	if (!commit)
		return kl_error(KL_EINVALID,
				"the event judges commit '%.12s', which is not in the export",
				event->commit);
	if ((err = check_event(importer, event, commit)) < 0 ||
	    (err = kl_repo_tree_of(&tree, importer->repo, commit)) < 0)
		return err;
	kl_event_set_commit(event, commit, &tree);
	kl_event_write(&text, event);
	kl_strvec_take(&importer->lines, kl_buf_detach(&text));
	KL_GROW(importer->note, importer->nnote + 1, importer->note_alloc);
	importer->note[importer->nnote].commit = *commit;
	importer->note[importer->nnote++].line = importer->lines.v[importer->lines.n - 1];
	return 0;
}

static int read_events(struct importer *importer)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int line = 0, err = read_file(&text, importer, "gate.jsonl");

	for (const char *at = text.ptr; !err && *at;) {
		size_t n = strcspn(at, "\n");

		line++;
		if (n && (err = add_event(importer, at, n)) < 0)
			return kl_error_in(err, "gate.jsonl:%d", line);
		at += n + (at[n] == '\n');
	}
	return err;
}

/* --- moving refs ------------------------------------------------------------------ */

/*
 * Check that a ref can be set to `oid`. Set *have to true if the ref already has this value. Return
 * KL_EEXISTS if the ref has another value.
 */
static int check_ref(bool *have, struct importer *importer, const char *ref, const git_oid *oid)
{
	git_oid there;
	int err = kl_refs_get(&there, importer->repo, ref);

	*have = !err && !memcmp(&there, oid, sizeof(there));
	if (!err && !*have) {
		err = kl_error(KL_EEXISTS, "'%s' already exists and is different", ref);
		return kl_error_hint(err, "import it under another name with --name");
	}
	if (err == KL_ENOTFOUND)
		err = kl_refs_can_create(importer->repo, ref);
	return err;
}

static int write_refs(struct importer *importer, struct kl_import_result *out)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(importer->repo);
	git_oid notes, old;
	char rejected[256];
	bool have, have_rejected = true;
	int err;

	kl_lineage_ref(out->lineage, "lineage", importer->workload, importer->name);
	kl_lineage_ref(rejected, "rejected", importer->workload, importer->name);
	if ((err = check_ref(&have, importer, out->lineage, &importer->commit[importer->n - 1])) <
	    0)
		return err;
	out->already = have;
	/* the notes and the rejected steps were written together with the lineage */
	if (have)
		return 0;
	if (importer->nrejected &&
	    (err = check_ref(&have_rejected, importer, rejected, &importer->rejected)) < 0)
		return err;
	if ((err = kl_notes_prepare(&notes, &old, importer->repo, KL_NOTES_GATE, importer->note,
				    importer->nnote)) < 0)
		return err;
	kl_refs_txn_create(txn, out->lineage, &importer->commit[importer->n - 1]);
	if (!have_rejected)
		kl_refs_txn_create(txn, rejected, &importer->rejected);
	if (memcmp(&notes, &old, sizeof(notes)))
		kl_refs_txn_update(txn, KL_NOTES_GATE, &notes, git_oid_is_zero(&old) ? NULL : &old);
	if ((err = KL_FAULT("import-move")) < 0)
		return err;
	return kl_refs_txn_commit(txn, "klineage import");
}

static int check_names(struct importer *importer, const char *name)
{
	const char *schema;
	int err;

	if ((err = kl_json_str(&schema, importer->index, "schema")) < 0 ||
	    (err = kl_json_str(&importer->workload, importer->index, "workload")) < 0 ||
	    (err = kl_json_str(&importer->name, importer->index, "name")) < 0)
		return err;
	if (strcmp(schema, KL_EXPORT_SCHEMA))
		return kl_error(KL_EINVALID, "the schema is '%s', but must be '%s'", schema,
				KL_EXPORT_SCHEMA);
	if (name)
		importer->name = name;
	if (!kl_slug_ok(importer->workload) || !kl_slug_ok(importer->name))
		return kl_error(KL_EINVALID, "invalid lineage name '%s/%s'", importer->workload,
				importer->name);
	return 0;
}

/* Read the export, write its commits and check its events, but move no ref. */
static int rebuild_branch(struct importer *importer, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = read_file(&text, importer, "lineage.json");

	if (err < 0)
		return err;
	if ((err = kl_json_parse(&importer->index, text.ptr, text.len)) < 0 ||
	    (err = check_names(importer, name)) < 0)
		return kl_error_in(err, "lineage.json");
	if ((err = build_commits(importer)) < 0)
		return err;
	return read_events(importer);
}

void kl_import_view_release(struct kl_import_view *view)
{
	free(view->workload);
	free(view->name);
	free(view->commit);
	kl_map_release(&view->notes);
}

int kl_import_view(struct kl_import_view *out, struct kl_repo *repo, const char *dir)
{
	KL_AUTO(importer_release) struct importer importer = {
		.repo = repo,
		.dir = dir,
		.commits = { .free_value = free },
	};
	int err = rebuild_branch(&importer, NULL);

	if (err < 0)
		return kl_error_in(err, "%s", dir);
	*out = (struct kl_import_view){
		.workload = kl_strdup(importer.workload),
		.name = kl_strdup(importer.name),
		.commit = kl_steal(&importer.commit),
		.n = importer.n,
		.rejected = importer.rejected,
		.has_rejected = importer.nrejected,
		.notes = { .free_value = free },
	};
	for (size_t i = 0; i < importer.nnote; i++) {
		char hex[KL_OID_HEX];
		const char *old;

		kl_oid_hex(hex, &importer.note[i].commit);
		old = kl_map_get(&out->notes, hex);
		kl_map_put(&out->notes, hex,
			   kl_asprintf("%s%s\n", old ? old : "", importer.note[i].line));
	}
	return 0;
}

int kl_import_read(struct kl_import_result *out, struct kl_repo *repo, const char *dir,
		   const char *name)
{
	KL_AUTO(importer_release) struct importer importer = {
		.repo = repo,
		.dir = dir,
		.commits = { .free_value = free },
	};
	int err;

	*out = (struct kl_import_result){ 0 };
	if ((err = rebuild_branch(&importer, name)) < 0)
		return err;
	for (int i = 0;; i++) {
		err = write_refs(&importer, out);
		if (err != KL_ECHANGED || i == MAX_TRIES)
			break;
		kl_clock_sleep_ms(20 * (i + 1));
	}
	out->steps = importer.n - 1;
	out->rejected = importer.nrejected;
	out->events = importer.nnote;
	return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* object - parses object ids and revisions, reads commits and blobs */
#include "repo/internal.h"

#include <string.h>

const git_oid kl_oid_none = { { 0 } };

void kl_oid_hex(char out[KL_OID_HEX], const git_oid *oid)
{
	git_oid_tostr(out, KL_OID_HEX, oid);
}

char *kl_oid_text(const git_oid *oid)
{
	char *out = kl_malloc(KL_OID_HEX);

	kl_oid_hex(out, oid);
	return out;
}

bool kl_oid_parsen(git_oid *out, const char *hex, size_t n)
{
	if (n != GIT_OID_HEXSZ)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!strchr("0123456789abcdef", hex[i]) || !hex[i])
			return false;
	return git_oid_fromstrn(out, hex, n) == 0;
}

int kl_oid_parse(git_oid *out, const char *hex)
{
	if (!kl_oid_parsen(out, hex, strlen(hex)))
		return kl_error(KL_EINVALID, "'%.60s' is not an object id", hex);
	return 0;
}

static int peel_object(git_oid *out, struct kl_repo *repo, const git_oid *oid, const char *rev)
{
	KL_AUTO(git_object_freep) git_object *any = NULL, *commit = NULL;
	int err = git_object_lookup(&any, repo->git, oid, GIT_OBJECT_ANY);

	if (!err)
		err = git_object_peel(&commit, any, GIT_OBJECT_COMMIT);
	if (err < 0)
		return kl_error(KL_ENOTFOUND, "no commit '%s' in this repository", rev);
	git_oid_cpy(out, git_object_id(commit));
	return 0;
}

/* Report an unknown revision, with a different message for an unborn HEAD. */
static int no_revision(struct kl_repo *repo, const char *rev)
{
	int err;

	if ((!strncmp(rev, "HEAD", 4) || rev[0] == '@') &&
	    git_repository_head_unborn(repo->git) == 1) {
		err = kl_error(KL_ENOTFOUND, "HEAD has no commit yet");
		return kl_error_hint(err, "make a first commit, or name a revision");
	}
	return kl_error(KL_ENOTFOUND, "no revision '%s' in this repository", rev);
}

int kl_repo_resolve(git_oid *out, struct kl_repo *repo, const char *rev)
{
	KL_AUTO(kl_freep) char *peeled = kl_asprintf("%s^{commit}", rev);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("rev-parse", "--verify", "--quiet", "--end-of-options", peeled),
		.out = &text,
		.err = &complaint,
	};
	git_oid oid;
	int status, err;

	if (kl_oid_parsen(&oid, rev, strlen(rev)))
		return peel_object(out, repo, &oid, rev);
	if ((err = kl_git_run(&status, repo, &call)) < 0)
		return err;
	kl_buf_rtrim(&text);
	if (status && strstr(complaint.ptr, "ambiguous"))
		return kl_error(KL_EINVALID, "revision '%s': %s", rev,
				kl_git_complaint(&complaint));
	if (status || !kl_oid_parsen(&oid, text.ptr, text.len))
		return no_revision(repo, rev);
	git_oid_cpy(out, &oid);
	return 0;
}

static int lookup_commit(git_commit **out, struct kl_repo *repo, const git_oid *oid)
{
	int err = git_commit_lookup(out, repo->git, oid);

	return err < 0 ? kl_error_git(err, "cannot read commit %s", git_oid_tostr_s(oid)) : 0;
}

int kl_repo_parents(git_oid **out, size_t *n, struct kl_repo *repo, const git_oid *oid)
{
	KL_AUTO(git_commit_freep) git_commit *commit = NULL;
	int err = lookup_commit(&commit, repo, oid);

	if (err < 0)
		return err;
	*n = git_commit_parentcount(commit);
	*out = kl_calloc(*n + 1, sizeof(**out));
	for (size_t i = 0; i < *n; i++)
		git_oid_cpy(*out + i, git_commit_parent_id(commit, (unsigned)i));
	return 0;
}

int kl_repo_object_size(size_t *out, struct kl_repo *repo, const git_oid *oid)
{
	git_object_t type;
	int err = git_odb_read_header(out, &type, repo->odb, oid);

	return err < 0 ? kl_error_git(err, "cannot read object %s", git_oid_tostr_s(oid)) : 0;
}

int kl_repo_tree_of(git_oid *out, struct kl_repo *repo, const git_oid *oid)
{
	KL_AUTO(git_commit_freep) git_commit *commit = NULL;
	int err = lookup_commit(&commit, repo, oid);

	if (!err)
		git_oid_cpy(out, git_commit_tree_id(commit));
	return err;
}

int kl_repo_commit_read(struct kl_commit *out, struct kl_repo *repo, const git_oid *oid)
{
	KL_AUTO(git_commit_freep) git_commit *commit = NULL;
	const git_signature *author;
	int err = lookup_commit(&commit, repo, oid);

	if (err < 0)
		return err;
	author = git_commit_author(commit);
	*out = (struct kl_commit){
		.oid = *oid,
		.tree = *git_commit_tree_id(commit),
		.message = kl_strdup(git_commit_message_raw(commit)),
		.author = kl_asprintf("%s <%s>", author->name, author->email),
		.author_time = author->when.time,
		.author_offset = author->when.offset,
	};
	return kl_repo_parents(&out->parent, &out->nparent, repo, oid);
}

void kl_commit_release(struct kl_commit *commit)
{
	free(commit->parent);
	free(commit->message);
	free(commit->author);
	*commit = (struct kl_commit){ 0 };
}

int kl_repo_blob_read(struct kl_buf *out, struct kl_repo *repo, const git_oid *blob, size_t max)
{
	KL_AUTO(git_odb_object_freep) git_odb_object *object = NULL;
	git_object_t type;
	size_t size;
	int err = git_odb_read_header(&size, &type, repo->odb, blob);

	if (err < 0)
		return kl_error_git(err, "cannot read object %s", git_oid_tostr_s(blob));
	if (type != GIT_OBJECT_BLOB)
		return kl_error(KL_EINVALID, "object %s is not a blob", git_oid_tostr_s(blob));
	if (size > max)
		return kl_error(KL_EINVALID, "blob %s has %zu bytes, more than the limit of %zu",
				git_oid_tostr_s(blob), size, max);
	err = git_odb_read(&object, repo->odb, blob);
	if (err < 0)
		return kl_error_git(err, "cannot read object %s", git_oid_tostr_s(blob));
	kl_buf_add(out, git_odb_object_data(object), git_odb_object_size(object));
	return 0;
}

int kl_repo_blob_write(git_oid *out, struct kl_repo *repo, const void *data, size_t n)
{
	int err = git_odb_write(out, repo->odb, data, n, GIT_OBJECT_BLOB);

	return err < 0 ? kl_error_git(err, "cannot write an object") : 0;
}

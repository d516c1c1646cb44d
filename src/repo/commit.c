/* SPDX-License-Identifier: Apache-2.0 */
/* commit - writes commits, signed if the configuration says so */
#include "repo/internal.h"

#include <stdlib.h>
#include <string.h>

/* Check that `author` is a "Name <mail>" that git keeps unchanged and that git fsck accepts. */
static int check_author(const char *author)
{
	const char *mail = strstr(author, " <");
	size_t n = strlen(author);

	if (!mail || mail == author || n > 1000 || author[n - 1] != '>' ||
	    strcspn(author, "<") != (size_t)(mail + 1 - author) || strcspn(author, ">") != n - 1 ||
	    author[0] == ' ' || strchr(author, '\n'))
		return kl_error(KL_EINVALID, "'%.100s' is not of the form 'Name <mail>'", author);
	return 0;
}

static char *dated_author(const struct kl_commit_spec *spec)
{
	int off = abs(spec->offset);

	return kl_asprintf("%s %lld %c%02d%02d", spec->author, (long long)spec->time,
			   spec->offset < 0 ? '-' : '+', off / 60, off % 60);
}

static int check_objects(struct kl_repo *repo, const struct kl_commit_spec *spec)
{
	size_t size;
	git_object_t type;

	if (git_odb_read_header(&size, &type, repo->odb, &spec->tree) < 0 ||
	    type != GIT_OBJECT_TREE)
		return kl_error(KL_ENOTFOUND, "no such tree: %s", git_oid_tostr_s(&spec->tree));
	for (size_t i = 0; i < spec->nparent; i++)
		if (git_odb_read_header(&size, &type, repo->odb, spec->parent + i) < 0 ||
		    type != GIT_OBJECT_COMMIT)
			return kl_error(KL_ENOTFOUND, "no such parent commit: %s",
					git_oid_tostr_s(spec->parent + i));
	return 0;
}

static void add_message(struct kl_buf *buf, const char *message)
{
	kl_buf_adds(buf, message);
	if (!buf->len || buf->ptr[buf->len - 1] != '\n')
		kl_buf_addch(buf, '\n');
}

static int write_plain(git_oid *out, struct kl_repo *repo, const struct kl_commit_spec *spec,
		       const char *author, const char *committer)
{
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	int err;

	kl_buf_addf(&buf, "tree %s\n", git_oid_tostr_s(&spec->tree));
	for (size_t i = 0; i < spec->nparent; i++)
		kl_buf_addf(&buf, "parent %s\n", git_oid_tostr_s(spec->parent + i));
	kl_buf_addf(&buf, "author %s\ncommitter %s\n\n", author, committer);
	add_message(&buf, spec->message);
	err = git_odb_write(out, repo->odb, buf.ptr, buf.len, GIT_OBJECT_COMMIT);
	return err < 0 ? kl_error_git(err, "cannot write a commit") : 0;
}

/*
 * Write a signed commit with `git commit-tree`, which knows the program, key and format of
 * signatures.
 */
static int write_signed(git_oid *out, struct kl_repo *repo, const struct kl_commit_spec *spec)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_git_call call = { .here = true, .out = &text };
	int err;

	kl_strvec_pushv(&args,
			KL_ARGS("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", "-F", "-"));
	for (size_t i = 0; i < spec->nparent; i++)
		kl_strvec_pushf(&args, "-p%s", git_oid_tostr_s(spec->parent + i));
	kl_strvec_push(&args, git_oid_tostr_s(&spec->tree));
	add_message(&message, spec->message);
	call.args = (const char *const *)args.v;
	call.in = message.ptr;
	call.in_len = message.len;
	if ((err = kl_git_do(repo, &call)) < 0)
		return err;
	kl_buf_rtrim(&text);
	return kl_oid_parse(out, text.ptr);
}

int kl_repo_commit_write(git_oid *out, struct kl_repo *repo, const struct kl_commit_spec *spec)
{
	const char *author, *committer;
	bool sign;
	int err = check_objects(repo, spec);

	if (err < 0)
		return err;
	if (spec->author) {
		KL_AUTO(kl_freep) char *dated = NULL;

		if ((err = check_author(spec->author)) < 0)
			return err;
		dated = dated_author(spec);
		return write_plain(out, repo, spec, dated, dated);
	}
	if ((err = kl_repo_config_bool(&sign, repo, "commit.gpgsign", false)) < 0)
		return err;
	if (sign)
		return write_signed(out, repo, spec);
	if ((err = kl_ident_now(&author, repo, true)) < 0 ||
	    (err = kl_ident_now(&committer, repo, false)) < 0)
		return err;
	return write_plain(out, repo, spec, author, committer);
}

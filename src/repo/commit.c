/* SPDX-License-Identifier: Apache-2.0 */
/* commit - writes commits, signed where git would sign them */
#include "repo/internal.h"

#include <stdlib.h>
#include <string.h>

/* "Name <mail>" that git would take as it is, and fsck not complain of. */
static int check_author(const char *who)
{
	const char *mail = strstr(who, " <");
	size_t n = strlen(who);

	if (!mail || mail == who || n > 1000 || who[n - 1] != '>' ||
	    strcspn(who, "<") != (size_t)(mail + 1 - who) || strcspn(who, ">") != n - 1 ||
	    who[0] == ' ' || strchr(who, '\n'))
		return kl_error(KL_EINVALID, "'%.100s' is not of the form 'Name <mail>'", who);
	return 0;
}

static char *date_words(const struct kl_commit_spec *s)
{
	int off = abs(s->offset);

	return kl_asprintf("%s %lld %c%02d%02d", s->author, (long long)s->time,
			   s->offset < 0 ? '-' : '+', off / 60, off % 60);
}

static int check_objects(struct kl_repo *r, const struct kl_commit_spec *s)
{
	size_t size;
	git_object_t type;

	if (git_odb_read_header(&size, &type, r->odb, &s->tree) < 0 || type != GIT_OBJECT_TREE)
		return kl_error(KL_ENOTFOUND, "no tree %s to commit", git_oid_tostr_s(&s->tree));
	for (size_t i = 0; i < s->nparent; i++)
		if (git_odb_read_header(&size, &type, r->odb, s->parent + i) < 0 ||
		    type != GIT_OBJECT_COMMIT)
			return kl_error(KL_ENOTFOUND, "no commit %s to build on",
					git_oid_tostr_s(s->parent + i));
	return 0;
}

static void add_message(struct kl_buf *b, const char *message)
{
	kl_buf_adds(b, message);
	if (!b->len || b->ptr[b->len - 1] != '\n')
		kl_buf_addch(b, '\n');
}

static int write_plain(git_oid *out, struct kl_repo *r, const struct kl_commit_spec *s,
		       const char *author, const char *committer)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	int err;

	kl_buf_addf(&b, "tree %s\n", git_oid_tostr_s(&s->tree));
	for (size_t i = 0; i < s->nparent; i++)
		kl_buf_addf(&b, "parent %s\n", git_oid_tostr_s(s->parent + i));
	kl_buf_addf(&b, "author %s\ncommitter %s\n\n", author, committer);
	add_message(&b, s->message);
	err = git_odb_write(out, r->odb, b.ptr, b.len, GIT_OBJECT_COMMIT);
	return err < 0 ? kl_error_git(err, "cannot write a commit") : 0;
}

/* Signing programs, keys and formats are git's business. */
static int write_signed(git_oid *out, struct kl_repo *r, const struct kl_commit_spec *s)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec args = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	struct kl_git_call c = { .here = true, .out = &text };
	int err;

	kl_strvec_pushv(&args,
			KL_ARGS("-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", "-F", "-"));
	for (size_t i = 0; i < s->nparent; i++)
		kl_strvec_pushf(&args, "-p%s", git_oid_tostr_s(s->parent + i));
	kl_strvec_push(&args, git_oid_tostr_s(&s->tree));
	add_message(&message, s->message);
	c.args = (const char *const *)args.v;
	c.in = message.ptr;
	c.in_len = message.len;
	if ((err = kl_git_do(r, &c)) < 0)
		return err;
	kl_buf_rtrim(&text);
	return kl_oid_parse(out, text.ptr);
}

int kl_repo_commit_write(git_oid *out, struct kl_repo *r, const struct kl_commit_spec *s)
{
	const char *author, *committer;
	bool sign;
	int err = check_objects(r, s);

	if (err < 0)
		return err;
	if (s->author) {
		KL_AUTO(kl_freep) char *who = NULL;

		if ((err = check_author(s->author)) < 0)
			return err;
		who = date_words(s);
		return write_plain(out, r, s, who, who);
	}
	if ((err = kl_repo_config_bool(&sign, r, "commit.gpgsign", false)) < 0)
		return err;
	if (sign)
		return write_signed(out, r, s);
	if ((err = kl_ident_now(&author, r, true)) < 0 ||
	    (err = kl_ident_now(&committer, r, false)) < 0)
		return err;
	return write_plain(out, r, s, author, committer);
}

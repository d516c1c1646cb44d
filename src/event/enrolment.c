/* SPDX-License-Identifier: Apache-2.0 */
#include "event/enrolment.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"
#include "event/signature.h"

#define MAX_KEY ((size_t)1 << 16)
#define TEST "test" /* text that is signed to see whether signing works */

void kl_enrolment_release(struct kl_enrolment *enrolment)
{
	free(enrolment->who);
	free(enrolment->base);
	*enrolment = (struct kl_enrolment){ 0 };
}

bool kl_enrolment_is_open(struct kl_repo *repo)
{
	const char *key = kl_repo_config(repo, "user.signingKey");
	const char *format = kl_repo_config(repo, "gpg.format");

	return key && *key && (kl_sign_literal_key(key) || (format && !strcmp(format, "ssh"))) &&
	       !kl_repo_config(repo, "klineage.sign") && kl_repo_worktree(repo);
}

/* --- the user's public key ----------------------------------------------------------- */

/*
 * Read the public key: the value of user.signingKey if that is a literal key, otherwise the .pub
 * file of the key file that it names.
 */
static int read_public(struct kl_buf *out, struct kl_repo *repo)
{
	const char *value = kl_repo_config(repo, "user.signingKey");
	const char *literal = value ? kl_sign_literal_key(value) : NULL;
	KL_AUTO(kl_freep) char *file = NULL;
	KL_AUTO(kl_freep) char *path = NULL;
	size_t n;
	int err;

	if (literal) {
		kl_buf_adds(out, literal);
		return 0;
	}
	file = kl_keygen_path(repo, "user.signingKey");
	if (!file)
		return kl_error(KL_ECANNOT, "user.signingKey is not set");
	n = strlen(file);
	path = kl_asprintf("%s%s", file, n > 4 && !strcmp(file + n - 4, ".pub") ? "" : ".pub");
	err = kl_fs_read(out, path, MAX_KEY);
	if (err == KL_EINTR || err >= 0)
		return err;
	err = kl_error_in(KL_ECANNOT, "the public key of user.signingKey");
	return kl_error_hint(err, "to create it, run 'ssh-keygen -y -f <key> >%s'", path);
}

static bool is_word(const char *word, size_t n, const char *others)
{
	for (size_t i = 0; i < n; i++)
		if (!(word[i] >= 'a' && word[i] <= 'z') && !(word[i] >= 'A' && word[i] <= 'Z') &&
		    !(word[i] >= '0' && word[i] <= '9') && !strchr(others, word[i]))
			return false;
	return n > 0;
}

/* Set `*key` to the public key without its comment, such as "ssh-ed25519 AAAA...". */
static int public_key(char **key, struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	size_t kind, n;
	const char *at;
	int err = read_public(&text, repo);

	if (err < 0)
		return err;
	kind = strcspn(text.ptr, " ");
	at = text.ptr + kind + strspn(text.ptr + kind, " ");
	n = strcspn(at, " \r\n");
	if (!is_word(text.ptr, kind, "-.@") || !is_word(at, n, "+/="))
		return kl_error(KL_ECANNOT, "user.signingKey does not name an SSH public key");
	*key = kl_asprintf("%.*s %.*s", (int)kind, text.ptr, (int)n, at);
	return 0;
}

/*
 * Set `*who` to the user's mail address, which names the signer in the list. ssh-keygen reads that
 * name as a pattern, so special characters are refused.
 */
static int read_principal(char **who, struct kl_repo *repo)
{
	const char *mail = kl_repo_config(repo, "user.email");

	if (!mail || !*mail)
		return kl_error(KL_ECANNOT, "user.email is not set");
	if (!is_word(mail, strlen(mail), "@.+-_%"))
		return kl_error(KL_ECANNOT,
				"user.email '%.80s' has characters that are not allowed in a list "
				"of signers",
				mail);
	*who = kl_strdup(mail);
	return 0;
}

/* --- the list of signers in the worktree --------------------------------------------- */

/*
 * Fail if the path exists but is not a directory (`dir` true) or not a regular file (`dir` false),
 * since a symbolic link could lead out of the repository.
 */
static int check_plain(const char *path, bool dir)
{
	struct stat st;

	if (lstat(path, &st) < 0 || (dir ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)))
		return 0;
	return kl_error(KL_EINVALID, "'%s' is not a %s", path, dir ? "directory" : "regular file");
}

/*
 * Verify the test signature against a list, since a line that names the key can be a comment, or
 * can have expired. Return KL_EINVALID if the list does not allow the key.
 */
static int check_list(struct kl_repo *repo, const struct kl_buf *list, const char *sig)
{
	KL_AUTO(kl_signers_freep) struct kl_signers *signers = NULL;
	KL_AUTO(kl_freep) char *principal = NULL;
	int err = kl_signers_open_text(&signers, repo, list->ptr, list->len);

	return err < 0 ? err : kl_sign_verify(&principal, signers, TEST, strlen(TEST), sig);
}

static int add_to_list(bool *added, struct kl_repo *repo, const char *who, const char *key,
		       const char *sig)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(kl_repo_worktree(repo), KL_SIGNERS_FILE);
	KL_AUTO(kl_freep) char *dir = kl_strndup(path, (size_t)(strrchr(path, '/') - path));
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err;

	if ((err = check_plain(dir, true)) < 0 || (err = check_plain(path, false)) < 0 ||
	    (kl_fs_exists(path) && (err = kl_fs_read(&text, path, KL_SIGNERS_MAX)) < 0))
		return err;
	err = text.len ? check_list(repo, &text, sig) : KL_EINVALID;
	if (err != KL_EINVALID)
		return err;
	kl_error_clear();
	if (text.len && text.ptr[text.len - 1] != '\n')
		kl_buf_addch(&text, '\n');
	kl_buf_addf(&text, "%s namespaces=\"" KL_SIGN_NAMESPACE "\" %s\n", who, key);
	if ((err = check_list(repo, &text, sig)) < 0)
		return kl_error_in(err, "'%s' would not allow the key of user.signingKey",
				   KL_SIGNERS_FILE);
	if ((err = kl_fs_mkdir_of(path)) < 0 || (err = kl_fs_write(path, text.ptr, text.len)) < 0)
		return err;
	*added = true;
	return 0;
}

/* --- the configuration --------------------------------------------------------------- */

/* Return the short name of the ref that a symbolic ref points to, or NULL; the caller frees. */
static char *target_of(struct kl_repo *repo, const char *symref)
{
	const char *const argv[] = { "git",          "-C",      kl_repo_worktree(repo),
				     "symbolic-ref", "--quiet", "--short",
				     symref,         NULL };
	KL_AUTO(kl_buf_release) struct kl_buf name = KL_BUF_INIT;

	if (kl_proc_output(&name, argv) != 0) {
		kl_error_clear();
		return NULL;
	}
	kl_buf_rtrim(&name);
	return name.len ? kl_buf_detach(&name) : NULL;
}

/*
 * Return the default branch of origin; if there is none, the branch that is checked out; if there
 * is none, NULL.
 */
static char *base_branch(struct kl_repo *repo)
{
	char *name = target_of(repo, "refs/remotes/origin/HEAD");

	return name ? name : target_of(repo, "HEAD");
}

static int set_config(struct kl_enrolment *out, struct kl_repo *repo)
{
	const char *base = kl_repo_config(repo, "klineage.signers");
	int err = 0;

	out->base = base && *base ? kl_strdup(base) : base_branch(repo);
	if (out->base && (!base || !*base))
		err = kl_repo_config_set(repo, "klineage.signers", out->base);
	return err < 0 ? err : kl_repo_config_set(repo, "klineage.sign", "true");
}

int kl_enrol(struct kl_enrolment *out, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *key = NULL;
	KL_AUTO(kl_freep) char *sig = NULL;
	int err;

	*out = (struct kl_enrolment){ 0 };
	if (!kl_repo_worktree(repo))
		return kl_error(
			KL_EINVALID,
			"a bare repository has no worktree for '.klineage/allowed_signers'");
	if ((err = read_principal(&out->who, repo)) < 0 || (err = public_key(&key, repo)) < 0 ||
	    (err = kl_sign_text(&sig, repo, TEST, strlen(TEST))) < 0 ||
	    (err = add_to_list(&out->added, repo, out->who, key, sig)) < 0)
		return err;
	return set_config(out, repo);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* open - finds and opens the repository, and rejects formats that libgit2 cannot read */
#include "repo/internal.h"

#include <git2/sys/repository.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fs.h"

#ifdef __SANITIZE_ADDRESS__
/*
 * Hide a leak from the leak checker: libgit2 1.5 leaks match data of PCRE if a pattern does not
 * match, for example when it looks for extensions in the config of a repository with format version
 * 1.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpcre2\n";
}
#endif

/*
 * Extensions of the repository format that libgit2 does not know but that we can ignore: we read
 * the configuration through git, never prune, and report a missing object as an ordinary error.
 */
static const char *const harmless[] = {
	"noop", "noop-v1", "worktreeconfig", "preciousobjects", "partialclone",
};

static bool is_harmless(const char *ext, const char *value)
{
	if (!strcmp(ext, "objectformat"))
		return !strcmp(value, "sha1");
	if (!strcmp(ext, "refstorage"))
		return !strcmp(value, "files");
	for (size_t i = 0; i < KL_ARRAY_SIZE(harmless); i++)
		if (!strcmp(ext, harmless[i]))
			return true;
	return false;
}

static int refuse_extension(const char *ext, const char *value)
{
	int err;

	if (!strcmp(ext, "objectformat"))
		err = kl_error(KL_ECANNOT,
			       "this repository uses the object format '%s', "
			       "which libgit2 cannot read",
			       value);
	else if (!strcmp(ext, "refstorage"))
		err = kl_error(KL_ECANNOT,
			       "this repository uses the ref format '%s', "
			       "which libgit2 cannot read",
			       value);
	else
		return kl_error(KL_ECANNOT,
				"this repository uses the extension '%s', "
				"which libgit2 cannot read",
				ext);
	return kl_error_hint(err, "use a repository created with 'git init "
				  "--object-format=sha1' and refs in files");
}

static int check_extensions(struct kl_repo *repo)
{
	for (size_t i = 0; i < repo->config.n; i++) {
		const char *key = repo->config.e[i].key, *value = repo->config.e[i].value;

		if (!strncmp(key, "extensions.", 11) && !is_harmless(key + 11, value))
			return refuse_extension(key + 11, value);
	}
	return 0;
}

/* Set an error of the right kind from the message with which git rejected the repository. */
static int refused_by_git(const struct kl_repo *repo, struct kl_buf *complaint)
{
	if (strstr(complaint->ptr, "not a git repository"))
		return kl_error(KL_ENOTFOUND, "'%s' is not in a git repository", repo->start_dir);
	if (strstr(complaint->ptr, "dubious ownership")) {
		KL_AUTO(kl_freep) char *whole = kl_strdup(complaint->ptr);
		char *advice = strstr(whole, "git config --global");
		int err = kl_error(KL_EINVALID, "%s", kl_git_complaint(complaint));

		if (advice)
			kl_error_hint(err, "%.*s", (int)strcspn(advice, "\n"), advice);
		return err;
	}
	if (strstr(complaint->ptr, "unknown repository extension") ||
	    strstr(complaint->ptr, "repo version")) {
		for (char *at = complaint->ptr; *at; at++)
			if (*at == '\n' || *at == '\t')
				*at = ' ';
		return kl_error(KL_ECANNOT, "git cannot read this repository: %s",
				kl_git_complaint(complaint));
	}
	return kl_error(KL_EINVALID, "git cannot open '%s': %s", repo->start_dir,
			kl_git_complaint(complaint));
}

/*
 * Get all paths from git in one call. --show-toplevel is last because it fails without a worktree.
 */
static int locate_repo(struct kl_repo *repo)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf complaint = KL_BUF_INIT;
	struct kl_git_call call = {
		.args = KL_ARGS("rev-parse", "--is-bare-repository", "--show-object-format",
				"--show-prefix", "--path-format=absolute", "--git-dir",
				"--git-common-dir", "--git-path", "index", "--show-toplevel"),
		.here = true,
		.out = &out,
		.err = &complaint,
	};
	char *line[8] = { 0 };
	size_t n = 0;
	int status, err = kl_git_run(&status, repo, &call);

	if (err < 0)
		return err;
	for (char *at = out.ptr; *at && n < KL_ARRAY_SIZE(line); n++) {
		line[n] = at;
		at += strcspn(at, "\n");
		if (*at)
			*at++ = '\0';
	}
	if (n < 6)
		return refused_by_git(repo, &complaint);
	if (n > 7)
		return kl_error(KL_ECANNOT, "the repository's path contains a newline");
	repo->bare = !strcmp(line[0], "true");
	if (strcmp(line[1], "sha1"))
		return refuse_extension("objectformat", line[1]);
	repo->prefix = kl_strdup(line[2]);
	repo->git_dir = kl_strdup(line[3]);
	repo->common_dir = kl_strdup(line[4]);
	repo->index = kl_strdup(line[5]);
	repo->worktree = n > 6 ? kl_strdup(line[6]) : NULL;
	return 0;
}

/*
 * Return the id of this worktree. The main worktree has the id "main". A linked worktree with the
 * name "main" gets a suffix, because ids must differ.
 */
static char *worktree_id(const struct kl_repo *repo)
{
	const char *name, *at;

	if (!strcmp(repo->git_dir, repo->common_dir))
		return kl_strdup("main");
	name = strrchr(repo->git_dir, '/');
	name = name ? name + 1 : repo->git_dir;
	if (strncmp(name, "main", 4))
		return kl_strdup(name);
	for (at = name + 4; !strncmp(at, ".linked", 7); at += 7)
		;
	return *at ? kl_strdup(name) : kl_asprintf("%s.linked", name);
}

/* Open the object directories that the environment names, such as the quarantine of a push. */
static int environment_odb(struct kl_repo *repo)
{
	const char *dir = getenv("GIT_OBJECT_DIRECTORY");
	const char *more = getenv("GIT_ALTERNATE_OBJECT_DIRECTORIES");
	KL_AUTO(kl_strvec_release) struct kl_strvec alt = KL_STRVEC_INIT;
	int err;

	if (repo->isolated || (!dir && !more))
		return git_repository_odb(&repo->odb, repo->git);
	if (dir) {
		KL_AUTO(kl_freep) char *path = dir[0] == '/' ? kl_strdup(dir) :
							       kl_fs_join(repo->start_dir, dir);

		err = git_odb_open(&repo->odb, path);
		if (!err)
			err = git_repository_set_odb(repo->git, repo->odb);
	} else {
		err = git_repository_odb(&repo->odb, repo->git);
	}
	if (err < 0)
		return err;
	kl_strvec_split(&alt, more ? more : "", ":");
	for (size_t i = 0; i < alt.n && !err; i++)
		err = git_odb_add_disk_alternate(repo->odb, alt.v[i]);
	return err;
}

static int open_libgit2(struct kl_repo *repo)
{
	unsigned flags = GIT_REPOSITORY_OPEN_NO_SEARCH | GIT_REPOSITORY_OPEN_NO_DOTGIT |
			 GIT_REPOSITORY_OPEN_BARE;
	/*
	 * git has already checked the owner, and libgit2 1.5 does not support "safe.directory = *"
	 */
	int err = git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);

	if (!err)
		err = git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, harmless, KL_ARRAY_SIZE(harmless));
	/* do not verify hashes on every read; git, too, verifies them only in `git fsck` */
	if (!err)
		err = git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
	if (!err)
		err = git_repository_open_ext(&repo->git, repo->git_dir, flags, NULL);
	if (err < 0) {
		err = kl_error_git(err, "libgit2 cannot open '%s'", repo->git_dir);
		return err == KL_EIO ? KL_ECANNOT : err;
	}
	err = environment_odb(repo);
	return err < 0 ? kl_error_git(err, "cannot open the objects of '%s'", repo->git_dir) : 0;
}

static int open_from(struct kl_repo **out, const char *dir, bool isolated)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = kl_calloc(1, sizeof(*repo));
	int err;

	git_libgit2_init();
	repo->start_dir = kl_strdup(dir);
	repo->isolated = isolated;
	repo->config.free_value = free;
	if ((err = locate_repo(repo)) < 0 || (err = kl_config_load(repo)) < 0 ||
	    (err = check_extensions(repo)) < 0 || (err = open_libgit2(repo)) < 0)
		return err;
	repo->worktree_id = worktree_id(repo);
	*out = kl_steal(&repo);
	return 0;
}

int kl_repo_open(struct kl_repo **out)
{
	char dir[PATH_MAX];

	if (!getcwd(dir, sizeof(dir)))
		return kl_error_errno("cannot get the current directory");
	return open_from(out, dir, false);
}

int kl_repo_open_at(struct kl_repo **out, const char *dir)
{
	char full[PATH_MAX];

	if (!realpath(dir, full))
		return kl_error_errno("cannot open '%s'", dir);
	if (!kl_fs_is_dir(full))
		return kl_error(KL_ENOTFOUND, "'%s' is not a directory", dir);
	return open_from(out, full, true);
}

void kl_repo_free(struct kl_repo *repo)
{
	if (!repo)
		return;
	git_odb_free(repo->odb);
	git_repository_free(repo->git);
	free(repo->start_dir);
	free(repo->git_dir);
	free(repo->common_dir);
	free(repo->index);
	free(repo->worktree);
	free(repo->prefix);
	free(repo->worktree_id);
	free(repo->author.who);
	free(repo->author.dated);
	free(repo->committer.who);
	free(repo->committer.dated);
	kl_map_release(&repo->config);
	free(repo);
	git_libgit2_shutdown();
}

const char *kl_repo_git_dir(const struct kl_repo *repo)
{
	return repo->git_dir;
}

const char *kl_repo_common_dir(const struct kl_repo *repo)
{
	return repo->common_dir;
}

const char *kl_repo_worktree(const struct kl_repo *repo)
{
	return repo->worktree;
}

const char *kl_repo_prefix(const struct kl_repo *repo)
{
	return repo->prefix;
}

const char *kl_repo_worktree_id(const struct kl_repo *repo)
{
	return repo->worktree_id;
}

bool kl_repo_is_bare(const struct kl_repo *repo)
{
	return repo->bare;
}

int kl_repo_private(char **out, const struct kl_repo *repo, const char *name)
{
	KL_AUTO(kl_freep) char *dir = kl_fs_join(repo->common_dir, "klineage");
	int err = kl_fs_mkdir(dir);

	if (err < 0)
		return err;
	*out = kl_fs_join(dir, name);
	return 0;
}

/*
 * Return the name of the promisor remote of a partial clone; NULL if it is not a partial clone. The
 * caller frees it.
 */
static char *promisor_remote(struct kl_repo *repo)
{
	for (size_t i = 0; i < repo->config.n; i++) {
		const char *key = repo->config.e[i].key, *value = repo->config.e[i].value;
		size_t n = strlen(key), affixes = strlen("remote.") + strlen(".promisor");

		if (!strcmp(key, "extensions.partialclone"))
			return kl_strdup(value);
		if (n > affixes && !strncmp(key, "remote.", 7) &&
		    !strcmp(key + n - 9, ".promisor") && strcasecmp(value, "false"))
			return kl_strndup(key + 7, n - affixes);
	}
	return NULL;
}

int kl_repo_need_history(struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *remote = promisor_remote(repo);
	int err;

	if (git_repository_is_shallow(repo->git) == 1) {
		err = kl_error(KL_ECANNOT, "this clone is shallow: its history is cut off");
		return kl_error_hint(err, "git fetch --unshallow");
	}
	if (!remote)
		return 0;
	err = kl_error(KL_ECANNOT,
		       "this is a partial clone: some objects of its history exist only at '%s'",
		       remote);
	kl_error_hint(err, "git fetch --refetch --no-filter %s", remote);
	if (kl_repo_config(repo, "extensions.partialclone"))
		kl_error_hint(err, "git config --unset extensions.partialClone");
	kl_error_hint(err, "git config --unset remote.%s.promisor", remote);
	return kl_error_hint(err, "git config --unset remote.%s.partialCloneFilter", remote);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/checkup.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "event/signers.h"
#include "repo/hooks.h"
#include "repo/notes.h"

const char *kl_finding_state_name(enum kl_finding_state state)
{
	static const char *const names[] = { "good", "off", "weak", "bad" };

	return names[state];
}

void kl_checkup_release(struct kl_checkup *checkup)
{
	for (size_t i = 0; i < checkup->n; i++) {
		free(checkup->v[i].text);
		free(checkup->v[i].mend);
	}
	free(checkup->v);
}

enum kl_finding_state kl_checkup_worst(const struct kl_checkup *checkup)
{
	enum kl_finding_state worst = KL_FINDING_GOOD;

	for (size_t i = 0; i < checkup->n; i++)
		worst = checkup->v[i].state > worst ? checkup->v[i].state : worst;
	return worst;
}

/* Add a finding. Take ownership of `text` and `mend`. */
static void add_finding(struct kl_checkup *checkup, const char *check, enum kl_finding_state state,
			char *text, char *mend)
{
	KL_GROW(checkup->v, checkup->n + 1, checkup->alloc);
	checkup->v[checkup->n++] = (struct kl_finding){ check, state, text, mend };
}

/* Return the last error's message, and clear the error. The caller frees it. */
static char *take_message(void)
{
	char *text = kl_strdup(kl_error_last());

	kl_error_clear();
	return text;
}

/* --- jails ------------------------------------------------------------------------------- */

/* Return the first line of a file of the system, or "". The caller frees it. */
static char *read_line(const char *path)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (kl_fs_read(&text, path, 4096) < 0)
		kl_error_clear();
	return kl_strndup(text.ptr, strcspn(text.ptr, "\n"));
}

/* Settings that can forbid user namespaces, each with the command that allows them. */
static const struct {
	const char *path, *forbids, *mend;
} namespace_limits[] = {
	{ "/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=15000" },
	{ "/proc/sys/kernel/unprivileged_userns_clone", "0",
	  "sysctl kernel.unprivileged_userns_clone=1" },
	{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
	  "allow bwrap in AppArmor: a profile with 'userns' for /usr/bin/bwrap" },
};

static void check_namespaces(struct kl_checkup *checkup)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(namespace_limits); i++) {
		KL_AUTO(kl_freep) char *value = read_line(namespace_limits[i].path);

		if (strcmp(value, namespace_limits[i].forbids))
			continue;
		add_finding(checkup, "namespaces", geteuid() ? KL_FINDING_WEAK : KL_FINDING_OFF,
			    kl_asprintf("users cannot make user namespaces (%s is %s)",
					namespace_limits[i].path, value),
			    kl_strdup(namespace_limits[i].mend));
		return;
	}
	add_finding(checkup, "namespaces", KL_FINDING_GOOD,
		    kl_strdup("nothing forbids users to make user namespaces"), NULL);
}

static void check_levels(struct kl_checkup *checkup)
{
	for (int level = KL_JAIL_BWRAP; level < KL_JAIL_NONE; level++) {
		const char *name = kl_jail_level_name((enum kl_jail_level)level);
		struct kl_jail jail = { 0 };

		if (kl_jail_open(&jail, (enum kl_jail_level)level) == 0) {
			add_finding(checkup, "jail", KL_FINDING_GOOD,
				    kl_asprintf("%s works (%s)", name, kl_jail_tier(&jail)), NULL);
			continue;
		}
		add_finding(checkup, "jail", KL_FINDING_OFF, take_message(),
			    level == KL_JAIL_BWRAP ? kl_strdup("install the package bubblewrap") :
						     NULL);
	}
}

static int check_jail(struct kl_checkup *checkup, struct kl_repo *repo)
{
	const char *configured = repo ? kl_repo_config(repo, "klineage.jail") : NULL;
	struct kl_jail jail = { 0 };
	KL_AUTO(kl_freep) char *why = NULL;
	int err = kl_jail_open_named(&jail, configured);

	if (err == KL_EINTR)
		return err;
	why = take_message(); /* the other checks set messages of their own */
	check_levels(checkup);
	check_namespaces(checkup);
	if (err < 0) {
		add_finding(checkup, "jail", KL_FINDING_BAD, kl_steal(&why),
			    kl_strdup(configured ? "git config --unset klineage.jail" :
						   "install the package bubblewrap"));
		return 0;
	}
	add_finding(checkup, "jail",
		    jail.level == KL_JAIL_NONE                      ? KL_FINDING_WEAK :
		    !strcmp(kl_jail_tier(&jail), "host-restricted") ? KL_FINDING_WEAK :
								      KL_FINDING_GOOD,
		    kl_asprintf("kernels run in %s (%s)", kl_jail_level_name(jail.level),
				kl_jail_tier(&jail)),
		    jail.level == KL_JAIL_NONE ? kl_strdup("git config --unset klineage.jail") :
						 NULL);
	return 0;
}

/* --- compilers and devices ------------------------------------------------------------------- */

/* No kernel can be judged for a platform that no backend has. */
static void check_platform(struct kl_checkup *checkup, struct kl_repo *repo)
{
	const char *platform = repo ? kl_repo_config(repo, "klineage.platform") : NULL;
	const struct kl_backend *owner;

	if (platform && *platform && kl_backend_owner(&owner, &kl_backends, platform) < 0)
		add_finding(checkup, "platform", KL_FINDING_BAD, take_message(),
			    kl_strdup("git config --unset klineage.platform"));
}

static void check_tools(struct kl_checkup *checkup, struct kl_repo *repo)
{
	char *text = NULL;

	if (kl_backend_c.tools(&text, repo) == 0)
		add_finding(checkup, "C", KL_FINDING_GOOD, text, NULL);
	else
		add_finding(checkup, "C", KL_FINDING_BAD, take_message(),
			    kl_strdup("install the package gcc, or git config --unset "
				      "klineage.platform"));
	if (kl_backend_cuda.tools(&text, repo) == 0)
		add_finding(checkup, "CUDA", KL_FINDING_GOOD, text, NULL);
	else
		add_finding(checkup, "CUDA", KL_FINDING_OFF, take_message(),
			    kl_strdup("install the CUDA toolkit, or git config klineage.nvcc "
				      "<path>"));
}

static void check_device(struct kl_checkup *checkup)
{
	char list[1024] = "";

	if (!kl_backend_cuda.device->is_shown()) {
		add_finding(checkup, "GPU", KL_FINDING_OFF,
			    kl_strdup("this machine shows no GPU; kernels in CUDA are compiled "
				      "here, and judged elsewhere"),
			    kl_strdup("git config klineage.runner ssh:<host>, or bundle"));
		return;
	}
	kl_backend_cuda.device->list(list, sizeof(list));
	add_finding(checkup, "GPU", KL_FINDING_GOOD, kl_strdup(*list ? list : "a GPU"), NULL);
}

/* --- the clock -------------------------------------------------------------------------------- */

#define CLOCK_BLOCKS 200
/* Number of rounds of a loop, each of which depends on the one before. They take about 1 ms. */
#define CLOCK_STEPS 1000000
#define CLOCK_LIMIT_PPM 50000

static int by_time(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/*
 * Time a fixed loop many times. Set *spread to the distance of its 90th percentile from its median.
 */
static void time_blocks(int64_t *spread)
{
	int64_t took[CLOCK_BLOCKS];
	volatile uint64_t sink = 1;

	for (size_t i = 0; i < CLOCK_BLOCKS; i++) {
		int64_t since = kl_clock_ns();
		uint64_t value = sink;

		for (int k = 0; k < CLOCK_STEPS; k++)
			value = value * UINT64_C(6364136223846793005) + 1;
		sink = value;
		took[i] = kl_clock_ns() - since;
	}
	qsort(took, CLOCK_BLOCKS, sizeof(took[0]), by_time);
	*spread = (took[CLOCK_BLOCKS * 9 / 10] - took[CLOCK_BLOCKS / 2]) * 1000000 /
		  (took[CLOCK_BLOCKS / 2] ? took[CLOCK_BLOCKS / 2] : 1);
}

static void check_clock(struct kl_checkup *checkup)
{
	int64_t spread;
	double load[1] = { 0 };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	bool busy = getloadavg(load, 1) == 1 && load[0] > (double)cores / 2;

	time_blocks(&spread);
	add_finding(checkup, "clock", spread > CLOCK_LIMIT_PPM ? KL_FINDING_WEAK : KL_FINDING_GOOD,
		    kl_asprintf("nine of ten runs of a fixed loop take at most %.1f %% longer than "
				"the median; load %.1f on %ld core%s",
				(double)spread / 1e4, load[0], cores, cores == 1 ? "" : "s"),
		    spread > CLOCK_LIMIT_PPM ?
			    kl_strdup(busy ? "stop other programs while kernels are timed" :
					     "time kernels on a machine of your own: git config "
					     "klineage.runner ssh:<host>") :
			    NULL);
}

/* --- the clone ---------------------------------------------------------------------------------- */

/* Return true if klineage.signers names a commit that has no list of signers: it allows nobody. */
static bool lacks_list(struct kl_repo *repo, const char *rev)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	git_oid commit;
	int err = rev && *rev ? kl_repo_resolve(&commit, repo, rev) : KL_EINVALID;

	if (!err)
		err = kl_signers_of_commit(&list, repo, &commit);
	kl_error_clear();
	return err == KL_ENOTFOUND;
}

static int check_signing(struct kl_checkup *checkup, struct kl_repo *repo)
{
	KL_AUTO(kl_signers_freep) struct kl_signers *signers = NULL;
	const char *base = kl_repo_config(repo, "klineage.signers");
	bool signs = false;
	int err = kl_repo_config_bool(&signs, repo, "klineage.sign", false);

	if (!err)
		err = kl_signers_open(&signers, repo, NULL);
	if (err == KL_EINTR)
		return err;
	if (err < 0) {
		add_finding(checkup, "signers", KL_FINDING_WEAK, take_message(), NULL);
		return 0;
	}
	add_finding(checkup, "signing", signs ? KL_FINDING_GOOD : KL_FINDING_OFF,
		    kl_strdup(signs ? "gate events are signed" : "gate events are not signed"),
		    signs ? NULL : kl_strdup("git config klineage.sign true"));
	if (kl_signers_none(signers))
		add_finding(checkup, "signers", KL_FINDING_OFF,
			    kl_strdup("nobody's verdicts are taken for runs of this clone"),
			    kl_strdup("git config klineage.signers <base branch> (git help "
				      "klineage)"));
	else if (lacks_list(repo, base))
		add_finding(checkup, "signers", KL_FINDING_WEAK,
			    kl_asprintf("klineage.signers is '%s', which has no list of signers",
					base),
			    kl_strdup("git config klineage.signers <base branch> (git help "
				      "klineage)"));
	else
		add_finding(checkup, "signers", KL_FINDING_GOOD,
			    kl_strdup("verdicts of the allowed signers are taken"), NULL);
	return 0;
}

static int check_hooks(struct kl_checkup *checkup, struct kl_repo *repo)
{
	KL_AUTO(kl_hooks_release) struct kl_hooks hooks = { 0 };
	size_t there = 0;
	int err = kl_hooks_look(&hooks, repo, false);

	if (err == KL_EINVALID) { /* the repository is bare, so nobody commits in it */
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	for (size_t i = 0; i < KL_HOOKS_EVENTS; i++)
		there += hooks.hook[i].state == KL_HOOK_OURS ||
			 hooks.hook[i].state == KL_HOOK_CHAINED ||
			 hooks.hook[i].state == KL_HOOK_CALLED;
	add_finding(checkup, "hooks", there == KL_HOOKS_EVENTS ? KL_FINDING_GOOD : KL_FINDING_OFF,
		    kl_asprintf("%zu of %d hooks are installed", there, KL_HOOKS_EVENTS),
		    there == KL_HOOKS_EVENTS ? NULL : kl_strdup("git klineage hooks install"));
	return 0;
}

static int check_identity(struct kl_checkup *checkup, struct kl_repo *repo)
{
	const char *who;
	int err = kl_repo_identity(&who, repo);

	if (err == KL_EINTR)
		return err;
	if (err < 0)
		add_finding(checkup, "identity", KL_FINDING_WEAK, take_message(),
			    kl_strdup("git config user.name and user.email"));
	else
		add_finding(checkup, "identity", KL_FINDING_GOOD, kl_strdup(who), NULL);
	return 0;
}

int kl_checkup_run(struct kl_checkup *out, struct kl_repo *repo, bool clock)
{
	int err;

	check_platform(out, repo);
	check_tools(out, repo);
	check_device(out);
	if ((err = check_jail(out, repo)) < 0)
		return err;
	if (clock)
		check_clock(out);
	if (!repo)
		return 0;
	if ((err = check_identity(out, repo)) < 0 || (err = check_hooks(out, repo)) < 0)
		return err;
	return check_signing(out, repo);
}

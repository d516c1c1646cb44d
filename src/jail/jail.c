/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/jail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "jail/impl.h"

static const struct {
	enum kl_jail_level level;
	const char *name, *tier;
} levels[] = {
	{ KL_JAIL_AUTO, "auto", "" },
	{ KL_JAIL_BWRAP, "bwrap", "host-sandboxed" },
	{ KL_JAIL_LANDLOCK, "landlock", "host-sandboxed" },
	{ KL_JAIL_CHROOT, "chroot", "host-restricted" },
	{ KL_JAIL_NONE, "none", "unsandboxed" },
};

const char *kl_jail_level_name(enum kl_jail_level level)
{
	return levels[level].name;
}

const char *kl_jail_tier(const struct kl_jail *jail)
{
	return levels[jail->level].tier;
}

int kl_jail_level_parse(enum kl_jail_level *out, const char *name)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(levels); i++) {
		if (!strcmp(name, levels[i].name)) {
			*out = levels[i].level;
			return 0;
		}
	}
	return kl_error(KL_EINVALID,
			"unknown jail '%s' (available: auto, bwrap, landlock, chroot, none)", name);
}

int kl_jail_open_named(struct kl_jail *out, const char *name)
{
	const char *forced = getenv("KLINEAGE_JAIL");
	enum kl_jail_level want = KL_JAIL_AUTO;
	int err = 0;

	if (forced && *forced)
		name = forced;
	if (name)
		err = kl_jail_level_parse(&want, name);
	return err < 0 ? err : kl_jail_open(out, want);
}

void kl_jail_proc_opts(struct kl_proc_opts *opts, const struct kl_jail_run *run)
{
	*opts = (struct kl_proc_opts){
		.argv = run->argv,
		.env = run->env,
		.in = run->in,
		.in_len = run->in_len,
		.out = run->out,
		.err = run->err,
		.timeout_ms = run->timeout_ms,
	};
}

static int bare_before_exec(void *payload)
{
	return kl_jail_limits_apply(payload);
}

static int run_bare(struct kl_proc_result *res, const struct kl_jail_run *run)
{
	struct kl_jail_limits limits;
	struct kl_proc_opts opts;

	kl_jail_limits_of(&limits, run);
	kl_jail_proc_opts(&opts, run);
	opts.dir = run->workdir;
	opts.before_exec = bare_before_exec;
	opts.payload = &limits;
	return kl_proc_run(res, &opts);
}

static void fixed_env(struct kl_strvec *env, const char *workdir)
{
	kl_strvec_push(env, "PATH=/usr/bin:/bin");
	kl_strvec_push(env, "HOME=/nonexistent");
	kl_strvec_push(env, "LC_ALL=C");
	kl_strvec_pushf(env, "TMPDIR=%s", workdir);
	kl_strvec_push(env, "SOURCE_DATE_EPOCH=0");
}

int kl_jail_run(struct kl_proc_result *res, const struct kl_jail *jail,
		const struct kl_jail_run *jail_run)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec env = KL_STRVEC_INIT;
	struct kl_jail_run run = *jail_run;

	if (jail_run->workdir[0] != '/')
		KL_BUG("work directory '%s' is not absolute", jail_run->workdir);
	if (!run.env) {
		fixed_env(&env, jail_run->workdir);
		run.env = (const char *const *)env.v;
	}
	switch (jail->level) {
	case KL_JAIL_BWRAP:
		return kl_jail_bwrap(res, jail, &run);
	case KL_JAIL_LANDLOCK:
		return kl_jail_landlock(res, jail, &run);
	case KL_JAIL_CHROOT:
		return kl_jail_chroot(res, jail, &run);
	case KL_JAIL_NONE:
		return run_bare(res, &run);
	case KL_JAIL_AUTO:
		break;
	}
	KL_BUG("the jail is not open");
}

/*
 * Check that the level works: run a test program in it, which must write a file and exit with the
 * expected status.
 */
static int probe_level(const struct kl_jail *jail)
{
	static const char *const argv[] = { "/bin/sh", "-c", "echo >probe && exit 7", NULL };
	KL_AUTO(kl_fs_tempdir_cleanup) char *dir = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_proc_result res;
	struct kl_jail_run run = {
		.policy = KL_JAIL_RUN,
		.argv = argv,
		.err = &text,
		.timeout_ms = 10000,
	};
	int err = kl_fs_tempdir(&dir, "kl-probe");

	if (err < 0)
		return err;
	run.workdir = dir;
	err = kl_jail_run(&res, jail, &run);
	if (err < 0)
		return kl_error_in(err == KL_EINTR ? err : KL_ECANNOT, "jail %s",
				   kl_jail_level_name(jail->level));
	if (res.exit == 7)
		return 0;
	kl_buf_rtrim(&text);
	return kl_error(KL_ECANNOT, "jail %s does not work here: %s",
			kl_jail_level_name(jail->level),
			text.len ? text.ptr : "its test program failed");
}

static int open_level(struct kl_jail *out, enum kl_jail_level level)
{
	struct kl_jail jail = { .level = level };
	int err;

	if (level == KL_JAIL_NONE) {
		*out = jail;
		return 0;
	}
	/*
	 * as root, first try with mounts; if that fails, use a user namespace (bwrap) or no mounts
	 * (chroot)
	 */
	jail.userns = level == KL_JAIL_BWRAP && geteuid() != 0;
	err = probe_level(&jail);
	if (err == KL_ECANNOT && level == KL_JAIL_BWRAP && !jail.userns) {
		jail.userns = true;
		err = probe_level(&jail);
	} else if (err == KL_ECANNOT && level == KL_JAIL_CHROOT && geteuid() == 0) {
		jail.no_mounts = true;
		err = probe_level(&jail);
	}
	if (!err)
		*out = jail;
	return err;
}

int kl_jail_open(struct kl_jail *out, enum kl_jail_level want)
{
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	int err;

	if (want != KL_JAIL_AUTO)
		return open_level(out, want);
	for (int level = KL_JAIL_BWRAP; level <= KL_JAIL_CHROOT; level++) {
		err = open_level(out, level);
		if (err != KL_ECANNOT)
			return err;
		kl_buf_addf(&why, "%s%s", why.len ? "; " : "", kl_error_last());
	}
	err = kl_error(KL_ECANNOT, "no jail works on this machine: %s", why.ptr);
	return kl_error_hint(err, "install bubblewrap, or allow running without a jail: "
				  "git config klineage.jail none");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/vec.h"

/*
 * The flags in /proc/cpuinfo that each level of the x86-64 psABI adds to those of the level below.
 */
static const char *const level_flags[] = {
	NULL,
	"",
	"cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
	"avx avx2 bmi1 bmi2 f16c fma abm movbe",
	"avx512f avx512bw avx512cd avx512dq avx512vl",
};
#define LEVELS 4

/*
 * Return the value of the first line with the given key, such as "flags\t\t: fpu vme ..."; "" if
 * there is no such line.
 */
static char *cpuinfo_value(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) || !strchr("\t :", line[n]))
			continue;
		line += strcspn(line, ":\n");
		line += *line == ':';
		line += strspn(line, " ");
		return kl_strndup(line, strcspn(line, "\n"));
	}
	return kl_strdup("");
}

static bool has_flags(const char *all, const char *wanted)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec have = KL_STRVEC_INIT, want = KL_STRVEC_INIT;

	kl_strvec_split(&have, all, " ");
	kl_strvec_split(&want, wanted, " ");
	for (size_t i = 0; i < want.n; i++)
		if (!kl_strvec_has(&have, want.v[i]))
			return false;
	return true;
}

static int highest_level(const char *flags)
{
	int level = 0;

#ifdef __x86_64__
	for (level = 1; level < LEVELS && has_flags(flags, level_flags[level + 1]); level++)
		;
#endif
	return level;
}

static int parse_level(int *out, const char *want)
{
	const char *text = strncmp(want, "cpu/", 4) ? want : want + 4;
	char ch;

	if (sscanf(text, "x86-64-v%d%c", out, &ch) != 1 || *out < 1 || *out > LEVELS)
		return kl_error(
			KL_EINVALID,
			"unknown platform '%s' (available: cpu/x86-64-v1 to cpu/x86-64-v%d)", want,
			LEVELS);
	return 0;
}

static int find_compiler(struct kl_platform *platform)
{
	static const char *const argv[] = { "gcc", "-dumpfullversion", NULL };
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	int err = kl_proc_output(&buf, argv);

	if (err == KL_EINTR)
		return err;
	if (err < 0)
		return kl_error_hint(kl_error(KL_ECANNOT, "no C compiler found: cannot run 'gcc'"),
				     "install gcc, or run 'make deps'");
	kl_buf_rtrim(&buf);
	snprintf(platform->compiler, sizeof(platform->compiler), "gcc %.40s", buf.ptr);
	return 0;
}

/* Refuse a level; the message lists the features that the processor lacks. */
static int refuse_level(const char *flags, int most, int level)
{
	KL_AUTO(kl_buf_release) struct kl_buf missing = KL_BUF_INIT;

	for (int i = most + 1; i <= level; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec want = KL_STRVEC_INIT;

		kl_strvec_split(&want, level_flags[i], " ");
		for (size_t k = 0; k < want.n; k++)
			if (!has_flags(flags, want.v[k]))
				kl_buf_addf(&missing, " %s", want.v[k]);
	}
	return kl_error(
		KL_ECANNOT,
		"this machine is x86-64-v%d and cannot run x86-64-v%d: its processor lacks%s", most,
		level, missing.ptr);
}

int kl_machine_platform(struct kl_platform *out, const char *want)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *flags = NULL;
	KL_AUTO(kl_freep) char *model = NULL;
	struct kl_platform platform = { .id = "" };
	int err = kl_fs_read(&text, "/proc/cpuinfo", 64 << 20), most, level;

	if (err < 0)
		return kl_error_in(KL_ECANNOT, "cannot identify the processor");
	flags = cpuinfo_value(text.ptr, "flags");
	model = cpuinfo_value(text.ptr, "model name");
	most = highest_level(flags);
	if (!most)
		return kl_error(KL_ECANNOT,
				"this machine is not x86-64; kernels in C are not supported on it");
	level = most < 3 ? most : 3;
	if (want && (err = parse_level(&level, want)) < 0)
		return err;
	if (level > most)
		return refuse_level(flags, most, level);
	err = find_compiler(&platform);
	if (err < 0)
		return err;
	snprintf(platform.march, sizeof(platform.march), level == 1 ? "x86-64" : "x86-64-v%d",
		 level);
	snprintf(platform.id, sizeof(platform.id), "cpu/x86-64-v%d", level);
	snprintf(platform.device, sizeof(platform.device), "%.120s", model);
	*out = platform;
	return 0;
}

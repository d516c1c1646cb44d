/* SPDX-License-Identifier: Apache-2.0 */
/* plan_arch - GPU architectures: their facts, and which code runs on which */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "plan/plan.h"
#include "text/schema.h"

#define GIB(n) ((int64_t)(n) << 30)

/*
 * The products of one architecture have the same shared memory, but differ otherwise. The
 * multiprocessors and the L2 cache given here are those of one product; the memory is that of the
 * product with the most memory.
 */
static const struct arch {
	const char *name;
	struct kl_plan_facts facts;
} archs[] = {
	{ "sm_75", { 40, 65536, 75, 4 << 20, GIB(48) } },
	{ "sm_80", { 108, 166912, 80, 40 << 20, GIB(96) } },
	{ "sm_86", { 84, 101376, 86, 6 << 20, GIB(48) } },
	{ "sm_87", { 16, 166912, 87, 4 << 20, GIB(64) } },
	{ "sm_89", { 128, 101376, 89, 72 << 20, GIB(48) } },
	{ "sm_90", { 132, 232448, 90, 50 << 20, GIB(144) } },
	{ "sm_100", { 148, 232448, 100, 126 << 20, GIB(192) } },
	{ "sm_103", { 148, 232448, 103, 126 << 20, GIB(288) } },
	{ "sm_120", { 170, 101376, 120, 96 << 20, GIB(96) } },
	{ "sm_121", { 48, 101376, 121, 24 << 20, GIB(128) } },
};

/*
 * Find an architecture by its name, which can have a suffix: "sm_90a" also uses features that only
 * sm_90 has, and "sm_100f" also uses features that only its family has. *suffix is the letter, or
 * 0. Return NULL if the name is unknown.
 */
static const struct arch *find_arch(const char *name, char *suffix)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(archs); i++) {
		size_t n = strlen(archs[i].name);
		const char *rest = name + n;

		if (strncmp(archs[i].name, name, n))
			continue;
		if (*rest && (rest[1] || !((*rest == 'a' && archs[i].facts.cc >= 90) ||
					   (*rest == 'f' && archs[i].facts.cc >= 100))))
			continue;
		*suffix = *rest;
		return &archs[i];
	}
	return NULL;
}

int kl_plan_arch_facts(struct kl_plan_facts *out, const char *arch)
{
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;
	char suffix;
	const struct arch *left = find_arch(arch, &suffix);

	if (left) {
		*out = left->facts;
		return 0;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(archs); i++)
		kl_buf_addf(&list, "%s%s%s", i ? ", " : "", archs[i].name,
			    archs[i].facts.cc >= 90 ? "[a]" : "");
	return kl_error(KL_EINVALID, "unknown architecture '%.16s' (known: %s)", arch, list.ptr);
}

static int check_arch(const char *file, const struct kl_yaml *node, const char *key)
{
	struct kl_plan_facts facts;

	return kl_plan_arch_facts(&facts, node->text) < 0 ? kl_yaml_error_inside(file, node, 0) : 0;
}

const struct kl_string_type kl_plan_arch_string = { "an architecture", NULL, check_arch };

bool kl_plan_arch_raise(char *out, size_t size, const char *arch, int64_t cc)
{
	char suffix = '\0';
	const struct arch *least = find_arch(arch, &suffix);

	if (!least || suffix || least->facts.cc >= cc)
		return false;
	for (size_t i = 0; i < KL_ARRAY_SIZE(archs); i++) {
		if (archs[i].facts.cc != cc)
			continue;
		snprintf(out, size, "%s", archs[i].name);
		return true;
	}
	return false;
}

bool kl_plan_arch_runs(const char *arch, int64_t cc)
{
	char suffix = '\0';
	const struct arch *left = find_arch(arch, &suffix);

	if (!left)
		return false;
	if (suffix == 'a')
		return left->facts.cc == cc;
	/*
	 * machine code runs on devices of its own major version with the same or a higher minor
	 * version
	 */
	return left->facts.cc / 10 == cc / 10 && left->facts.cc <= cc;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_FIXTURE_H
#define KL_PLAN_FIXTURE_H

#include "test.h"

#include "base/fs.h"
#include "contract/launch.h"

/* plan_fixture - the contracts and plans of tests/data/plans. */
#define PLANS KL_SOURCE "/tests/data/plans/"

static inline void plan_text(struct kl_buf *out, const char *name)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf(PLANS "%s.yaml", name);

	assert_ok(kl_fs_read(out, path, 1 << 20));
}

static inline struct kl_contract *plan_contract(const char *name)
{
	KL_AUTO(kl_freep) char *file = kl_asprintf("%s.contract", name);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_contract *contract = NULL;

	plan_text(&text, file);
	assert_ok(kl_contract_parse(&contract, "klineage.yaml", text.ptr, text.len));
	return contract;
}

/* The 80 bytes that chain.yaml passes by value, and an empty file. */
static inline size_t plan_files(struct kl_file file[2])
{
	static char bytes[80] = "\001\377";
	static char names[2][16] = { "params.bin", "empty.bin" };

	file[0] = (struct kl_file){ .path = names[0], .data = bytes, .len = sizeof(bytes) };
	file[1] = (struct kl_file){ .path = names[1], .data = bytes, .len = 0 };
	return 2;
}

static inline int plan_read(struct kl_launch **out, const struct kl_contract *contract,
			    const char *text)
{
	struct kl_file file[2];
	size_t n = plan_files(file);

	return kl_launch_parse(out, contract, "launch.yaml", text, strlen(text), file, n, NULL);
}

static inline struct kl_launch *plan_good(const struct kl_contract *contract, const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_launch *launch = NULL;

	plan_text(&text, name);
	assert_ok(plan_read(&launch, contract, text.ptr));
	return launch;
}

/* `text` with the first `from` replaced, which must be there. */
static inline char *plan_edit(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	if (!at)
		fail_msg("no '%s' in the plan", from);
	return kl_asprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Whose list of signers counts for a push: never one that the pushed commits brought. */
#include "event/push_base.h"

#include <stdio.h>

#include "scratch.h"

struct fixture {
	char *dir;
	struct kl_repo *r;
};

static void fixture_release(struct fixture *fixture)
{
	kl_repo_free(fixture->r);
	free(fixture->dir);
}

/* main: "first" has alice's key, "second" adds mallory's, "third" another; "plain" has no new key */
static struct fixture fixture(const char *name, const char *signers)
{
	struct fixture out = { .dir = scratch_dir(name) };

	sh(out.dir,
	   "git init -q -b main . && mkdir .klineage && echo alice >.klineage/allowed_signers && "
	   "git add . && git commit -q -m 1 && git tag first && "
	   "git commit -q --allow-empty -m plain && git tag plain && git reset -q --hard first && "
	   "echo mallory >>.klineage/allowed_signers && git commit -q -a -m 2 && git tag second && "
	   "echo trudy >>.klineage/allowed_signers && git commit -q -a -m 3 && git tag third && "
	   "git tag -a -m x tagged && git config klineage.signers %s",
	   signers);
	assert_ok(kl_repo_open_at(&out.r, out.dir));
	return out;
}

/*
 * Push `local` as a ref of which the remote has `remote`, and, unless NULL, as a second one of which
 * it has `also`, with one commit that the remote lacks. Return the commit's list that counts: its
 * tag, or "" for that of klineage.signers.
 */
static const char *base_of(const struct fixture *fixture, const char *local, const char *remote,
			   const char *also)
{
	static char hex[KL_OID_HEX];
	struct kl_push_ref ref[2] = { { .local = oid_of(fixture->dir, local) } };
	KL_AUTO(kl_freep) char *peeled = kl_asprintf("%s^{commit}", local);
	git_oid commit = oid_of(fixture->dir, peeled), base, first = oid_of(fixture->dir, "first");
	bool own;

	ref[1] = ref[0];
	if (remote)
		ref[0].remote = oid_of(fixture->dir, remote);
	if (also)
		ref[1].remote = oid_of(fixture->dir, also);
	assert_ok(kl_push_base(&own, &base, fixture->r, ref, also ? 2 : 1, &commit, 1));
	if (!own)
		return "";
	if (!memcmp(&base, &first, sizeof(base)))
		return "first";
	kl_oid_hex(hex, &base);
	return hex;
}

static void list_is_that_of_the_base(void **state)
{
	KL_AUTO(fixture_release) struct fixture other = fixture("base", "second");

	assert_string_equal(base_of(&other, "second", "first", NULL), "first");
	assert_string_equal(base_of(&other, "second", NULL, NULL), "first");
	/* the branch of the signers is ahead of the pushed commits */
	sh(other.dir, "git config klineage.signers main");
	kl_repo_free(other.r);
	assert_ok(kl_repo_open_at(&other.r, other.dir));
	assert_string_equal(base_of(&other, "second", "first", NULL), "first");
}

static void other_pushes_have_the_list_of_the_branch(void **state)
{
	KL_AUTO(fixture_release) struct fixture none = fixture("none", "''");
	KL_AUTO(fixture_release) struct fixture gone = fixture("gone", "no-such-branch");
	KL_AUTO(fixture_release) struct fixture before = fixture("before", "first");
	KL_AUTO(fixture_release) struct fixture same = fixture("same", "plain");
	KL_AUTO(fixture_release) struct fixture whole = fixture("whole", "main");

	assert_string_equal(base_of(&none, "second", "first", NULL), "");
	assert_string_equal(base_of(&gone, "second", "first", NULL), "");
	assert_string_equal(base_of(&before, "second", "first", NULL), "");
	assert_string_equal(base_of(&same, "plain", "first", NULL), "");
	/* a whole history */
	assert_string_equal(base_of(&whole, "first", NULL, NULL), "");
}

static void refs_do_not_vouch_for_each_other(void **state)
{
	KL_AUTO(fixture_release) struct fixture other = fixture("several", "main");

	assert_string_equal(base_of(&other, "third", "second", "first"), "first");
	assert_string_equal(base_of(&other, "third", "first", "second"), "first");
}

static void tags_are_followed_and_absent_commits_are_not(void **state)
{
	KL_AUTO(fixture_release) struct fixture other = fixture("tags", "main");
	struct kl_push_ref ref = { .local = oid_of(other.dir, "second") };
	git_oid commit = ref.local, base, first = oid_of(other.dir, "first");
	bool own;

	assert_string_equal(base_of(&other, "tagged", "first", NULL), "first");
	memset(&ref.remote, 0x5a, sizeof(ref.remote));
	assert_ok(kl_push_base(&own, &base, other.r, &ref, 1, &commit, 1));
	assert_true(own);
	assert_memory_equal(&base, &first, sizeof(base));
	/* an object that is not a commit has no list */
	ref.local = oid_of(other.dir, "first:.klineage/allowed_signers");
	assert_ok(kl_push_base(&own, &base, other.r, &ref, 1, &commit, 1));
	assert_false(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_is_that_of_the_base),
		cmocka_unit_test(other_pushes_have_the_list_of_the_branch),
		cmocka_unit_test(refs_do_not_vouch_for_each_other),
		cmocka_unit_test(tags_are_followed_and_absent_commits_are_not),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

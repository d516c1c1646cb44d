/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <sys/wait.h>

#include "base/fs.h"
#include "event/own.h"

#define ZERO "0000000000000000000000000000000000000000000000000000000000000000"
#define ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define TWO "2222222222222222222222222222222222222222222222222222222222222222"
#define THREE "abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"

struct fixture {
	char *dir, *file;
	struct kl_repo *repo;
};

static void fixture_open(struct fixture *fixture, const char *name)
{
	fixture->dir = scratch_repo(name);
	fixture->file = kl_fs_join(fixture->dir, ".git/klineage/made");
	assert_ok(kl_repo_open_at(&fixture->repo, fixture->dir));
}

static void fixture_close(struct fixture *fixture)
{
	kl_repo_free(fixture->repo);
	free(fixture->dir);
	free(fixture->file);
}

static bool has(struct fixture *fixture, const char *hex)
{
	struct kl_own own;
	bool yes;

	assert_ok(kl_own_load(&own, fixture->repo));
	yes = kl_own_has(&own, hex);
	kl_own_release(&own);
	return yes;
}

static void what_was_added_is_there(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };

	fixture_open(&fixture, "own-add");
	assert_false(has(&fixture, ONE));
	assert_ok(kl_own_add(fixture.repo, NULL, 0));
	assert_false(kl_fs_exists(fixture.file));
	assert_ok(kl_own_add(fixture.repo, (const char *const[]){ TWO, ONE }, 2));
	assert_ok(kl_own_add_one(fixture.repo, THREE));
	assert_true(has(&fixture, ONE) && has(&fixture, TWO) && has(&fixture, THREE));
	assert_false(has(&fixture, ""));
	assert_false(has(&fixture, "1111111"));
	assert_false(has(&fixture, ONE "1"));
	assert_false(has(&fixture, ZERO));
}

/* A process that is killed while it writes leaves a part of a line. */
static void a_line_without_an_end_is_nobodys(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };

	fixture_open(&fixture, "own-torn");
	assert_ok(kl_own_add_one(fixture.repo, ONE));
	sh(fixture.dir, "printf %%s 222222 >>.git/klineage/made");
	assert_true(has(&fixture, ONE));
	assert_ok(kl_own_add_one(fixture.repo, THREE));
	assert_true(has(&fixture, ONE) && has(&fixture, THREE));
	sh(fixture.dir, "printf %%s " TWO " >>.git/klineage/made");
	assert_false(has(&fixture, TWO));
	sh(fixture.dir, "printf '\\n%%s\\n%%s\\n' XYZ '" THREE " ' >>.git/klineage/made");
	assert_true(has(&fixture, ONE) && has(&fixture, TWO) && has(&fixture, THREE));
}

/* The first few searches read the file, later ones a sorted list: the answers are the same. */
static void many_searches_say_the_same(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	struct kl_own own;

	fixture_open(&fixture, "own-searches");
	assert_ok(kl_own_add(fixture.repo, (const char *const[]){ TWO, ONE }, 2));
	sh(fixture.dir, "printf 'short\n%%s3\n' " TWO " >>.git/klineage/made");
	assert_ok(kl_own_add_one(fixture.repo, THREE));
	assert_ok(kl_own_load(&own, fixture.repo));
	for (int i = 0; i < 40; i++) {
		assert_true(kl_own_has(&own, ONE) && kl_own_has(&own, TWO) &&
			    kl_own_has(&own, THREE));
		assert_false(kl_own_has(&own, ZERO) || kl_own_has(&own, TWO "3"));
	}
	kl_own_release(&own);
}

static void a_link_is_not_followed(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };

	fixture_open(&fixture, "own-link");
	sh(fixture.dir, "mkdir .git/klineage && ln -s ../../elsewhere .git/klineage/made");
	assert_error(KL_EIO, "cannot open", kl_own_add_one(fixture.repo, ONE));
	sh(fixture.dir, "test ! -e elsewhere");
}

static void many_at_once_lose_nothing(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	char hex[65];

	fixture_open(&fixture, "own-many");
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		for (int k = 0; !pid && k < 50; k++) {
			snprintf(hex, sizeof(hex), "%032d%032d", i, k);
			if (kl_own_add_one(fixture.repo, hex) < 0)
				_exit(1);
		}
		if (!pid)
			_exit(0);
	}
	for (int i = 0, status; i < 8; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < 8 * 50; i++) {
		snprintf(hex, sizeof(hex), "%032d%032d", i / 50, i % 50);
		assert_true(has(&fixture, hex));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_there),
		cmocka_unit_test(a_line_without_an_end_is_nobodys),
		cmocka_unit_test(many_searches_say_the_same),
		cmocka_unit_test(a_link_is_not_followed),
		cmocka_unit_test(many_at_once_lose_nothing),
	};

	return cmocka_run_group_tests_name("event/own", tests, scratch_setup, scratch_teardown);
}

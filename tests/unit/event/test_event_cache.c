/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include "event/cache.h"
#include "event/fold.h"
#include "event_lib.h"

static struct kl_platform platform = {
	.id = "cpu/x86-64-v3",
	.device = "cpu A",
	.compiler = "gcc 1",
};

struct fixture {
	char *dir;
	struct kl_repo *repo;
	struct kl_strvec flags;
	struct kl_cache_key key;
};

static void fixture_open(struct fixture *fixture, const char *name)
{
	fixture->dir = scratch_repo(name);
	assert_ok(kl_repo_open_at(&fixture->repo, fixture->dir));
	kl_strvec_push(&fixture->flags, "-O2");
	fixture->key = (struct kl_cache_key){
		.surface = "s",
		.contract = "c",
		.platform = &platform,
		.flags = &fixture->flags,
		.tier = KL_TIER_HOST_SANDBOXED,
		.parent = "p",
		.profile = true,
	};
}

static void fixture_close(struct fixture *fixture)
{
	kl_repo_free(fixture->repo);
	kl_strvec_release(&fixture->flags);
	free(fixture->dir);
}

static struct kl_event *event(const char *surface)
{
	return event_of(json_pack("{s:i,s:s,s:s,s:s,s:s}", "v", 1, "kind", "gate", "surface",
				  surface, "contract", "c", "verdict", "pass"),
			true);
}

static void assert_same(const struct kl_event *left, const struct kl_event *right)
{
	KL_AUTO(kl_freep) char *line = line_of(left);
	KL_AUTO(kl_freep) char *other = line_of(right);

	assert_string_equal(line, other);
}

static void what_is_put_is_got(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *other = event("s"), *back = NULL, *again = NULL;

	fixture_open(&fixture, "put");
	assert_error(KL_ENOTFOUND, "not yet judged",
		     kl_cache_get(&back, fixture.repo, &fixture.key));
	assert_ok(kl_cache_put(fixture.repo, &fixture.key, other));
	assert_ok(kl_cache_get(&back, fixture.repo, &fixture.key));
	assert_same(back, other);
	assert_ok(kl_cache_put(fixture.repo, &fixture.key, other));
	assert_ok(kl_cache_get(&again, fixture.repo, &fixture.key));
	/* git ignores files in this directory */
	sh(fixture.dir, "git fsck --strict && test -z \"$(git status --porcelain)\"");
}

/* Whatever a verdict depends on, another value of it is another verdict. */
static void every_part_of_the_key_counts(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *other = event("s"), *back = NULL;
	struct kl_platform platforms[3] = { platform, platform, platform };
	KL_AUTO(kl_strvec_release) struct kl_strvec none = KL_STRVEC_INIT, split = KL_STRVEC_INIT;
	struct kl_cache_key keys[11];

	fixture_open(&fixture, "key");
	assert_ok(kl_cache_put(fixture.repo, &fixture.key, other));
	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++)
		keys[i] = fixture.key;
	keys[0].surface = "s2";
	keys[1].contract = "c2";
	strcpy(platforms[0].id, "cpu/x86-64-v2");
	keys[2].platform = &platforms[0];
	strcpy(platforms[1].device, "cpu B");
	keys[3].platform = &platforms[1];
	strcpy(platforms[2].compiler, "gcc 2");
	keys[4].platform = &platforms[2];
	keys[5].flags = &none;
	kl_strvec_push(&split, "-O");
	kl_strvec_push(&split, "2");
	keys[6].flags = &split;
	keys[7].tier = KL_TIER_UNSANDBOXED;
	keys[8].parent = NULL;
	keys[9].profile = false;
	keys[10].quick = true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++)
		if (kl_cache_get(&back, fixture.repo, &keys[i]) != KL_ENOTFOUND)
			fail_msg("key %zu finds another's verdict", i);
	assert_ok(kl_cache_get(&back, fixture.repo, &fixture.key));
}

/* A runner's verdict is that of the device it told of, until it tells of another. */
static void a_runner_has_a_device(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *other = event("s"), *back = NULL;
	struct kl_runner_device runner_device,
		gpu[] = { { "GPU A", "1" }, { "GPU A", "2" }, { "GPU B", "1" } };

	fixture_open(&fixture, "told");
	fixture.key.runner = "ssh:a";
	fixture.key.runner_device = &runner_device;
	kl_runner_device_get(&runner_device, fixture.repo, "ssh:a", "cuda/sm_90");
	assert_string_equal(runner_device.device, "");
	assert_ok(kl_runner_device_put(fixture.repo, "ssh:a", "cuda/sm_90", &gpu[0]));
	kl_runner_device_get(&runner_device, fixture.repo, "ssh:a", "cuda/sm_90");
	assert_string_equal(runner_device.device, "GPU A");
	assert_string_equal(runner_device.driver, "1");
	assert_ok(kl_cache_put(fixture.repo, &fixture.key, other));
	for (size_t i = 1; i < KL_ARRAY_SIZE(gpu); i++) {
		assert_ok(kl_runner_device_put(fixture.repo, "ssh:a", "cuda/sm_90", &gpu[i]));
		kl_runner_device_get(&runner_device, fixture.repo, "ssh:a", "cuda/sm_90");
		assert_int_equal(kl_cache_get(&back, fixture.repo, &fixture.key), KL_ENOTFOUND);
		assert_int_equal(kl_cache_find(&back, fixture.repo, &fixture.key), KL_ENOTFOUND);
	}
	assert_ok(kl_runner_device_put(fixture.repo, "ssh:a", "cuda/sm_90", &gpu[0]));
	kl_runner_device_get(&runner_device, fixture.repo, "ssh:a", "cuda/sm_90");
	assert_ok(kl_cache_get(&back, fixture.repo, &fixture.key));
	/* another runner, another platform of the same one: not told */
	kl_runner_device_get(&runner_device, fixture.repo, "ssh:b", "cuda/sm_90");
	assert_string_equal(runner_device.device, "");
	kl_runner_device_get(&runner_device, fixture.repo, "ssh:a", "cuda/sm_80");
	assert_string_equal(runner_device.device, "");
	/* damage is as if nothing had been told */
	sh(fixture.dir, "for f in .git/klineage/runners/*; do echo '{' >\"$f\"; done");
	kl_runner_device_get(&runner_device, fixture.repo, "ssh:a", "cuda/sm_90");
	assert_string_equal(runner_device.device, "");
}

/* kill -9 or a bad disk: the entry is as if it were not there. */
static void a_damaged_entry_is_none(void **state)
{
	static const char *const harm[] = {
		": >\"$f\"",
		"printf '{' >\"$f\"",
		"sed -i 's/pass/fail/' \"$f\"",
		"head -c 40 \"$f\" >x && mv x \"$f\"",
		"rm \"$f\" && mkdir \"$f\"",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(harm); i++) {
		KL_AUTO(fixture_close) struct fixture fixture = { 0 };
		KL_AUTO(kl_event_freep) struct kl_event *other = event("s");
		struct kl_event *back = NULL;

		fixture_open(&fixture, "damage");
		assert_ok(kl_cache_put(fixture.repo, &fixture.key, other));
		sh(fixture.dir,
		   "f=$(find .git/klineage/cache -name '*.json') && test -f \"$f\" && %s", harm[i]);
		assert_int_equal(kl_cache_get(&back, fixture.repo, &fixture.key), KL_ENOTFOUND);
		assert_null(back);
	}
}

/* An honest event in another key's place is not that key's verdict. */
static void a_moved_entry_is_none(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *other = event("other");
	struct kl_event *back = NULL;

	fixture_open(&fixture, "moved");
	assert_ok(kl_cache_put(fixture.repo, &fixture.key, other));
	assert_int_equal(kl_cache_get(&back, fixture.repo, &fixture.key), KL_ENOTFOUND);
}

/* An event as of a run at the fixture's place. */
static struct kl_event *run(const char *kind, const char *verdict, const char *class_,
			    const char *time)
{
	json_t *entry = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:i,s:s,s:{s:s,s:s,s:s,s:[s]}}", "v", 1,
				  "kind", kind, "surface", "s", "contract", "c", "verdict", verdict,
				  "time", time, "policy", KL_GATE_POLICY, "tier", "host-sandboxed",
				  "platform", "id", platform.id, "device", platform.device,
				  "compiler", platform.compiler, "flags", "-O2");

	kl_json_set_str(entry, "class", class_);
	return event_of(entry, true);
}

static void put(struct fixture *fixture, const char *parent, bool quick, struct kl_event *event)
{
	struct kl_cache_key key = fixture->key;

	key.parent = parent;
	key.quick = quick;
	assert_ok(kl_cache_put(fixture->repo, &key, event));
	kl_event_free(event);
}

/* A lookup without a key returns the verdict that says most about the files: a failure first. */
static void whatever_is_known_is_found(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *check = NULL, *gate = NULL, *fail = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf lines = KL_BUF_INIT;
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };
	struct kl_platform elsewhere = platform;
	struct kl_cache_key other;
	struct kl_event *none = NULL;

	fixture_open(&fixture, "find");
	other = fixture.key;
	put(&fixture, "walk", false, run("gate", "fail", "no-change", "2026-01-09T00:00:00Z"));
	assert_int_equal(kl_cache_find(&none, fixture.repo, &fixture.key), KL_ENOTFOUND);
	put(&fixture, NULL, true, run("check", "pass", NULL, "2026-01-03T00:00:00Z"));
	assert_ok(kl_cache_find(&check, fixture.repo, &fixture.key));
	assert_int_equal(check->kind, KL_KIND_CHECK);
	put(&fixture, "q", false, run("gate", "pass", NULL, "2026-01-02T00:00:00Z"));
	put(&fixture, "r", false, run("gate", "pass", NULL, "2026-01-01T00:00:00Z"));
	assert_ok(kl_cache_find(&gate, fixture.repo, &fixture.key));
	assert_int_equal(gate->kind, KL_KIND_GATE);
	assert_string_equal(gate->time, "2026-01-02T00:00:00Z");
	put(&fixture, "s", true, run("check", "fail", "fault", "2026-01-01T00:00:00Z"));
	assert_ok(kl_cache_find(&fail, fixture.repo, &fixture.key));
	assert_int_equal(fail->failure, KL_FAILURE_FAULT);

	strcpy(elsewhere.compiler, "gcc 2");
	other.platform = &elsewhere;
	assert_int_equal(kl_cache_find(&none, fixture.repo, &other), KL_ENOTFOUND);
	other = fixture.key;
	other.tier = KL_TIER_UNSANDBOXED;
	assert_int_equal(kl_cache_find(&none, fixture.repo, &other), KL_ENOTFOUND);

	assert_ok(kl_cache_list(&lines, fixture.repo, "s", "c"));
	kl_fold_lines(&fold, lines.ptr, lines.len, "s", "c");
	assert_int_equal(fold.lines, 5);
	assert_int_equal(fold.skipped, 0);
	kl_buf_clear(&lines);
	assert_ok(kl_cache_list(&lines, fixture.repo, "s", "other"));
	assert_string_equal(lines.ptr, "");
}

static void linked_worktrees_share_it(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *other_event = event("s"), *back = NULL;
	KL_AUTO(kl_repo_freep) struct kl_repo *other = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;

	fixture_open(&fixture, "shared");
	sh(fixture.dir, "rm -rf ../linked && git worktree prune && git worktree add -q ../linked");
	dir = kl_asprintf("%s/../linked", fixture.dir);
	assert_ok(kl_repo_open_at(&other, dir));
	assert_ok(kl_cache_put(fixture.repo, &fixture.key, other_event));
	assert_ok(kl_cache_get(&back, other, &fixture.key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_got),
		cmocka_unit_test(every_part_of_the_key_counts),
		cmocka_unit_test(a_runner_has_a_device),
		cmocka_unit_test(a_damaged_entry_is_none),
		cmocka_unit_test(a_moved_entry_is_none),
		cmocka_unit_test(whatever_is_known_is_found),
		cmocka_unit_test(linked_worktrees_share_it),
	};

	return cmocka_run_group_tests_name("event/cache", tests, scratch_setup, scratch_teardown);
}

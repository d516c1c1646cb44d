/* SPDX-License-Identifier: Apache-2.0 */
/* The store finds what this clone judged, by all that the result depends on, and nothing else. */
#include "test.h"

#include "event/retraction.h"
#include "event/segment_writer.h"
#include "event_lib.h"
#include "probe/store.h"
#include "scratch.h"

#define LOG ".git/klineage/campaign/w/" KL_PROBE_CAMPAIGN ".jsonl"

static const struct kl_platform machine = {
	.id = "cpu/x86-64-v3",
	.device = "cpu A",
	.compiler = "gcc 1",
};

struct fixture {
	char *dir;
	struct kl_repo *repo;
	struct kl_probe_store *store;
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX];
};

static void fixture_open(struct fixture *fixture, const char *name)
{
	fixture->dir = scratch_repo(name);
	assert_ok(kl_repo_open_at(&fixture->repo, fixture->dir));
	assert_ok(kl_probe_store_open(&fixture->store, fixture->repo));
	kl_digest_hex(fixture->surface, "surface", 7);
	kl_digest_hex(fixture->contract, "contract", 8);
}

static void fixture_close(struct fixture *fixture)
{
	kl_probe_store_free(fixture->store);
	kl_repo_free(fixture->repo);
	free(fixture->dir);
}

/* What the next run of the command would open. */
static void open_again(struct fixture *fixture)
{
	kl_probe_store_free(kl_steal(&fixture->store));
	assert_ok(kl_probe_store_open(&fixture->store, fixture->repo));
}

static json_t *point_of(int rows)
{
	return json_pack("{s:{s:i},s:s,s:i}", "dims", "m", rows, "values", "plain", "seed", 5);
}

static struct kl_event *make_event(const struct fixture *fixture, int rows, int policy)
{
	return event_of(json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:s,s:{s:s,s:s,s:s},s:o}", "v",
				  1, "kind", "probe", "workload", "w", "surface", fixture->surface,
				  "contract", fixture->contract, "verdict", "pass", "time",
				  "2026-11-20T10:00:00Z", "policy", policy, "tier",
				  "host-sandboxed", "platform", "id", machine.id, "device",
				  machine.device, "compiler", machine.compiler, "point",
				  point_of(rows)),
			true);
}

static void put(struct fixture *fixture, const struct kl_event *event)
{
	assert_ok(kl_probe_store_put(fixture->store, (struct kl_event *)event));
}

/* Find a point of the fixture's surface on a platform; NULL: it is not there. */
static const struct kl_event *found_on(struct fixture *fixture, int rows,
				       const struct kl_platform *platform)
{
	KL_AUTO(json_decrefp) json_t *point = point_of(rows);
	const struct kl_probe_key key = { fixture->surface, fixture->contract, platform, point };
	const struct kl_event *event = NULL;
	int err = kl_probe_store_find(&event, fixture->store, &key);

	assert_true(!err || err == KL_ENOTFOUND);
	return err ? NULL : event;
}

static const struct kl_event *found(struct fixture *fixture, int rows)
{
	return found_on(fixture, rows, &machine);
}

static void an_event_is_found_by_all_that_it_depends_on(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	struct kl_platform other = machine;

	fixture_open(&fixture, "found");
	assert_null(found(&fixture, 3));
	event = make_event(&fixture, 3, KL_GATE_POLICY);
	put(&fixture, event);
	assert_string_equal(found(&fixture, 3)->id, event->id);
	open_again(&fixture);
	assert_string_equal(found(&fixture, 3)->id, event->id);
	assert_null(found(&fixture, 4));
	/* a device that is not known yet is any device */
	strcpy(other.device, "");
	assert_string_equal(found_on(&fixture, 3, &other)->id, event->id);
	strcpy(other.device, "cpu B");
	assert_null(found_on(&fixture, 3, &other));
	other = machine;
	strcpy(other.compiler, "gcc 2");
	assert_null(found_on(&fixture, 3, &other));
	other = machine;
	strcpy(other.id, "cpu/x86-64-v4");
	assert_null(found_on(&fixture, 3, &other));
	fixture.contract[0] ^= 1;
	assert_null(found(&fixture, 3));
	fixture.contract[0] ^= 1;
	fixture.surface[0] ^= 1;
	assert_null(found(&fixture, 3));
}

static void events_are_found_in_the_log_and_in_segments(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *first = NULL, *second = NULL, *third = NULL;

	fixture_open(&fixture, "log");
	first = make_event(&fixture, 1, KL_GATE_POLICY);
	second = make_event(&fixture, 2, KL_GATE_POLICY);
	third = make_event(&fixture, 3, KL_GATE_POLICY);
	assert_ok(kl_probe_store_seal(fixture.store, "w")); /* nothing was put: no segment */
	assert_int_not_equal(0, try_sh(NULL, fixture.dir,
				       "git rev-parse -q --verify refs/klineage/campaign/w/probe"));
	put(&fixture, first);
	/* killed here, within the next line */
	sh(fixture.dir, "test $(wc -l <" LOG ") = 1 && printf '{\"v\":1,\"ki' >>" LOG);
	open_again(&fixture);
	assert_non_null(found(&fixture, 1));
	put(&fixture, second);
	assert_ok(kl_probe_store_seal(fixture.store, "w"));
	sh(fixture.dir, "test ! -e " LOG
			" && git rev-parse -q --verify refs/klineage/campaign/w/probe && git fsck");
	open_again(&fixture);
	put(&fixture, third);
	open_again(&fixture);
	for (int rows = 1; rows <= 3; rows++)
		assert_non_null(found(&fixture, rows));
	/* a run that judges nothing still makes a segment of what the one before left */
	assert_ok(kl_probe_store_seal(fixture.store, "w"));
	sh(fixture.dir, "test ! -e " LOG);
}

static void what_others_made_is_not_found(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL, *outdated = NULL;
	uint64_t seed;

	fixture_open(&fixture, "foreign");
	seed = kl_probe_store_seed(fixture.store);
	event = make_event(&fixture, 3, KL_GATE_POLICY);
	outdated = make_event(&fixture, 4, KL_GATE_POLICY - 1);
	put(&fixture, event);
	put(&fixture, outdated);
	assert_ok(kl_probe_store_seal(fixture.store, "w"));
	open_again(&fixture);
	assert_int_equal(kl_probe_store_seed(fixture.store), seed);
	assert_non_null(found(&fixture, 3));
	assert_null(found(&fixture, 4)); /* judged under rules that have changed */
	sh(fixture.dir, "rm .git/klineage/made");
	open_again(&fixture);
	assert_null(found(&fixture, 3));
	/* judged here again, with the same result */
	put(&fixture, event);
	open_again(&fixture);
	assert_string_equal(found(&fixture, 3)->id, event->id);
}

static void retracted_events_are_not_found(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL, *other = NULL;
	KL_AUTO(kl_retraction_release) struct kl_retraction retraction = { 0 };

	fixture_open(&fixture, "retracted");
	event = make_event(&fixture, 3, KL_GATE_POLICY);
	other = make_event(&fixture, 4, KL_GATE_POLICY);
	put(&fixture, event);
	put(&fixture, other);
	assert_ok(kl_probe_store_seal(fixture.store, "w"));
	assert_ok(kl_retract(&retraction, fixture.repo,
			     &(struct kl_retraction_opts){ .event = event->id }));
	open_again(&fixture);
	assert_null(found(&fixture, 3));
	assert_non_null(found(&fixture, 4));
	/* that of somebody else, who signs nothing, hides nothing */
	sh(fixture.dir, "sed -i /%s/d .git/klineage/made", retraction.retraction->id);
	open_again(&fixture);
	assert_non_null(found(&fixture, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_found_by_all_that_it_depends_on),
		cmocka_unit_test(events_are_found_in_the_log_and_in_segments),
		cmocka_unit_test(what_others_made_is_not_found),
		cmocka_unit_test(retracted_events_are_not_found),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

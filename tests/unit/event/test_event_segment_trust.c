/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event in a segment means what it means in a note: the clone's own verdicts spare a run, those
 * of allowed signers too, and anybody else's are only shown.
 */
#include "event/own.h"
#include "event/segment_verdict.h"
#include "event/segment_writer.h"
#include "event/segments.h"
#include "event/trusted_verdict.h"
#include "event/verdict_lookup.h"
#include "repo/notes.h"
#include "signing_lib.h"

#define FIRST "2026-11-20T10:00:00Z"
#define SECOND "2026-11-20T11:00:00Z"

static struct kl_platform platform = {
	.id = "cpu/x86-64-v3",
	.device = "cpu A",
	.compiler = "gcc 1",
};

struct fixture {
	char *dir;
	struct kl_repo *repo;
	struct kl_strvec flags;
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX], parent[KL_DIGEST_HEX];
	struct kl_cache_key key;
};

static void fixture_open(struct fixture *fixture, const char *name)
{
	fixture->dir = signing_repo(name);
	assert_ok(kl_repo_open_at(&fixture->repo, fixture->dir));
	kl_digest_hex(fixture->surface, "surface", 7);
	kl_digest_hex(fixture->contract, "contract", 8);
	kl_digest_hex(fixture->parent, "parent", 6);
	kl_strvec_push(&fixture->flags, "-O2");
	fixture->key = (struct kl_cache_key){
		.surface = fixture->surface,
		.contract = fixture->contract,
		.platform = &platform,
		.flags = &fixture->flags,
		.tier = KL_TIER_HOST_SANDBOXED,
		.parent = fixture->parent,
		.profile = true,
	};
}

static void fixture_close(struct fixture *fixture)
{
	kl_repo_free(fixture->repo);
	kl_strvec_release(&fixture->flags);
	free(fixture->dir);
}

/* Make an event of the key's place, timed against the key's parent; the caller frees. */
static struct kl_event *make_event(const struct fixture *fixture, const char *kind,
				   const char *verdict, const char *class_, const char *time)
{
	return event_of(json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s?,s:s,s:i,s:s,s:{s:s,s:s,s:s,s:[s]},"
				  "s:{s:i,s:i,s:[{s:s,s:s,s:i,s:i,s:i,s:s}]}}",
				  "v", 1, "kind", kind, "workload", "w", "surface",
				  fixture->surface, "contract", fixture->contract, "verdict",
				  verdict, "class", class_, "time", time, "policy", KL_GATE_POLICY,
				  "tier", "host-sandboxed", "platform", "id", platform.id, "device",
				  platform.device, "compiler", platform.compiler, "flags", "-O2",
				  "profile", "ns", 1000, "aa_ppm", 1000, "vs", "what", "parent",
				  "surface", fixture->parent, "ratio_ppm", 1100000, "lo_ppm",
				  1090000, "hi_ppm", 1110000, "verdict", "fast"),
			true);
}

/* Add the event to a segment, signed by `name`, or unsigned if `name` is NULL. */
static void add_event(struct fixture *fixture, struct kl_event *event, const char *name)
{
	KL_AUTO(kl_segment_writer_freep) struct kl_segment_writer *writer = NULL;

	sign_as(fixture->dir, event, name);
	assert_ok(kl_segment_writer_open(&writer, fixture->repo, "w", "a"));
	assert_ok(kl_segment_writer_add(writer, event, NULL));
	assert_ok(kl_segment_writer_seal(writer, NULL));
}

/* The events so far were not made here. */
static void forget_own(const struct fixture *fixture)
{
	sh(fixture->dir, "rm -f .git/klineage/made");
}

static void assert_found(const struct fixture *fixture, const struct kl_event *want)
{
	KL_AUTO(kl_event_freep) struct kl_event *found = NULL;
	int err = kl_segment_verdict_find(&found, fixture->repo, &fixture->key);

	if (!want) {
		assert_int_equal(err, KL_ENOTFOUND);
		return;
	}
	assert_ok(err);
	assert_string_equal(found->id, want->id);
}

static void own_verdicts_spare_a_run(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *pass = NULL, *fail = NULL, *check = NULL;

	fixture_open(&fixture, "own");
	assert_found(&fixture, NULL);
	check = make_event(&fixture, "check", "pass", NULL, SECOND);
	add_event(&fixture, check, NULL);
	assert_found(&fixture, NULL);
	pass = make_event(&fixture, "gate", "pass", NULL, FIRST);
	add_event(&fixture, pass, NULL);
	assert_found(&fixture, pass);
	fixture.key.quick = true;
	assert_found(&fixture, pass);
	fixture.key.quick = false;
	/* not compared with this parent, on another device, for another contract */
	fixture.key.parent = NULL;
	assert_found(&fixture, NULL);
	fixture.key.parent = fixture.parent;
	platform.device[4] = 'B';
	assert_found(&fixture, NULL);
	platform.device[4] = 'A';
	fixture.key.contract = fixture.surface;
	assert_found(&fixture, NULL);
	fixture.key.contract = fixture.contract;
	/* a wrong answer outweighs a pass, whatever the kernel was compared with */
	fail = make_event(&fixture, "gate", "fail", "wrong-all", FIRST);
	add_event(&fixture, fail, NULL);
	assert_found(&fixture, fail);
	fixture.key.parent = NULL;
	assert_found(&fixture, fail);
}

static void events_of_probes_are_not_judged_with_verdicts(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *probe = NULL, *pass = NULL;
	KL_AUTO(kl_segments_freep) struct kl_segments *segments = NULL;
	KL_AUTO(kl_trust_release) struct kl_trust trust = { 0 };

	fixture_open(&fixture, "probes");
	probe = make_event(&fixture, "probe", "fail", "wrong-all", SECOND);
	pass = make_event(&fixture, "gate", "pass", NULL, FIRST);
	add_event(&fixture, probe, NULL);
	add_event(&fixture, pass, NULL);
	assert_found(&fixture, pass);
	assert_ok(kl_segments_open(&segments, fixture.repo));
	assert_ok(kl_segments_add_to(&trust, 0, segments, fixture.surface, fixture.contract));
	assert_int_equal(trust.n, 1);
	assert_string_equal(trust.v[0].event->id, pass->id);
}

static void a_slower_kernel_is_one_only_against_its_parent(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *slower = NULL;

	fixture_open(&fixture, "slower");
	slower = make_event(&fixture, "gate", "fail", "slower", FIRST);
	add_event(&fixture, slower, NULL);
	assert_found(&fixture, slower);
	fixture.key.profile = false;
	assert_found(&fixture, NULL);
}

static void retracted_verdicts_do_not(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *pass = NULL, *back = NULL;
	KL_AUTO(kl_freep) char *line = NULL;
	struct kl_note_line note;

	fixture_open(&fixture, "retracted");
	pass = make_event(&fixture, "gate", "pass", NULL, FIRST);
	add_event(&fixture, pass, NULL);
	back = event_of(json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s}", "v", 1, "kind", "retract", "of",
				  pass->id, "workload", "w", "surface", fixture.surface, "contract",
				  fixture.contract, "time", SECOND),
			true);
	line = line_of(back);
	note = (struct kl_note_line){ oid_of(fixture.dir, "HEAD"), line };
	assert_ok(kl_notes_add(fixture.repo, KL_NOTES_GATE, &note, 1));
	assert_found(&fixture, pass); /* anybody's word that it is retracted is none */
	assert_ok(kl_own_add_one(fixture.repo, back->id));
	assert_found(&fixture, NULL);
}

static int trusted(const struct fixture *fixture)
{
	KL_AUTO(kl_event_freep) struct kl_event *found = NULL;
	KL_AUTO(kl_freep) char *signer = NULL;

	return kl_trusted_verdict_find(&found, &signer, fixture->repo, &fixture->key, NULL);
}

static void verdicts_of_others_need_a_signer(void **state)
{
	static const char *const names[] = { NULL, "mallory", "alice" };

	for (size_t i = 0; i < KL_ARRAY_SIZE(names); i++) {
		KL_AUTO(fixture_close) struct fixture fixture = { 0 };
		KL_AUTO(kl_event_freep) struct kl_event *pass = NULL;

		fixture_open(&fixture, names[i] ? names[i] : "nobody");
		pass = make_event(&fixture, "gate", "pass", NULL, FIRST);
		add_event(&fixture, pass, names[i]);
		forget_own(&fixture);
		assert_found(&fixture, NULL);
		assert_int_equal(trusted(&fixture), i == 2 ? 0 : KL_ENOTFOUND);
	}
}

static void look_up(struct kl_verdict_lookup *lookup, const struct fixture *fixture)
{
	struct kl_contract contract = { .workload = (char *)"w" };
	struct kl_surface surface = { .contract = &contract,
				      .dir = (char *)"k",
				      .place = (char *)"k" };

	memcpy(surface.digest, fixture->surface, sizeof(surface.digest));
	memcpy(surface.contract_digest, fixture->contract, sizeof(surface.contract_digest));
	kl_verdict_lookup_state(lookup, &surface, NULL);
	assert_ok(kl_verdict_lookup_run(lookup, fixture->repo));
}

/* A review sees them beside those in notes, with the word of whoever made them. */
static void a_lookup_reads_segments(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_verdict_lookup_release) struct kl_verdict_lookup lookup = { 0 }, failed = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *pass = NULL, *fail = NULL;

	fixture_open(&fixture, "lookup");
	pass = make_event(&fixture, "gate", "pass", NULL, FIRST);
	add_event(&fixture, pass, NULL);
	forget_own(&fixture);
	look_up(&lookup, &fixture);
	assert_non_null(kl_verdict_entry_pass(&lookup.one[0]));
	assert_int_equal(lookup.trust.n, 1);
	assert_int_equal(lookup.trust.v[0].word, KL_WORD_UNSIGNED);
	fail = make_event(&fixture, "gate", "fail", "wrong-all", FIRST);
	add_event(&fixture, fail, "mallory");
	look_up(&failed, &fixture);
	assert_non_null(kl_verdict_entry_failure(&failed.one[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_verdicts_spare_a_run),
		cmocka_unit_test(events_of_probes_are_not_judged_with_verdicts),
		cmocka_unit_test(a_slower_kernel_is_one_only_against_its_parent),
		cmocka_unit_test(retracted_verdicts_do_not),
		cmocka_unit_test(verdicts_of_others_need_a_signer),
		cmocka_unit_test(a_lookup_reads_segments),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

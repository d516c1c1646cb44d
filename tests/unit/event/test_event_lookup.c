/* SPDX-License-Identifier: Apache-2.0 */
#include "event/own.h"
#include "event/verdict_lookup.h"
#include "repo/notes.h"
#include "signing_lib.h"

/* Which lines of notes the lookup accepts, and which it counts as unsigned. */

struct fixture {
	char *dir;
	struct kl_repo *repo;
	git_oid commit;
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX];
};

/* `config` is a setting to make, or NULL */
static void fixture_open(struct fixture *fixture, const char *name, const char *config)
{
	KL_AUTO(kl_freep) char *hex = NULL;

	fixture->dir = scratch_repo(name);
	sh(fixture->dir, "git commit -q --allow-empty -m one");
	if (config)
		sh(fixture->dir, "git config %s", config);
	hex = sh_text(fixture->dir, "git rev-parse HEAD");
	assert_ok(kl_repo_open_at(&fixture->repo, fixture->dir));
	assert_ok(kl_oid_parse(&fixture->commit, hex));
	kl_digest_hex(fixture->surface, "surface", 7);
	kl_digest_hex(fixture->contract, "contract", 8);
}

static void fixture_close(struct fixture *fixture)
{
	kl_repo_free(fixture->repo);
	free(fixture->dir);
}

static struct kl_event *event_under(const struct fixture *fixture, const char *kind,
				    const char *verdict, const char *time, int policy)
{
	return event_of(json_pack("{s:i,s:s,s:s,s:s,s:s?,s:s,s:i}", "v", 1, "kind", kind, "surface",
				  fixture->surface, "contract", fixture->contract, "verdict",
				  verdict, "time", time, "policy", policy),
			true);
}

static struct kl_event *event_on(const struct fixture *fixture, const char *kind,
				 const char *verdict, const char *time)
{
	return event_under(fixture, kind, verdict, time, KL_GATE_POLICY);
}

static void note(const struct fixture *fixture, const struct kl_event *event)
{
	KL_AUTO(kl_freep) char *line = line_of(event);
	struct kl_note_line lines[] = { { fixture->commit, line } };

	assert_ok(kl_notes_add(fixture->repo, KL_NOTES_GATE, lines, 1));
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

static size_t unsigned_of(const struct fixture *fixture)
{
	KL_AUTO(kl_verdict_lookup_release) struct kl_verdict_lookup lookup = { 0 };

	look_up(&lookup, fixture);
	return lookup.one[0].unsigned_;
}

static void only_a_pass_of_the_gate_lacks_a_signature(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *check = NULL, *other = NULL, *pass = NULL;
	KL_AUTO(kl_event_freep) struct kl_event *back = NULL;

	fixture_open(&fixture, "unsigned", "klineage.requireSigned true");
	check = event_on(&fixture, "check", "pass", "2026-11-20T10:00:00Z");
	other = event_on(&fixture, "gate", "inconclusive", "2026-11-20T11:00:00Z");
	note(&fixture, check);
	note(&fixture, other);
	assert_int_equal(unsigned_of(&fixture), 0);
	pass = event_on(&fixture, "gate", "pass", "2026-11-20T12:00:00Z");
	note(&fixture, pass);
	assert_int_equal(unsigned_of(&fixture), 1);
	/* this clone takes the pass back */
	back = event_of(json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s}", "v", 1, "kind", "retract", "of",
				  pass->id, "surface", fixture.surface, "contract",
				  fixture.contract, "time", "2026-11-20T13:00:00Z", "message", "x"),
			true);
	note(&fixture, back);
	assert_int_equal(unsigned_of(&fixture), 1);
	assert_ok(kl_own_add_one(fixture.repo, back->id));
	assert_int_equal(unsigned_of(&fixture), 0);
}

static void a_line_is_parsed_once(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_verdict_lookup_release) struct kl_verdict_lookup lookup = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	json_t *doc, *copies = json_array();

	fixture_open(&fixture, "copies", NULL);
	for (size_t i = 0; i < 300; i++)
		json_array_append_new(copies, json_pack("{s:s}", "surface", fixture.surface));
	doc = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:i,s:o}", "v", 1, "kind", "gate", "surface",
			fixture.surface, "contract", fixture.contract, "verdict", "pass", "time",
			"2026-11-20T10:00:00Z", "policy", KL_GATE_POLICY, "copies", copies);
	event = event_of(doc, true);
	note(&fixture, event);
	look_up(&lookup, &fixture);
	assert_int_equal(lookup.trust.n, 1);
	assert_true(lookup.trust.alloc < 300);
	assert_non_null(kl_verdict_entry_pass(&lookup.one[0]));
}

/* two kernels with the same files share the event */
static void kernels_of_one_surface_share_its_events(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_verdict_lookup_release) struct kl_verdict_lookup lookup = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	struct kl_contract contract = { .workload = (char *)"w" };
	struct kl_surface surface = { .contract = &contract,
				      .dir = (char *)"k",
				      .place = (char *)"k" };

	fixture_open(&fixture, "shared", NULL);
	event = event_on(&fixture, "gate", "pass", "2026-11-20T10:00:00Z");
	note(&fixture, event);
	memcpy(surface.digest, fixture.surface, sizeof(surface.digest));
	memcpy(surface.contract_digest, fixture.contract, sizeof(surface.contract_digest));
	kl_verdict_lookup_state(&lookup, &surface, NULL);
	look_up(&lookup, &fixture);
	assert_int_equal(lookup.n, 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(kl_verdict_entry_pass(&lookup.one[i])->id, event->id);
}

/* Rules of the gate have changed: older verdicts are history, until the kernel passes anew. */
static void outdated_verdicts_do_not_count(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_verdict_lookup_release) struct kl_verdict_lookup before = { 0 }, failed = { 0 },
								    after = { 0 };
	KL_AUTO(kl_event_freep) struct kl_event *old = NULL, *check = NULL, *fail = NULL,
						*pass = NULL;

	fixture_open(&fixture, "outdated", NULL);
	old = event_under(&fixture, "gate", "pass", "2026-11-20T10:00:00Z", KL_GATE_POLICY - 1);
	check = event_under(&fixture, "check", "pass", "2026-11-20T10:30:00Z", KL_GATE_POLICY - 1);
	note(&fixture, old);
	note(&fixture, check);
	look_up(&before, &fixture);
	assert_null(kl_verdict_entry_pass(&before.one[0]));
	assert_null(kl_verdict_entry_failure(&before.one[0]));
	assert_false(kl_verdict_entry_checked(&before.one[0]));
	assert_string_equal(kl_verdict_entry_old_pass(&before.one[0])->id, old->id);

	fail = event_under(&fixture, "gate", "fail", "2026-11-20T11:00:00Z", KL_GATE_POLICY - 1);
	note(&fixture, fail);
	look_up(&failed, &fixture);
	assert_string_equal(kl_verdict_entry_failure(&failed.one[0])->id, fail->id);

	pass = event_on(&fixture, "gate", "pass", "2026-11-20T12:00:00Z");
	note(&fixture, pass);
	look_up(&after, &fixture);
	assert_null(kl_verdict_entry_failure(&after.one[0]));
	assert_string_equal(kl_verdict_entry_pass(&after.one[0])->id, pass->id);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_pass_of_the_gate_lacks_a_signature),
		cmocka_unit_test(a_line_is_parsed_once),
		cmocka_unit_test(kernels_of_one_surface_share_its_events),
		cmocka_unit_test(outdated_verdicts_do_not_count),
	};

	return cmocka_run_group_tests_name("event/lookup", tests, scratch_setup, scratch_teardown);
}

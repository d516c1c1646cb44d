/* SPDX-License-Identifier: Apache-2.0 */
#include "event/own.h"
#include "event/trust.h"
#include "signing_lib.h"

#define TAG 0

struct fixture {
	char *dir;
	struct kl_repo *repo;
	struct kl_trust trust;
};

static void fixture_open(struct fixture *fixture, const char *name)
{
	fixture->dir = signing_repo(name);
	assert_ok(kl_repo_open_at(&fixture->repo, fixture->dir));
}

static void fixture_close(struct fixture *fixture)
{
	kl_trust_release(&fixture->trust);
	kl_repo_free(fixture->repo);
	free(fixture->dir);
}

/* Add a verdict on surface "s", signed by `name`, or by nobody. */
static struct kl_event *add(struct fixture *fixture, const char *verdict, const char *time,
			    const char *name)
{
	struct kl_event *event = event_of(json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s?}", "v", 1,
						    "kind", "gate", "surface", "s", "contract", "c",
						    "time", time, "verdict", verdict, "class",
						    strcmp(verdict, "fail") ? NULL : "hang"),
					  true);

	sign_as(fixture->dir, event, name);
	kl_trust_add_event(&fixture->trust, TAG, event, false);
	return event;
}

static struct kl_event *retract(struct fixture *fixture, const struct kl_event *event,
				const char *name)
{
	struct kl_event *made = event_of(json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s}", "v", 1, "kind",
						   "retract", "of", event->id, "surface", "s",
						   "contract", "c", "time", "2026-11-21T10:00:00Z",
						   "message", name ? name : ""),
					 true);

	sign_as(fixture->dir, made, name);
	kl_trust_add_event(&fixture->trust, TAG, made, false);
	return made;
}

static enum kl_verdict verdict_of(struct fixture *fixture)
{
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };

	assert_ok(kl_trust_judge(&fixture->trust, fixture->repo));
	kl_trust_fold(&fold, &fixture->trust, TAG, "s", "c");
	assert_int_equal(fold.verdicts.n, 1);
	return fold.verdicts.v[0]->verdict;
}

static enum kl_word_of word_of(struct fixture *fixture, const struct kl_event *event)
{
	for (size_t i = 0; i < fixture->trust.n; i++)
		if (fixture->trust.v[i].event == event)
			return fixture->trust.v[i].word;
	fail_msg("the trust does not have the event");
	return KL_WORDS;
}

#define FIRST "2026-11-20T10:00:00Z"
#define SECOND "2026-11-20T11:00:00Z"

static void words_say_whose_event_it_is(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	struct kl_event *nobody, *own, *alice, *mallory, *wrong;

	fixture_open(&fixture, "words");
	nobody = add(&fixture, "pass", FIRST, NULL);
	own = add(&fixture, "pass", SECOND, NULL);
	alice = add(&fixture, "pass", "2026-11-20T12:00:00Z", "alice");
	mallory = add(&fixture, "pass", "2026-11-20T13:00:00Z", "mallory");
	wrong = add(&fixture, "pass", "2026-11-20T14:00:00Z", NULL);
	wrong->sig = kl_event_keep(wrong, alice->sig);
	assert_ok(kl_own_add_one(fixture.repo, own->id));
	assert_ok(kl_trust_judge(&fixture.trust, fixture.repo));
	assert_int_equal(word_of(&fixture, nobody), KL_WORD_UNSIGNED);
	assert_int_equal(word_of(&fixture, own), KL_WORD_OWN);
	assert_int_equal(word_of(&fixture, alice), KL_WORD_SIGNED);
	assert_int_equal(word_of(&fixture, mallory), KL_WORD_UNKNOWN);
	assert_int_equal(word_of(&fixture, wrong), KL_WORD_BAD);
	assert_string_equal(kl_word_doubt(KL_WORD_UNSIGNED), "unsigned");
	assert_string_equal(kl_word_doubt(KL_WORD_OWN), "");
	assert_string_equal(kl_word_doubt(KL_WORD_SIGNED), "");
}

/* Who may take a failure back? `made`: by whom; `by`: who retracts. "own": this clone. */
static void retraction_case(const char *made, const char *by, bool counts)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_freep) char *name = kl_asprintf("retract-%s-%s", made, by);
	struct kl_event *bad, *back;
	bool own = !strcmp(by, "own");

	fixture_open(&fixture, name);
	add(&fixture, "pass", SECOND, "alice");
	bad = add(&fixture, "fail", FIRST, strcmp(made, "nobody") ? made : NULL);
	back = retract(&fixture, bad, own || !strcmp(by, "nobody") ? NULL : by);
	if (own)
		assert_ok(kl_own_add_one(fixture.repo, back->id));
	assert_int_equal(verdict_of(&fixture), counts ? KL_VERDICT_PASS : KL_VERDICT_FAIL);
	assert_int_equal(kl_trust_is_retracted(&fixture.trust, bad->id), counts);
}

static void only_the_signer_and_this_clone_retract(void **state)
{
	retraction_case("alice", "alice", true);
	retraction_case("alice", "own", true);
	retraction_case("nobody", "own", true);
	retraction_case("mallory", "own", true);
	retraction_case("alice", "bob", false);
	retraction_case("alice", "mallory", false);
	retraction_case("alice", "nobody", false);
	retraction_case("nobody", "nobody", false);
	retraction_case("nobody", "alice", false);
	retraction_case("mallory", "mallory", false);
}

/* The unsigned copy of a line is as much the event as the signed one. */
static void a_retraction_finds_the_signed_copy(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	struct kl_event *bad, *copy;

	fixture_open(&fixture, "copies");
	copy = add(&fixture, "fail", FIRST, NULL);
	bad = add(&fixture, "fail", FIRST, "alice");
	assert_string_equal(copy->id, bad->id);
	add(&fixture, "pass", SECOND, NULL);
	retract(&fixture, bad, "alice");
	assert_int_equal(verdict_of(&fixture), KL_VERDICT_PASS);
}

/* klineage.requireSigned asks for a root of passes; failures and retractions have their own rules. */
static void required_signatures(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_fold_release) struct kl_fold fold = { 0 };
	struct kl_event *own;

	fixture_open(&fixture, "required");
	sh(fixture.dir, "git config klineage.requireSigned true");
	kl_repo_free(fixture.repo);
	assert_ok(kl_repo_open_at(&fixture.repo, fixture.dir));
	add(&fixture, "pass", FIRST, NULL);
	add(&fixture, "pass", FIRST, "mallory");
	assert_ok(kl_trust_judge(&fixture.trust, fixture.repo));
	kl_trust_fold(&fold, &fixture.trust, TAG, "s", "c");
	assert_int_equal(fold.verdicts.n, 0);
	own = add(&fixture, "pass", SECOND, NULL);
	assert_ok(kl_own_add_one(fixture.repo, own->id));
	assert_int_equal(verdict_of(&fixture), KL_VERDICT_PASS);
	add(&fixture, "fail", FIRST, "mallory");
	assert_int_equal(verdict_of(&fixture), KL_VERDICT_FAIL);
}

/* Facts come from notes without retracted events, and without the retractions themselves. */
static void a_filtered_note(void **state)
{
	KL_AUTO(fixture_close) struct fixture fixture = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf note = KL_BUF_INIT, out = KL_BUF_INIT;
	struct kl_event *taken, *kept;

	fixture_open(&fixture, "filter");
	taken = add(&fixture, "pass", FIRST, "alice");
	kept = add(&fixture, "pass", SECOND, "alice");
	retract(&fixture, taken, "alice");
	retract(&fixture, kept, "mallory");
	for (size_t i = 0; i < fixture.trust.n; i++) {
		kl_event_write(&note, fixture.trust.v[i].event);
		kl_buf_addch(&note, '\n');
	}
	assert_ok(kl_trust_filter(&out, fixture.repo, note.ptr, note.len));
	assert_null(strstr(out.ptr, taken->id));
	assert_non_null(strstr(out.ptr, kept->id));
	assert_null(strstr(out.ptr, "\"retract\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_say_whose_event_it_is),
		cmocka_unit_test(only_the_signer_and_this_clone_retract),
		cmocka_unit_test(a_retraction_finds_the_signed_copy),
		cmocka_unit_test(required_signatures),
		cmocka_unit_test(a_filtered_note),
	};

	return cmocka_run_group_tests_name("event/trust", tests, scratch_setup, scratch_teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_conversation.h"
#include "rewrite_state.h"

#include "event_lib.h"
#include "rewrite/rederive.h"

static const char source[] = "void copy(int *x)\n{\n\tx[0] = 1;\n\tx[1] = 2;\n}\n";

#define STEP_HEAD                                                                   \
	"<step>\naction: devectorize\nmechanism: vector-loop\nlocus: copy.c:copy\n" \
	"traits: tiled=yes\nwhy: as told\n</step>\n"
#define TRY(to)                                                                            \
	STEP_HEAD "<edit path=copy.c>\n<search>\n\tx[1] = 2;\n</search>\n<replace>\n\t" to \
		  "\n</replace>\n</edit>\n"

struct job {
	struct kl_repo *repo;
	struct kl_session session;
	struct kl_surface *before;
	json_t *record, *attempts;
	struct kl_event *goal;
	struct kl_map events; /* of struct kl_event */
	struct kl_rederive r;
};

static const struct kl_event *event(const char *id, void *payload)
{
	struct job *job = payload;

	return kl_map_get(&job->events, id);
}

static void job_init(struct job *job, const char *const *script)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("r");

	memset(job, 0, sizeof(*job));
	fake_clear(script);
	assert_ok(kl_repo_open_at(&job->repo, dir));
	job->before = state_of(source, NULL);
	job->record = json_pack("{s:s,s:s,s:s,s:s}", "action", "devectorize", "mechanism",
				"vector-loop", "locus", "copy.c:copy:30-77", "text",
				"the loop used _mm256_storeu_si256 on pairs");
	job->goal = event_of(
		json_pack("{s:[s],s:{s:i}}", "features", "vec.256", "profile", "ns", 7000), false);
	job->attempts = json_array();
	job->events.free_value = kl_event_free_value;
	job->r = (struct kl_rederive){
		.repo = job->repo,
		.session = &job->session,
		.name = "n",
		.step = 2,
		.rewriter = "chat",
		.before = job->before,
		.before_ns = 9000,
		.record = job->record,
		.goal = job->goal,
		.attempts = job->attempts,
		.event = event,
		.payload = job,
	};
}

static void job_end(struct job *job)
{
	kl_surface_free(job->before);
	json_decref(job->record);
	kl_event_free(job->goal);
	json_decref(job->attempts);
	kl_map_release(&job->events);
	kl_repo_free(job->repo);
}

static void failed(struct job *job, const char *class_, const char *id)
{
	json_array_append_new(job->attempts, json_pack("{s:s,s:s}", "class", class_, "event", id));
	kl_map_put(&job->events, id,
		   event_of(json_pack("{s:s,s:[s],s:{s:i}}", "message", "it said so", "features",
				      "div", "profile", "ns", 8000),
			    false));
}

static void test_derives(void **state)
{
	static const char *const script[] = { "forward-2", TRY("x[1] = 1 + 1;"), NULL };
	struct kl_proposal *proposal;
	struct fake_conversation *conversation;
	struct job job;
	char *why;

	job_init(&job, script);
	for (int i = 0; i < 2; i++) { /* the same after a crash */
		assert_ok(kl_rederive_next(&proposal, &why, &job.r));
		assert_null(why);
		assert_string_equal(proposal->rewriter, "chat");
		assert_string_equal(proposal->source, "forward-2.0");
		assert_string_equal(proposal->action, "devectorize");
		assert_string_equal(proposal->mechanism, "vector-loop");
		assert_string_equal(proposal->text, "as told");
		assert_contains(proposal->candidate->file[0].data, "x[1] = 1 + 1;");
		kl_proposal_free(proposal);
	}
	assert_int_equal(fake_model.asked, 1);
	conversation = fake_find("forward-2");
	assert_false(conversation->single);
	assert_contains(conversation->system, "never an instruction");
	assert_contains(conversation->system, "workload: copy");
	assert_contains(
		conversation->user[0],
		"action: devectorize\n(the word for taking it out, kept though it is put in here)\nmechanism: vector-loop: a loop computes");
	assert_contains(conversation->user[0], "place: copy.c:copy\n");
	assert_contains(conversation->user[0], "facts of the compiled code that has it: vec.256\n");
	assert_contains(conversation->user[0],
			"time of this kernel: 9000 ns\ntime to be matched: 7000 ns\n");
	assert_contains(conversation->user[0], "\tx[0] = 1;\n");
	/* nothing that tells of K_i's source: its lines, the words of the step */
	assert_null(strstr(conversation->user[0], "30-77"));
	assert_null(strstr(conversation->user[0], "_mm256"));
	assert_null(strstr(conversation->key[0], "7000"));
	assert_null(strstr(conversation->key[0], "vec.256"));
	job_end(&job);
}

static void test_repairs(void **state)
{
	static const char *const script[] = {
		"forward-2",       TRY("x[1] = 10;"), "forward-2",       "I forgot.", "forward-2",
		TRY("x[1] = 11;"), "forward-2",       TRY("x[1] = 12;"), NULL,
	};
	struct kl_proposal *proposal;
	struct fake_conversation *conversation;
	struct job job;
	char *why;

	job_init(&job, script);
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	kl_proposal_free(proposal);
	failed(&job, "slower", "e0");
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_null(proposal);
	assert_contains(why, "no <step>");
	free(why);
	failed(&job, "unusable", "");
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_non_null(proposal);
	assert_string_equal(proposal->source, "forward-2.2");
	kl_proposal_free(proposal);
	failed(&job, "no-change", "e2");
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_non_null(proposal);
	kl_proposal_free(proposal);
	failed(&job, "compile", "e3");
	/* three repairs, and it is over */
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_null(proposal);
	assert_null(why);
	assert_int_equal(fake_model.asked, 4);
	conversation = fake_find("forward-2");
	assert_contains(conversation->user[1], "class: slower\nmessage: it said so\n");
	assert_contains(conversation->user[1], "facts of the other that this one lacks: vec.256\n");
	assert_contains(
		conversation->user[1],
		"time: 8000 ns; the kernel it was made from: 9000 ns; to be matched: 7000 ns");
	assert_contains(conversation->user[1], "repair 1 of 3");
	assert_contains(conversation->user[2], ": again]");
	assert_contains(conversation->user[2], "no <step>");
	assert_contains(conversation->user[3], "nothing was put in");
	assert_contains(conversation->key[3],
			"refused slower\nrefused unusable\nrefused no-change\n");
	job_end(&job);
}

/* who did not answer in time has had an attempt, and said nothing to be told of */
static void test_silent(void **state)
{
	static const char *const script[] = {
		"forward-2", TRY("x[1] = 10;"), "forward-2", TRY("x[1] = 11;"), NULL,
	};
	struct kl_proposal *proposal;
	struct fake_conversation *conversation;
	struct job job;
	char *why;

	job_init(&job, script);
	failed(&job, "timeout", "");
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_string_equal(proposal->source, "forward-2.0");
	assert_false(proposal->unisolated);
	kl_proposal_free(proposal);
	failed(&job, "slower", "e0");
	failed(&job, "timeout", "");
	fake_model.seen = true;
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_true(proposal->unisolated);
	assert_string_equal(proposal->source, "forward-2.1");
	kl_proposal_free(proposal);
	conversation = fake_find("forward-2");
	assert_contains(conversation->user[1], "class: slower\n");
	assert_null(strstr(conversation->key[1], "timeout"));
	failed(&job, "timeout", "");
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_null(proposal);
	assert_null(why);
	assert_int_equal(fake_model.asked, 2);
	job_end(&job);
}

static void test_gives_up(void **state)
{
	static const char *const script[] = { "forward-2", "<nothing-left>no idea</nothing-left>\n",
					      NULL };
	struct kl_proposal *proposal;
	struct job job;
	char *why;

	job_init(&job, script);
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_null(proposal);
	assert_null(why);
	/* attempts that nobody answered are no attempts of this conversation */
	failed(&job, "compile", "e0");
	failed(&job, "compile", "e1");
	assert_error(KL_EINVALID, "has 1 turns, expected at least 2",
		     kl_rederive_next(&proposal, &why, &job.r));
	json_array_clear(job.attempts);
	failed(&job, "compile", "e0");
	assert_error(KL_ENO, "budget", kl_rederive_next(&proposal, &why, &job.r));
	job_end(&job);
}

static void edit_there(const char *dir)
{
	sh(dir, "test -f copy.c && ! test -e .git && sed -i 's/= 2/= 20/' copy.c");
}

static void test_exec(void **state)
{
	static const char *const script[] = { "forward-2", STEP_HEAD, NULL };
	struct kl_proposal *proposal;
	struct job job;
	char *why;

	job_init(&job, script);
	job.r.rewriter = "exec";
	fake_model.in_dir = edit_there;
	assert_ok(kl_rederive_next(&proposal, &why, &job.r));
	assert_non_null(proposal);
	assert_contains(proposal->candidate->file[0].data, "= 20;");
	kl_proposal_free(proposal);
	job_end(&job);
}

/* --- a second reader ------------------------------------------------------------------ */

#define TRAIT(name, value, path, lines)                                            \
	"<trait>\nname: " name "\nvalue: " value "\npath: " path "\nlines: " lines \
	"\nwhy: seen\n</trait>\n"

static void check_audit(const char *const *script, const char *claims, const char *want,
			size_t asked)
{
	KL_AUTO(json_decrefp) json_t *said = NULL;
	KL_AUTO(json_decrefp) json_t *audited = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_trait_reading reading = { .name = "n", .rewriter = "chat", .step = 3 };
	struct job job;

	job_init(&job, script);
	assert_ok(kl_json_parse(&said, claims, strlen(claims)));
	reading.repo = job.repo;
	reading.session = &job.session;
	reading.state = job.before;
	reading.claims = said;
	for (int i = 0; i < 2; i++) { /* the same after a crash */
		json_decref(audited);
		kl_buf_clear(&buf);
		assert_ok(kl_trait_audit(&audited, &reading));
		kl_json_canonical(&buf, audited);
		assert_string_equal(buf.ptr, want);
	}
	assert_int_equal(fake_model.asked, asked);
	job_end(&job);
}

static void test_audit(void **state)
{
	static const char *const agrees[] = {
		"traits-3",
		"I looked.\n" TRAIT("tiled", "no", "copy.c", "1-5")
			TRAIT("coalesced", "yes", "copy.c", "3")
				TRAIT("staged", "unknown", "-", "-"),
		NULL,
	};
	static const char *const none[] = { NULL };
	struct fake_conversation *conversation;

	check_audit(agrees, "{\"tiled\":\"no\",\"coalesced\":\"no\",\"staged\":\"yes unaudited\"}",
		    "{\"tiled\":{\"lines\":[1,5],\"path\":\"copy.c\",\"value\":\"no\"}}", 1);
	conversation = fake_find("traits-3");
	assert_true(conversation->single);
	/* told which traits, not what was said of them */
	assert_contains(conversation->user[0], "- coalesced");
	assert_contains(conversation->user[0], "    3  \tx[0] = 1;\n");
	assert_null(strstr(conversation->user[0], "tiled=no"));
	assert_null(strstr(conversation->user[0], "unaudited"));
	check_audit(none, "{}", "{}", 0);
	check_audit(none, "{\"tiled\":\"unknown\"}", "{}", 0);
}

static void test_audit_repairs(void **state)
{
	static const char *const script[] = {
		"traits-3", TRAIT("tiled", "no", "copy.c", "1-6"),
		"traits-3", TRAIT("tiled", "no", "oracle.c", "1"),
		"traits-3", TRAIT("tiled", "no", "copy.c", "5"),
		NULL,
	};
	static const char *const never[] = {
		"traits-3", "yes",
		"traits-3", TRAIT("other", "no", "copy.c", "1"),
		"traits-3", TRAIT("tiled", "no", "copy.c", "0"),
		"traits-3", TRAIT("tiled", "no", "copy.c", "1"),
		NULL,
	};
	struct fake_conversation *conversation;

	check_audit(script, "{\"tiled\":\"no\"}",
		    "{\"tiled\":{\"lines\":[5,5],\"path\":\"copy.c\",\"value\":\"no\"}}", 3);
	conversation = fake_find("traits-3");
	assert_contains(conversation->user[1], "trait tiled: copy.c has 5 lines");
	assert_contains(conversation->user[2], "is the oracle");
	check_audit(never, "{\"tiled\":\"no\"}", "{}", 3);
	assert_contains(fake_find("traits-3")->user[2], "the trait 'other' was not asked for");
}

static int teardown(void **state)
{
	fake_clear(NULL);
	return scratch_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_derives),       cmocka_unit_test(test_repairs),
		cmocka_unit_test(test_silent),        cmocka_unit_test(test_gives_up),
		cmocka_unit_test(test_exec),          cmocka_unit_test(test_audit),
		cmocka_unit_test(test_audit_repairs),
	};

	return cmocka_run_group_tests(tests, scratch_setup, teardown);
}

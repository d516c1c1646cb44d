/* SPDX-License-Identifier: Apache-2.0 */
#define FAKE_NAME "x86-64-v3"
#include "lineage_fake.h"

#include "lineage/export.h"
#include "lineage/import.h"
#include "lineage/view.h"

/*
 * Steps derived anew, by a model that answers from a table and a gate that reads its verdicts in
 * the source. What comes out is read back with plain git.
 */

/* The model's answer to an attempt at a step; if `text` is NULL, see `how`. */
static const struct answer {
	int step, attempt;
	const char *text; /* of the comment in the kernel */
	/*
	 * '-' gives up, '?' cannot be used, '$' no money, '!' an error, '~' no answer in time,
	 * '=' K_i itself
	 */
	char how;
} * table;

static struct {
	int asked, opened, again, interrupt_at;
	int noisy; /* measurements that say nothing before one does */
	bool no_chat;
} m;

static int chat_open(struct kl_session **out, const char *workload, void *payload)
{
	static char it;

	assert_string_equal(workload, "copy");
	m.opened++;
	if (m.no_chat)
		return kl_error(KL_EINVALID, "no provider is configured");
	*out = (struct kl_session *)&it;
	return 0;
}

static struct kl_proposal *edit(const struct kl_surface *before, const char *words,
				const char *body)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	struct kl_proposal *proposal = kl_calloc(1, sizeof(*proposal));
	struct kl_file file = before->file[0];

	kl_buf_addf(&text, "/* %s */\nvoid copy(void)\n{\n\t%s\n}\n", words, body);
	file.data = text.ptr;
	file.len = text.len;
	assert_ok(kl_surface_with(&proposal->candidate, before, &file, 1));
	kl_proposal_id(proposal->id, before->digest, proposal->candidate->digest);
	kl_proposal_edit(proposal->edit, before, proposal->candidate);
	proposal->rewriter = kl_strdup("chat");
	proposal->source = kl_asprintf("turn %s", body);
	proposal->action = kl_strdup("");
	proposal->mechanism = kl_strdup("");
	proposal->locus = kl_strdup("copy.c");
	proposal->text = kl_strdup("as the model puts it");
	proposal->origin = "induced";
	proposal->traits = json_object();
	return proposal;
}

static int rederive(struct kl_proposal **out, char **why, const struct kl_rederive *other)
{
	int attempt = (int)json_array_size(other->attempts);
	size_t i;
	json_t *array;

	assert_non_null(other->session);
	assert_non_null(other->goal);
	/* K_i is not shown; only facts of its event are */
	assert_string_not_equal(other->goal->surface, other->before->digest);
	assert_string_equal(other->name, FAKE_NAME);
	assert_string_equal(other->rewriter, "chat");
	json_array_foreach(other->attempts, i, array) {
		const char *id = kl_json_str_or(array, "event", "");

		assert_true(*kl_json_str_or(array, "class", ""));
		assert_true(!*id || other->event(id, other->payload));
	}
	if (++m.asked == m.interrupt_at)
		return kl_error(KL_EINTR, "interrupted");
	for (const struct answer *answer = table; answer->step; answer++) {
		if (answer->step != other->step || answer->attempt != attempt)
			continue;
		if (answer->how == '?')
			*why = kl_strdup("it has two answers");
		else if (answer->how == '$')
			return kl_error(KL_ENO, "$0.10 are left of $40");
		else if (answer->how == '~')
			return kl_error(KL_ETIMEOUT, "the server sent nothing for 600 s");
		else if (answer->how == '!')
			return kl_error(KL_EIO, "the server says: overloaded");
		else if (answer->how == '=')
			*out = edit(other->before, "NS:1000 F:vec.256 F:prefetch", "expert();");
		else if (answer->how != '-')
			*out = edit(other->before, answer->text, "anew();");
		return 0;
	}
	fail_msg("nobody expects attempt %d at step %d", attempt, other->step);
	return 0;
}

static bool same_code(const struct kl_surface *left, const struct kl_surface *right)
{
	KL_AUTO(kl_freep) char *string = fake_word(left->file[0].data, "CODE:");
	KL_AUTO(kl_freep) char *text = fake_word(right->file[0].data, "CODE:");

	return string && text && !strcmp(string, text);
}

/* like the gate of a walk: the same code is a failure; NOISY gives a wide interval */
static int judge(struct kl_judgement **out, const struct kl_surface *surface,
		 const struct kl_surface *parent, void *payload)
{
	int err = fake_judge(out, surface, parent, payload);
	struct kl_event *event;

	if (err < 0)
		return err;
	event = (*out)->event;
	if (parent && same_code(surface, parent)) {
		event->verdict = KL_VERDICT_FAIL;
		event->failure = KL_FAILURE_NO_CHANGE;
	} else if (parent && strstr(surface->file[0].data, "NOISY") && m.again < m.noisy) {
		event->profile.vs.v[0].ratio.lo = 500000;
		event->profile.vs.v[0].ratio.hi = 1500000;
		event->by = m.again ? "another run" : "one run"; /* so is its id another */
	}
	kl_event_seal(event);
	return 0;
}

static int judge_anew(struct kl_judgement **out, const struct kl_surface *surface,
		      const struct kl_surface *parent, void *payload)
{
	m.again++;
	return judge(out, surface, parent, payload);
}

static struct kl_sequencer sequencer(struct kl_repo *repo, struct fake *fake)
{
	struct kl_sequencer other = fake_sequencer(repo, fake);

	other.judge = judge;
	other.judge_anew = judge_anew;
	other.model.open = chat_open;
	other.model.rederive = rederive;
	return other;
}

static struct kl_sequencer_opts options(void)
{
	struct kl_sequencer_opts opts = fake_opts;

	opts.name = FAKE_NAME;
	opts.rederive = "chat";
	return opts;
}

/* a new walk whose model answers so */
static int walk(const char *dir, const struct answer *answer, struct kl_outcome *out)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_sequencer_opts opts = options();
	struct fake fake = { 0 };
	struct kl_sequencer other;
	int err;

	memset(&m, 0, sizeof(m));
	table = answer;
	assert_ok(kl_repo_open_at(&repo, dir));
	other = sequencer(repo, &fake);
	err = kl_sequencer_start(&other, &opts);
	if (!err)
		err = kl_sequencer_run(&other, out);
	kl_sequencer_release(&other);
	return err;
}

static void assert_sound(const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_check check = { 0 };

	sh(dir, "git fsck --strict --no-dangling");
	assert_ok(kl_repo_open_at(&repo, dir));
	check.repo = repo;
	assert_ok(kl_check_run(&check));
	assert_int_equal(check.errors + check.warnings, 0);
	assert_sh("", dir, "git for-each-ref refs/klineage/op refs/klineage/tmp");
}

#define TRAILER(key, rev) \
	"git log -1 --format='%%(trailers:key=Klineage-" key ",valueonly)' " rev " | grep ."

static void test_rederived(void **state)
{
	static const struct answer answers[] = { /*
		 * K_2 from K_1: as fast at the second attempt. K_1 from K_0: faster, at the first
		 */
						 { 1, 0, "NS:1000 BAD:wrong-edge", 0 },
						 { 1, 1, "NS:1000 F:avx", 0 },
						 { 2, 0, "NS:3900", 0 },
						 { 0 }
	};
	KL_AUTO(kl_freep) char *dir = fake_repo("rederived");
	struct kl_outcome out;

	assert_ok(walk(dir, answers, &out));
	assert_int_equal(out.steps, 2);
	assert_int_equal(out.rejections, 1);
	assert_int_equal(out.rederived, 2);
	assert_int_equal(m.opened, 1);
	assert_int_equal(m.asked, 3);
	/* first parents are the states, second parents stand on the state before */
	assert_sh("expert\ntiled\nnaive", dir,
		  "for c in $(git rev-list --first-parent " LINEAGE "); do "
		  "git show $c:copy.c | sed -n 's/^\t\\([a-z]*\\)().*/\\1/p'; done");
	sh(dir, "test \"$(git rev-parse " LINEAGE "^2^)\" = \"$(git rev-parse " LINEAGE "~1)\"");
	sh(dir, "test \"$(git rev-parse " LINEAGE "~1^2^)\" = \"$(git rev-parse " LINEAGE "~2)\"");
	assert_sh("2", dir,
		  "git show " LINEAGE "^2:copy.c " LINEAGE "~1^2:copy.c | grep -c 'anew()'");
	assert_sh("copy.c\nklineage.yaml\noracle.c", dir, "git ls-tree --name-only " LINEAGE "^2");
	assert_sh("5", dir, "git rev-list --count " LINEAGE);
	assert_sh("rederived", dir, TRAILER("Derivation", LINEAGE));
	assert_sh("wrong-edge", dir, TRAILER("Attempts", LINEAGE));
	assert_sh("none", dir, TRAILER("Attempts", LINEAGE "~1") " || echo none");
	assert_sh("forward", dir, TRAILER("Direction", LINEAGE "^2"));
	assert_sh("chat", dir, TRAILER("Rewriter", LINEAGE "^2"));
	assert_sh("history", dir, TRAILER("Rewriter", LINEAGE));
	assert_sh("untile", dir, TRAILER("Action", LINEAGE "~1^2"));
	/* the note of K_i' has the gate's event of K_i' compared with K_i */
	assert_sh("1", dir,
		  "git notes --ref=klineage/gate show " LINEAGE "^2 | grep -c '\"ns\":1000'");
	sh(dir, "git notes --ref=klineage/gate show " LINEAGE "^2 | grep \"\\\"surface\\\":\\\"$("
		"git notes --ref=klineage/gate show " LINEAGE
		" | grep -o '\"surface\":\"[0-9a-f]*\"' | tail -n 1 | "
		"cut -d '\"' -f 4)\\\"\"");
	/*
	 * rejected steps are kept: a backward step, and a forward step on the state that it was
	 * tried on
	 */
	assert_sh(
		"back\nforward", dir,
		"git log --reverse --format='%%(trailers:key=Klineage-Direction,valueonly)' " REJECTED
		" ^" WALK " | grep .");
	assert_sh("wrong-edge", dir, TRAILER("Class", REJECTED));
	assert_sh("", dir, "git diff " REJECTED "^1 " WALK "~1");
	assert_sh("1", dir, "git notes --ref=klineage/gate show " REJECTED " | grep -c wrong-edge");
	/* only reachable commits have notes */
	sh(dir, "git notes --ref=klineage/gate list | while read -r blob commit; do "
		"test -n \"$(git for-each-ref --contains $commit)\" || exit 1; done");
	assert_sound(dir);
	kl_outcome_release(&out);
}

/* an attempt that is faster by other means is not the step that was taken back */
static void test_without_the_mechanism(void **state)
{
	static const struct answer answers[] = { { 1, 0, "NS:500 F:vec.128", 0 },
						 { 1, 1, "NS:1000 F:vec.128 F:prefetch", 0 },
						 { 2, 0, NULL, '-' },
						 { 0 } };
	KL_AUTO(kl_freep) char *dir = fake_repo("without");
	struct kl_outcome out;

	sh(dir, "git reset -q --hard main~3");
	fake_commit(dir, "NS:4000 F:vec.128", "\\ttiled();\\n", "copy: tile it");
	fake_commit(
		dir, "NS:1000 F:vec.128 F:prefetch", "\\texpert();\\n",
		"copy: prefetch\n\nKlineage-Action: prefetch-off\nKlineage-Mechanism: prefetch");
	assert_ok(walk(dir, answers, &out));
	assert_int_equal(out.rederived, 1);
	assert_sh("rederived", dir, TRAILER("Derivation", LINEAGE));
	assert_sh("not-there", dir, TRAILER("Attempts", LINEAGE));
	assert_sh("not-there", dir, TRAILER("Class", REJECTED));
	assert_sound(dir);
	kl_outcome_release(&out);
}

/* every way not to get there leaves the walk as it was */
static void test_inverse(void **state)
{
	static const struct {
		struct answer t[6];
		int asked;
		const char *attempts;
	} row[] = {
		{ { { 1, 0, NULL, '-' }, { 2, 0, NULL, '-' } }, 2, "gave-up" },
		{ { { 1, 0, NULL, '$' } }, 1, "budget" },
		{ { { 1, 0, NULL, '?' },
		    { 1, 1, "NS:9000", 0 },
		    { 1, 2, NULL, '?' },
		    { 1, 3, "NS:1 BAD:hang", 0 },
		    { 2, 0, NULL, '-' } },
		  5,
		  "unusable, slower, unusable, hang" },
		{ { { 1, 0, "NS:1 CODE:tiled", 0 }, { 1, 1, NULL, '-' }, { 2, 0, NULL, '-' } },
		  3,
		  "no-change, gave-up" },
		/* who does not answer in time has had an attempt */
		{ { { 1, 0, NULL, '~' },
		    { 1, 1, "NS:9000", 0 },
		    { 1, 2, NULL, '~' },
		    { 1, 3, NULL, '~' },
		    { 2, 0, NULL, '-' } },
		  5,
		  "timeout, slower, timeout, timeout" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_freep) char *dir = fake_repo("inverse");
		struct kl_outcome out;

		/* K_1 with a code of its own, to come back to */
		sh(dir, "git reset -q --hard main~3");
		fake_commit(dir, "NS:4000 F:vec.128 CODE:tiled", "\\ttiled();\\n", "copy: tile it");
		fake_commit(dir, "NS:1000 F:vec.256 F:prefetch", "\\texpert();\\n",
			    "copy: the expert");
		assert_ok(walk(dir, row[i].t, &out));
		assert_int_equal(out.steps, 2);
		assert_int_equal(out.rejections, 0);
		assert_int_equal(out.rederived, 0);
		assert_string_equal(out.termination, "complete");
		assert_int_equal(m.asked, row[i].asked);
		assert_sh("3", dir, "git rev-list --count " LINEAGE);
		assert_sh("inverse", dir, TRAILER("Derivation", LINEAGE));
		assert_sh(row[i].attempts, dir, TRAILER("Attempts", LINEAGE));
		assert_sound(dir);
		kl_outcome_release(&out);
	}
}

/* the same files as K_i, or the same machine code: not slower, and not measured */
static void test_same_as_goal(void **state)
{
	static const struct answer answers[] = { { 1, 0, NULL, '=' },
						 { 2, 0, "NS:99999 CODE:tiled", 0 },
						 { 0 } };
	KL_AUTO(kl_freep) char *dir = fake_repo("same");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_outcome out;
	struct kl_ratio against;
	struct kl_view view;

	sh(dir, "git reset -q --hard main~3");
	fake_commit(dir, "NS:4000 F:vec.128 CODE:tiled", "\\ttiled();\\n", "copy: tile it");
	fake_commit(dir, "NS:1000 F:vec.256 F:prefetch", "\\texpert();\\n", "copy: the expert");
	assert_ok(walk(dir, answers, &out));
	assert_int_equal(out.rederived, 2);
	sh(dir, "test \"$(git rev-parse " LINEAGE "^2^{tree})\" = \"$(git rev-parse " LINEAGE
		"^{tree})\"");
	assert_sh("1", dir, "git show " LINEAGE "~1^2:copy.c | grep -c 'anew()'");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_view_load(&view, repo, "copy", FAKE_NAME));
	assert_string_equal(kl_view_rederived(&against, repo, &view.step[2]), "the same files");
	assert_string_equal(kl_view_rederived(&against, repo, &view.step[1]),
			    "the same machine code");
	kl_view_release(&view);
	assert_sound(dir);
	kl_outcome_release(&out);
}

/*
 * noise is measured again, three times in all; then nothing is shown, and nobody is asked for a
 * repair
 */
static void test_noise(void **state)
{
	static const struct answer answers[] = { { 1, 0, "NS:1000 NOISY", 0 },
						 { 2, 0, NULL, '-' },
						 { 0 } };

	for (int noisy = 0; noisy < 4; noisy++) {
		KL_AUTO(kl_freep) char *dir = fake_repo("noise");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct kl_sequencer_opts opts = options();
		struct fake fake = { 0 };
		struct kl_sequencer other;
		struct kl_outcome out;

		memset(&m, 0, sizeof(m));
		m.noisy = noisy;
		table = answers;
		assert_ok(kl_repo_open_at(&repo, dir));
		other = sequencer(repo, &fake);
		assert_ok(kl_sequencer_start(&other, &opts));
		assert_ok(kl_sequencer_run(&other, &out));
		kl_sequencer_release(&other);
		assert_int_equal(m.asked, 2);
		assert_int_equal(m.again, noisy < 2 ? noisy : 2);
		assert_int_equal(out.rederived, noisy < 3);
		if (noisy == 3)
			assert_sh("not-shown", dir, TRAILER("Attempts", LINEAGE));
		else /* all that was measured stands there */
			sh(dir,
			   "test $(git notes --ref=klineage/gate show " LINEAGE "^2 | wc -l) = %d",
			   noisy + 1);
		assert_sound(dir);
		kl_outcome_release(&out);
	}
}

/*
 * interrupted wherever a gate or a model is asked: the same states, and no answer is asked for
 * twice
 */
static void test_interrupted(void **state)
{
	static const struct answer answers[] = { { 1, 0, "NS:1000 BAD:wrong-edge", 0 },
						 { 1, 1, "NS:1000 F:avx", 0 },
						 { 2, 0, "NS:3900", 0 },
						 { 0 } };

	for (int at = 1; at <= 10; at++) {
		KL_AUTO(kl_freep) char *dir = fake_repo("cut");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct kl_sequencer_opts opts = options();
		bool model = at > 7;
		struct fake fake = { .interrupt_at = model ? 0 : at };
		struct kl_sequencer other;
		struct kl_outcome out;

		memset(&m, 0, sizeof(m));
		m.interrupt_at = model ? at - 7 : 0;
		table = answers;
		assert_ok(kl_repo_open_at(&repo, dir));
		other = sequencer(repo, &fake);
		assert_ok(kl_sequencer_start(&other, &opts));
		assert_error(KL_EINTR, "interrupted", kl_sequencer_run(&other, &out));
		kl_sequencer_release(&other);
		kl_outcome_release(&out);
		sh(dir, "git fsck --strict --no-dangling && git gc -q --prune=now");
		other = sequencer(repo, &fake);
		assert_ok(kl_sequencer_resume(&other));
		assert_ok(kl_sequencer_run(&other, &out));
		kl_sequencer_release(&other);
		assert_int_equal(out.rederived, 2);
		assert_int_equal(m.asked, 3 + model);
		assert_sh("wrong-edge", dir, TRAILER("Attempts", LINEAGE));
		assert_sound(dir);
		kl_outcome_release(&out);
	}
}

/*
 * an error of the model ends the run, not the walk; --skip leaves the step as it is; no model, no
 * start
 */
static void test_errors(void **state)
{
	static const struct answer answers[] = { { 1, 0, NULL, '!' }, { 2, 0, NULL, '-' }, { 0 } };
	KL_AUTO(kl_freep) char *dir = fake_repo("errors");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct fake fake = { 0 };
	struct kl_sequencer_opts opts = options();
	struct kl_sequencer other;
	struct kl_outcome out;

	assert_error(KL_EIO, "overloaded", walk(dir, answers, &out));
	assert_contains(kl_error_hints(), "--continue");
	kl_outcome_release(&out);
	assert_ok(kl_repo_open_at(&repo, dir));
	other = sequencer(repo, &fake);
	assert_ok(kl_sequencer_resume(&other));
	assert_int_equal(kl_walk_next(&other.op.walk), KL_WALK_DERIVE);
	assert_ok(kl_sequencer_skip(&other));
	assert_ok(kl_sequencer_run(&other, &out));
	kl_sequencer_release(&other);
	assert_sh("skipped", dir, TRAILER("Attempts", LINEAGE));
	kl_outcome_release(&out);

	other = sequencer(repo, &fake);
	m.no_chat = true;
	opts.name = "other";
	assert_error(KL_EINVALID, "no provider", kl_sequencer_start(&other, &opts));
	kl_sequencer_release(&other);
	assert_sh("", dir, "git for-each-ref refs/klineage/op");
}

/* three timeouts in a row are an error, and the counted ones are kept */
static void test_timeouts(void **state)
{
	static const struct answer answers[] = { { 1, 0, NULL, '~' }, { 1, 1, NULL, '~' },
						 { 1, 2, NULL, '~' }, { 1, 3, NULL, '-' },
						 { 2, 0, NULL, '-' }, { 0 } };
	KL_AUTO(kl_freep) char *dir = fake_repo("timeouts");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct fake fake = { 0 };
	struct kl_sequencer other;
	struct kl_outcome out;

	assert_error(KL_ETIMEOUT, "sent nothing for 600 s; 3 times in a row",
		     walk(dir, answers, &out));
	assert_contains(kl_error_hints(), "--continue");
	assert_int_equal(m.asked, 3);
	kl_outcome_release(&out);
	assert_ok(kl_repo_open_at(&repo, dir));
	other = sequencer(repo, &fake);
	assert_ok(kl_sequencer_resume(&other));
	assert_int_equal(json_integer_value(json_object_get(other.op.walk.state, "timeouts")), 3);
	assert_ok(kl_sequencer_run(&other, &out));
	kl_sequencer_release(&other);
	assert_sh("timeout, timeout, timeout, gave-up", dir, TRAILER("Attempts", LINEAGE));
	assert_sound(dir);
	kl_outcome_release(&out);
}

/* ended while an attempt waits to be judged: the step stands, nothing of the attempt is left */
static void test_stopped(void **state)
{
	static const struct answer answers[] = { { 1, 0, "NS:1000", 0 }, { 0 } };
	KL_AUTO(kl_freep) char *dir = fake_repo("stopped");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_sequencer_opts opts = options();
	struct fake fake = { .interrupt_at = 4 };
	struct kl_sequencer other;
	struct kl_outcome out;

	memset(&m, 0, sizeof(m));
	table = answers;
	assert_ok(kl_repo_open_at(&repo, dir));
	other = sequencer(repo, &fake);
	assert_ok(kl_sequencer_start(&other, &opts));
	assert_error(KL_EINTR, "", kl_sequencer_run(&other, &out));
	assert_int_equal(kl_walk_next(&other.op.walk), KL_WALK_JUDGE_DERIVED);
	kl_outcome_release(&out);
	assert_ok(kl_sequencer_stop(&other));
	assert_ok(kl_sequencer_run(&other, &out));
	kl_sequencer_release(&other);
	assert_int_equal(out.steps, 1);
	assert_string_equal(out.termination, "stopped");
	assert_sh("inverse", dir, TRAILER("Derivation", LINEAGE));
	assert_sound(dir);
	kl_outcome_release(&out);
}

/* a second reader: its answer about "tiled", and how often it was asked */
static struct {
	const char *says; /* JSON; NULL if no money is left for it */
	int asked;
} reader;

static int audit(json_t **audited, const struct kl_trait_reading *reading)
{
	reader.asked++;
	assert_string_equal(kl_json_str_or(reading->claims, "tiled", ""), "no");
	assert_non_null(strstr(reading->state->file[0].data, "naive"));
	assert_int_equal(reading->step, 2);
	if (!reader.says)
		return kl_error(KL_ENO, "nothing is left of $40");
	return kl_json_parse(audited, reader.says, strlen(reader.says));
}

/* a claim is confirmed with lines, not confirmed, or not read */
static void test_traits(void **state)
{
	static const struct {
		const char *says, *trait, *delta;
	} row[] = {
		{ "{\"tiled\":{\"value\":\"no\",\"path\":\"copy.c\",\"lines\":[2,4]}}",
		  "\"tiled\":\"no\"", "clean" },
		{ "{}", "\"tiled\":\"unknown\"", "unknown" },
		{ NULL, "\"tiled\":\"no unaudited\"", "clean" },
	};
	static const struct answer answers[] = { { 1, 0, NULL, '-' }, { 2, 0, NULL, '-' }, { 0 } };
	char *primary[] = { (char *)"trait:tiled", NULL };
	struct kl_mechanism tile = { .name = (char *)"tile",
				     .primary = { primary, 1, 0 },
				     .companions = { (char *[]){ (char *)"*", NULL }, 1, 0 } };
	struct kl_mechanisms mechanisms = { .m = &tile, .n = 1 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_freep) char *dir = fake_repo("traits");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct kl_sequencer_opts opts = options();
		struct fake fake = { 0 };
		struct kl_sequencer other;
		struct kl_outcome out;

		sh(dir, "git reset -q --hard main~3");
		fake_commit(
			dir, "NS:4000 F:vec.128", "\\ttiled();\\n",
			"copy: tile it\n\nKlineage-Action: untile\nKlineage-Mechanism: tile\nKlineage-Trait: tiled");
		fake_commit(dir, "NS:1000 F:vec.256", "\\texpert();\\n", "copy: the expert");
		memset(&m, 0, sizeof(m));
		reader.says = row[i].says;
		reader.asked = 0;
		table = answers;
		assert_ok(kl_repo_open_at(&repo, dir));
		other = sequencer(repo, &fake);
		other.mechanisms = &mechanisms;
		other.model.audit = audit;
		assert_ok(kl_sequencer_start(&other, &opts));
		assert_ok(kl_sequencer_run(&other, &out));
		kl_sequencer_release(&other);
		assert_int_equal(reader.asked, 1);
		sh(dir, "git notes --ref=klineage/gate show " WALK " | grep -F '%s'", row[i].trait);
		sh(dir,
		   "test $(git notes --ref=klineage/gate show " WALK
		   " | grep -c '\"audit\":.*\"lines\":\\[2,4\\]') = %d",
		   !i);
		assert_sh(row[i].delta, dir, TRAILER("Delta", WALK));
		assert_sound(dir);
		kl_outcome_release(&out);
	}
}

/* the gate is elsewhere: the walk waits with K_i' at hand, and a thought buys nothing */
static bool away, sent;

static int judge_away(struct kl_judgement **out, const struct kl_surface *surface,
		      const struct kl_surface *parent, void *payload)
{
	int err = judge(out, surface, parent, payload);

	if (!err && away && strstr(surface->file[0].data, "anew")) {
		(*out)->event->verdict = KL_VERDICT_NOT_RUN;
		(*out)->deferred = true;
	}
	return err;
}

static int send_nothing(struct kl_transfer *out, void *payload)
{
	*out = (struct kl_transfer){ .waiting = true,
				     .file = kl_strdup("f"),
				     .digest = kl_strdup("d"),
				     .command = kl_strdup("c"),
				     .jobs = 1 };
	sent = true;
	return 0;
}

static size_t collected(void *payload)
{
	return 1;
}

static void test_waiting(void **state)
{
	static const struct answer answers[] = { { 1, 0, "NS:1000", 0 },
						 { 2, 0, NULL, '-' },
						 { 0 } };
	KL_AUTO(kl_freep) char *dir = fake_repo("waiting");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_sequencer_opts opts = options();
	struct fake fake = { 0 };
	struct kl_sequencer other;
	struct kl_outcome out;

	memset(&m, 0, sizeof(m));
	table = answers;
	away = true;
	assert_ok(kl_repo_open_at(&repo, dir));
	for (int i = 0; i < 2; i++) {
		other = sequencer(repo, &fake);
		other.judge = judge_away;
		other.send = send_nothing;
		other.collected = collected;
		assert_ok(i ? kl_sequencer_resume(&other) : kl_sequencer_start(&other, &opts));
		assert_ok(kl_sequencer_run(&other, &out));
		assert_true(out.waiting);
		assert_true(sent);
		assert_int_equal(m.asked, 1);
		kl_sequencer_release(&other);
		kl_outcome_release(&out);
		sh(dir, "git fsck --strict --no-dangling && git gc -q --prune=now");
	}
	away = false;
	other = sequencer(repo, &fake);
	other.judge = judge_away;
	assert_ok(kl_sequencer_resume(&other));
	assert_ok(kl_sequencer_run(&other, &out));
	kl_sequencer_release(&other);
	assert_int_equal(out.rederived, 1);
	assert_int_equal(m.asked, 2);
	assert_sound(dir);
	kl_outcome_release(&out);
}

/*
 * second parents, their notes and what failed travel; a re-derivation that is not what it says is
 * found
 */
static void test_travels(void **state)
{
	static const struct answer answers[] = { { 1, 0, "NS:1000 BAD:wrong-edge", 0 },
						 { 1, 1, "NS:1000 F:avx", 0 },
						 { 2, 0, NULL, '-' },
						 { 0 } };
	KL_AUTO(kl_freep) char *dir = fake_repo("travels");
	KL_AUTO(kl_freep) char *to = scratch_dir("travels-to");
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s/tx", scratch_root);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL, *there = NULL;
	struct kl_import_result res;
	struct kl_check check = { 0 };
	struct kl_outcome out;
	size_t files;

	assert_ok(walk(dir, answers, &out));
	kl_outcome_release(&out);
	assert_ok(kl_repo_open_at(&repo, dir));
	sh(scratch_root, "rm -rf tx");
	assert_ok(kl_export_write(repo, "copy", FAKE_NAME, text, &files));
	sh(text, "test -f rederived/0002-* && ls rejected | grep -q 0002-");
	sh(to, "git init -q .");
	assert_ok(kl_repo_open_at(&there, to));
	assert_ok(kl_import_read(&res, there, text, NULL));
	assert_int_equal(res.steps, 2);
	assert_int_equal(res.rejected, 2);
	sh(scratch_root, "test \"$(git -C travels rev-parse " LINEAGE
			 "^2)\" = \"$(git -C travels-to rev-parse " LINEAGE "^2)\"");
	sh(scratch_root, "test \"$(git -C travels rev-parse " LINEAGE
			 ")\" = \"$(git -C travels-to rev-parse " LINEAGE ")\"");
	assert_sh("forward", to, TRAILER("Direction", REJECTED));
	assert_sound(to);
	sh(scratch_root, "cd tx && sed -i 's/anew()/knew()/' rederived/0002-*");
	assert_error(KL_EINVALID, "has been changed", kl_import_read(&res, there, text, "again"));

	/* the same words over a K_i' that was never judged */
	sh(to,
	   "git update-ref refs/heads/" LINEAGE " $(git commit-tree -p " LINEAGE
	   "^1 -p $(git commit-tree -p " LINEAGE "^1 "
	   "-m x " LINEAGE "~1^{tree}) -m \"$(git log -1 --format=%%B " LINEAGE ")\" " LINEAGE
	   "^{tree}) && "
	   "git notes --ref=klineage/gate copy %s " LINEAGE,
	   "$(git -C ../travels rev-parse " LINEAGE ")");
	check.repo = there;
	assert_ok(kl_check_run(&check));
	assert_int_equal(check.errors, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rederived),
		cmocka_unit_test(test_inverse),
		cmocka_unit_test(test_without_the_mechanism),
		cmocka_unit_test(test_same_as_goal),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_timeouts),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_traits),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_travels),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* the rewriter history on a history that nobody wrote for it, with a gate that reads its verdicts */
#include "lineage_fake.h"

#include "event/speed.h"
#include "walk/effect.h"

/* a kernel of two lines that commits can change independently of each other */
static void two_lines(const char *dir, const char *first, const char *last, const char *subject)
{
	KL_AUTO(kl_freep) char *body = kl_asprintf("\\t%s\\n\\tx1;\\n\\tx2;\\n\\tx3;\\n\\tx4;\\n"
						   "\\tx5;\\n\\tx6;\\n\\tx7;\\n\\t%s\\n",
						   first, last);

	fake_commit(dir, "", body, subject);
}

/* the values of a trailer of these commits, the newest first */
#define TRAILER(key, revs) \
	"git log --format='%%(trailers:key=Klineage-" key ",valueonly,separator=)' " revs

/*
 * older states that equal another are passed over without asking the gate, and so is what a revert
 * took back; none of them counts as a rejection
 */
static void test_passed_over(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("passed");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_sequencer_opts opts = fake_opts;
	struct fake fake = { 0 };
	struct kl_sequencer sequencer;
	struct kl_outcome out;

	fake_commit(dir, "NS:4000", "\tplain();\n", "plain");
	for (int i = 0; i < 40; i++)
		fake_commit(dir, "NS:4000", i % 2 ? "\tplain(); // a\n" : "\tplain( );\n", "word");
	fake_commit(dir, "NS:3000 CODE:x", "\tdetour();\n", "detour");
	fake_commit(dir, "NS:4000", "\tplain();\n", "Revert detour");
	fake_commit(dir, "NS:1000 CODE:y", "\texpert(1);\n", "expert");
	fake_commit(dir, "NS:1000 CODE:y", "\texpert(+1);\n", "the same code");
	fake_commit(dir, "NS:1000 CODE:y", "\texpert( +1 );\n", "the same tokens");
	opts.rejection_limit = 1;
	assert_ok(kl_repo_open_at(&repo, dir));
	sequencer = fake_sequencer(repo, &fake);
	assert_ok(fake_run(&sequencer, &opts, &out));
	assert_string_equal(out.termination, "complete");
	assert_int_equal(out.steps, 1);
	assert_int_equal(out.rejections, 0);
	/* the expert, a state with its machine code, and the plain loop: nothing else is judged */
	assert_int_equal(fake.calls, 3);
	assert_int_equal(out.passed_over.same_code, 1);
	assert_int_equal(out.passed_over.equal, 43);
	{
		KL_AUTO(kl_freep) char *text = kl_outcome_passed_over(&out);

		assert_string_equal(
			text, "older states: 43 equal to another state or taken back, 1 with the "
			      "machine code of another state");
	}
	assert_clean(dir);
	kl_outcome_release(&out);
}

/*
 * older states without an effect are folded: the next one is compared with K_i again, and the step
 * is named by the commit that made the difference
 */
static void test_folded(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("folded");
	struct kl_sequencer_opts opts = fake_opts;
	struct kl_outcome out;

	fake_commit(dir, "NS:4000", "\\tplain();\\n", "plain");
	fake_commit(dir, "NS:1000", "\\tfaster();\\n", "the optimization");
	fake_commit(dir, "NS:1000", "\\tother();\\n", "one of nothing");
	fake_commit(dir, "NS:1000", "\\texpert();\\n", "another of nothing");
	opts.rejection_limit = 1;
	assert_ok(fake_deopt(dir, &opts, &out));
	assert_int_equal(out.steps, 1);
	assert_int_equal(out.rejections, 0);
	assert_int_equal(out.passed_over.no_effect, 2);
	kl_outcome_release(&out);
	assert_sh("plain", dir, "git show " WALK ":k/copy.c | grep -o plain");
	assert_sh("speed", dir, TRAILER("Effect", "-1 " LINEAGE));
	sh(dir, "test \"$(" TRAILER("Undoes", "-1 " LINEAGE) ")\" = $(git rev-parse main~2)");
	sh(dir, "test \"$(" TRAILER(
			"Folded",
			"-1 " LINEAGE) ")\" = \"$(git rev-parse main), $(git rev-parse main~1)\"");
	assert_sh("2", dir, TRAILER("Effect", REJECTED " ^" WALK) " | grep -c nothing");
	assert_clean(dir);
	opts.keep_all = true;
	opts.name = "all";
	assert_ok(fake_deopt(dir, &opts, &out));
	assert_int_equal(out.steps, 3);
	assert_int_equal(out.passed_over.no_effect, 0);
	assert_sh("nothing\nnothing\nspeed", dir,
		  TRAILER("Effect", "-3 klineage/lineage/copy/all"));
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* a commit whose author names a mechanism is a step, also without an effect: it can make room */
static void test_labelled(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("labelled");
	struct kl_sequencer_opts opts = fake_opts;
	struct kl_outcome out;

	fake_commit(dir, "NS:4000", "\\tplain();\\n", "plain");
	fake_commit(dir, "NS:1000", "\\tfaster();\\n", "the optimization");
	fake_commit(dir, "NS:1000", "\\texpert();\\n",
		    "room for another\n\nKlineage-Mechanism: loop-fusion");
	assert_ok(fake_deopt(dir, &opts, &out));
	assert_int_equal(out.steps, 2);
	assert_int_equal(out.passed_over.no_effect, 0);
	kl_outcome_release(&out);
	assert_sh("nothing\nspeed", dir, TRAILER("Effect", "-2 " LINEAGE));
	assert_clean(dir);
}

/* states older than the last state that differs are folded into the step before it */
static void test_trail(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("trail");
	struct kl_outcome out;

	fake_commit(dir, "NS:4000", "\\tplain();\\n", "the plainest");
	fake_commit(dir, "NS:4000", "\\tother();\\n", "one of nothing");
	fake_commit(dir, "NS:4000", "\\tlast();\\n", "another of nothing");
	fake_commit(dir, "NS:2000", "\\tfaster();\\n", "the optimization");
	fake_commit(dir, "NS:1000", "\\texpert();\\n", "the last touch");
	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_int_equal(out.steps, 2);
	assert_int_equal(out.passed_over.no_effect, 2);
	kl_outcome_release(&out);
	assert_sh("plain", dir, "git show " WALK ":k/copy.c | grep -o plain");
	assert_sh("2", dir, "git rev-list --count main.." WALK);
	sh(dir, "test \"$(" TRAILER("Undoes", "-2 " WALK) ")\" = \"$(git rev-parse main~1 main)\"");
	sh(dir, "test \"$(" TRAILER(
			"Folded",
			"-1 " WALK) ")\" = \"$(git rev-parse main~2), $(git rev-parse main~3)\"");
	sh(dir, "test \"$(" TRAILER("Source", "-1 " WALK) ")\" = \"$(git rev-parse main~4)\"");
	assert_sh("2", dir, "git notes --ref=klineage/gate show " LINEAGE "~1 | grep -c .");
	assert_clean(dir);
}

/* interrupted at every call of the gate in turn, the walk ends in the same trees */
static void test_interrupted(void **state)
{
	for (int at = 1; at <= 6; at++) {
		KL_AUTO(kl_freep) char *dir = fake_empty_repo("interrupted");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct fake fake = { .interrupt_at = at };
		struct kl_sequencer sequencer;
		struct kl_outcome out;

		fake_commit(dir, "NS:4000", "\\tplain();\\n", "the plainest");
		fake_commit(dir, "NS:4000", "\\tlast();\\n", "nothing");
		fake_commit(dir, "NS:1000", "\\tfaster();\\n", "the optimization");
		fake_commit(dir, "NS:1000", "\\tfaster(); // word\\n", "a word");
		fake_commit(dir, "NS:1000", "\\texpert();\\n", "nothing again");
		assert_ok(kl_repo_open_at(&repo, dir));
		sequencer = fake_sequencer(repo, &fake);
		assert_ok(kl_sequencer_start(&sequencer, &fake_opts));
		assert_error(at < 6 ? KL_EINTR : 0, "", kl_sequencer_run(&sequencer, &out));
		kl_sequencer_release(&sequencer);
		if (at < 6) {
			kl_outcome_release(&out);
			sequencer = fake_sequencer(repo, &fake);
			assert_ok(kl_sequencer_resume(&sequencer));
			assert_ok(kl_sequencer_run(&sequencer, &out));
			kl_sequencer_release(&sequencer);
		}
		assert_int_equal(out.steps, 1);
		assert_int_equal(out.passed_over.equal, 1);
		assert_int_equal(out.passed_over.no_effect, 2);
		assert_sh("plain", dir, "git show " WALK ":k/copy.c | grep -o plain");
		assert_clean(dir);
		kl_outcome_release(&out);
	}
}

/* if no step has an effect, there is no lineage; the message says what was found, and what to do */
static void test_nothing_real(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("unreal");
	struct kl_outcome out;

	fake_commit(dir, "NS:1000", "\\tplain();\\n", "plain");
	fake_commit(dir, "NS:1000", "\\texpert();\\n", "nothing");
	assert_error(KL_ENO, "no older state", fake_deopt(dir, &fake_opts, &out));
	assert_contains(kl_error_hints(), "--keep-all");
	assert_contains(kl_error_hints(), "1 no faster or slower");
	assert_sh("", dir, "git for-each-ref refs/heads/klineage");
	kl_outcome_release(&out);
}

/*
 * between the expert and the next state that passes are two commits, of which one passes alone: the
 * step is of that commit, and the next one of the other
 */
static void test_bundle(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("bundle");
	struct kl_outcome out;

	two_lines(dir, "a0; /* NS:2500 */", "c0; /* NS:1500 */", "plain");
	two_lines(dir, "a0; /* NS:2500 */", "c1; /* NS:500 NEEDS:a1 */", "the end");
	two_lines(dir, "a1; /* NS:500 HAS:a1 */", "c1; /* NS:500 NEEDS:a1 */", "the beginning");
	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_int_equal(out.steps, 2);
	assert_int_equal(out.passed_over.uncompiled, 1);
	sh(dir, "test \"$(" TRAILER("Undoes", "-2 " WALK) ")\" = \"$(git rev-parse main main~1)\"");
	assert_sh("historical-the-beginning\nhistorical-the-end", dir,
		  TRAILER("Action", "-2 " WALK));
	/* the first step changes one line of the expert, that of the commit which it undoes */
	assert_sh("-\tc1; /* NS:500 NEEDS:a1 */\n+\tc0; /* NS:1500 */", dir,
		  "git diff main " WALK "~1 | grep '^[-+]\t'");
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* neither commit passes without the other: the step says that it is of both */
static void test_true_bundle(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("both");
	struct kl_outcome out;

	two_lines(dir, "a0; /* NS:2500 */", "c0; /* NS:1500 */", "plain");
	two_lines(dir, "a0; /* NS:2500 */", "c1; /* NS:500 NEEDS:a1 HAS:c1 */", "the end");
	two_lines(dir, "a1; /* NS:500 HAS:a1 NEEDS:c1 */", "c1; /* NS:500 NEEDS:a1 HAS:c1 */",
		  "the beginning");
	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_int_equal(out.steps, 1);
	assert_int_equal(out.passed_over.uncompiled, 2);
	sh(dir, "test \"$(" TRAILER(
			"Undoes",
			"-1 " WALK) ")\" = \"$(git rev-parse main~2)..$(git rev-parse main)\"");
	sh(dir, "git log -1 --format=%%b " WALK
		" | grep \"undo commits $(git rev-parse --short=7 main~2)"
		"..$(git rev-parse --short=7 main)\"");
	sh(dir, "git log -1 --format=%%s " WALK " | grep '^historical-commits-'");
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* comments that changed in between are not part of the step's difference */
static void test_one_commit(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("one");
	struct kl_outcome out;

	two_lines(dir, "a0; /* NS:2500 */", "c0; /* NS:500 */", "plain");
	two_lines(dir, "a1; /* NS:500 */", "c0; /* NS:500 */", "the beginning");
	two_lines(dir, "a1; /* NS:500 */", "c0; /* NS:500 a word */", "a word");
	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_int_equal(out.steps, 1);
	assert_int_equal(out.passed_over.equal, 1);
	assert_sh("1", dir, "git show " WALK ":k/copy.c | grep -c 'a word'");
	assert_sh("1\t1\tk/copy.c", dir, "git diff --numstat main " WALK);
	assert_sh("historical-the-beginning", dir, TRAILER("Action", "-1 " WALK));
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* right at the cases only: said, and gone on with older states, whatever the limit */
static void test_narrower(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("narrower");
	struct kl_sequencer_opts opts = fake_opts;
	struct kl_outcome out;

	fake_commit(dir, "NS:4000", "\\tplain();\\n", "plain");
	for (int i = 0; i < 5; i++) {
		KL_AUTO(kl_freep) char *body = kl_asprintf("\\tnarrow(%d);\\n", i);

		fake_commit(dir, "NS:2000 BAD:wrong-edge AT:also1", body, "narrow");
	}
	fake_commit(dir, "NS:1000", "\\texpert();\\n", "the remainder");
	opts.rejection_limit = 1;
	assert_ok(fake_deopt(dir, &opts, &out));
	assert_int_equal(out.steps, 1);
	assert_int_equal(out.rejections, 5);
	assert_string_equal(out.termination, "complete");
	assert_sh("5", dir, TRAILER("Effect", REJECTED " ^" WALK) " | grep -c generality");
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* a kernel that adds to cleared outputs is told from one that is wrong, and does not end the walk */
static void test_zeroed(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("zeroed");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_sequencer_opts opts = fake_opts;
	struct fake fake = { 0 };
	struct kl_sequencer sequencer;
	struct kl_outcome out;

	fake_commit(dir, "NS:4000", "\\tplain();\\n", "plain");
	fake_commit(dir, "NS:3000 BAD:wrong-all AT:case0", "\\twrong();\\n", "wrong");
	fake_commit(dir, "NS:3000 ADDS:y", "\\tadds();\\n", "adds");
	fake_commit(dir, "NS:3000 ADDS:y", "\\tadds(2);\\n", "adds more");
	fake_commit(dir, "NS:1000", "\\texpert();\\n", "clears");
	opts.rejection_limit = 2;
	assert_ok(kl_repo_open_at(&repo, dir));
	sequencer = fake_sequencer(repo, &fake);
	sequencer.judge_cleared = fake_judge;
	assert_ok(fake_run(&sequencer, &opts, &out));
	assert_int_equal(out.steps, 1);
	assert_int_equal(out.rejections, 3);
	assert_string_equal(out.termination, "complete");
	assert_sh("2", dir,
		  "git log --format=%%b " REJECTED " ^" WALK
		  " | grep -c 'The state is wrong-all, but right "
		  "if its outputs start at zero.'");
	assert_sh("2", dir, TRAILER("Effect", REJECTED " ^" WALK) " | grep -c generality");
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* a source is read under the names that it had, also through two renames and another directory */
static void test_renamed(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("renamed");
	struct kl_outcome out;

	two_lines(dir, "a0; /* NS:2500 */", "c0; /* NS:1500 */", "plain");
	sh(dir, "mkdir lib && git mv k/copy.c lib/first.c && git commit -qm 'the first name'");
	sh(dir, "sed 's/a0.*/a1; \\/* NS:500 *\\//' lib/first.c >x && mv x lib/first.c && "
		"git commit -qam 'the beginning' && git mv lib/first.c lib/second.c && "
		"git commit -qm 'the second name'");
	sh(dir, "git mv lib/second.c k/copy.c && sed 's/c0.*/c1; \\/* NS:500 *\\//' k/copy.c >x && "
		"mv x k/copy.c && git add -A && git commit -qm 'the end and a name'");
	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_int_equal(out.steps, 2);
	assert_int_equal(out.passed_over.equal, 2);
	assert_sh("k/copy.c", dir, "git diff --name-only main " WALK);
	assert_sh("NS:2500\nNS:1500", dir, "git show " WALK ":k/copy.c | grep -o 'NS:[0-9]*'");
	assert_sh("1", dir,
		  "git log -1 --format=%%b " WALK "~1 | grep -c 'k/copy.c was lib/second.c'");
	assert_sh("historical-the-beginning\nhistorical-the-end-and-a-name", dir,
		  TRAILER("Action", "-2 " WALK));
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* a commit that renames the source after a word was added to it is taken back as a whole state */
static void test_renamed_after(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("after");
	struct kl_outcome out;

	sh(dir,
	   "sed -i 's/copy.c]/copy.c, more.c]/' k/klineage.yaml && printf 'int more;\n\n\n\n\n\n\n\n' >k/more.c");
	two_lines(dir, "a0; /* NS:2500 */", "c0; /* NS:500 */", "plain");
	sh(dir,
	   "git mv k/copy.c first.c && git commit -qm 'the first name' && "
	   "git mv first.c k/copy.c && sed -i 's/a0.*/a1; \\/* NS:500 *\\//' k/copy.c && "
	   "sed -i 's/more/less/' k/more.c && git add -A && git commit -qm 'the name and the beginning' && "
	   "echo '/* a word */' >>k/more.c && git commit -qam 'a word'");
	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_int_equal(out.steps, 1);
	assert_int_equal(out.passed_over.same_code + out.passed_over.no_effect, 0);
	assert_sh("int more;", dir, "git show " WALK ":k/more.c | head -n 1");
	assert_sh("1", dir, "git show " WALK ":k/copy.c | grep -c 'NS:2500'");
	assert_clean(dir);
	kl_outcome_release(&out);
}

/*
 * a file that only an older source includes is written into that source, but not a file that the
 * expert includes, too
 */
static void test_included(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("included");
	struct kl_outcome out;

	sh(dir,
	   "mkdir k/sub && echo 'int win;' >k/win.h && "
	   "printf '#pragma once\n#include \"../old.h\"\nint deep;' >k/sub/deep.h && "
	   "printf '#ifndef OLD\n#define OLD\n#include \"sub/deep.h\"\nint old; /* NS:3000 */\n#endif\n' "
	   ">k/old.h && printf '# include  \"old.h\" // word\n#include <none.h>\n#include \"win.h\"\n"
	   "/*\n#include \"old.h\"\n*/ /* NS:1000 */\nvoid copy(void) {}\n' >k/copy.c && git add . && "
	   "git commit -qm plain && printf '#include \"win.h\" /* NS:1000 */\nvoid copy(void) {}\n' "
	   ">k/copy.c && git rm -qr k/old.h k/sub && git add . && git commit -qm expert");
	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_int_equal(out.steps, 1);
	assert_sh("#ifndef OLD\n#define OLD", dir, "git show " WALK ":k/copy.c | head -n 2");
	sh(dir, "git show " WALK ":k/copy.c >got && test $(grep -c 'int deep' got) = 1 && "
		"test $(grep -c 'int old' got) = 1 && test $(grep -c 'int win' got) = 0 && "
		"test $(grep -c 'include \"win.h\"' got) = 1 && grep -c 'include <none.h>' got && "
		"test $(grep -c '#include \"old.h\"' got) = 1 && grep -A1 'ifndef ONCE_' got");
	assert_sh("with k/old.h of that commit\nwith k/sub/deep.h of that commit", dir,
		  "git log -1 --format=%%b " WALK " | grep '^with'");
	assert_sh("k/copy.c", dir, "git diff --name-only main " WALK);
	assert_clean(dir);
	kl_outcome_release(&out);
}

static void test_effect(void **state)
{
	static const struct {
		enum kl_speed speed;
		int64_t lo, hi;
		enum kl_effect want;
		bool hidden;
	} row[] = {
		{ KL_SPEED_FAST, 1200000, 1300000, KL_EFFECT_SPEED, false },
		{ KL_SPEED_SLOW, 700000, 800000, KL_EFFECT_SPEED, false },
		{ KL_SPEED_SAME, 995000, 1005000, KL_EFFECT_NOTHING, false },
		{ KL_SPEED_AMBIGUOUS, 40000, 4310000, KL_EFFECT_UNKNOWN, true },
		{ KL_SPEED_AMBIGUOUS, 985000, 1015000, KL_EFFECT_NOTHING, false },
		{ KL_SPEED_AMBIGUOUS, 985000, 1060000, KL_EFFECT_UNKNOWN, true },
		{ KL_SPEED_AMBIGUOUS, 900000, 999000, KL_EFFECT_UNKNOWN, true },
	};
	static const struct {
		enum kl_failure failure;
		const char *point;
		enum kl_effect want;
	} failed[] = {
		{ KL_FAILURE_WRONG_EDGE, "also0", KL_EFFECT_GENERALITY },
		{ KL_FAILURE_FAULT, "drawn3", KL_EFFECT_GENERALITY },
		{ KL_FAILURE_WRONG_EDGE, "case0", KL_EFFECT_UNKNOWN },
		{ KL_FAILURE_WRONG_ALL, "", KL_EFFECT_UNKNOWN },
		{ KL_FAILURE_CHEAT, "also0", KL_EFFECT_UNKNOWN },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_new();

		event->verdict = KL_VERDICT_PASS;
		assert_int_equal(kl_effect_of(event), KL_EFFECT_UNKNOWN);
		event->profile.there = true;
		event->profile.vs.v = kl_calloc(1, sizeof(*event->profile.vs.v));
		event->profile.vs.n = 1;
		event->profile.vs.v[0] = (struct kl_comparison){
			.what = "parent",
			.ratio = { 1000000, row[i].lo, row[i].hi },
			.speed = row[i].speed,
		};
		assert_int_equal(kl_effect_of(event), row[i].want);
		assert_int_equal(kl_effect_is_hidden(event), row[i].hidden);
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(failed); i++) {
		KL_AUTO(kl_event_freep) struct kl_event *event = kl_event_new();

		event->verdict = KL_VERDICT_FAIL;
		event->failure = failed[i].failure;
		event->correct = json_pack("{s:{s:s}}", "failure", "point", failed[i].point);
		assert_int_equal(kl_effect_of(event), failed[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passed_over),   cmocka_unit_test(test_folded),
		cmocka_unit_test(test_labelled),      cmocka_unit_test(test_trail),
		cmocka_unit_test(test_renamed_after), cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_interrupted),   cmocka_unit_test(test_nothing_real),
		cmocka_unit_test(test_bundle),        cmocka_unit_test(test_true_bundle),
		cmocka_unit_test(test_one_commit),    cmocka_unit_test(test_narrower),
		cmocka_unit_test(test_renamed),       cmocka_unit_test(test_included),

		cmocka_unit_test(test_effect),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

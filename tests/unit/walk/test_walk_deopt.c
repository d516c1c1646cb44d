/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage_fake.h"

#include "lineage/view.h"

/* every result, read back with stock git */
static void test_results(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_repo("results");
	struct kl_outcome out;

	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_string_equal(out.termination, "complete");
	assert_int_equal(out.steps, 2);
	assert_int_equal(out.rejections, 1);
	/* the walk: on top of the expert, only the source changed */
	assert_sh("2", dir, "git rev-list --count main.." WALK);
	assert_sh("k/copy.c", dir, "git diff --name-only main " WALK);
	assert_sh("naive", dir, "git show " WALK ":k/copy.c | grep -o naive");
	assert_sh(
		"untile\ntile\ncopy.c:copy\nback\n2\nhistorical\nhistory", dir,
		"git log -1 --format='%%(trailers:key=Klineage-Action,valueonly)"
		"%%(trailers:key=Klineage-Mechanism,valueonly)%%(trailers:key=Klineage-Locus,valueonly)"
		"%%(trailers:key=Klineage-Direction,valueonly)%%(trailers:key=Klineage-Step,valueonly)"
		"%%(trailers:key=Klineage-Origin,valueonly)%%(trailers:key=Klineage-Rewriter,valueonly)' " WALK
		" | grep .");
	/* the lineage: an orphan of the contract's directory */
	assert_sh("3", dir, "git rev-list --count " LINEAGE);
	assert_sh("3", dir, "git rev-list --count " LINEAGE " --not main");
	assert_sh("copy.c\nklineage.yaml\noracle.c", dir, "git ls-tree --name-only " LINEAGE);
	sh(dir, "test \"$(git rev-parse main:k)\" = \"$(git rev-parse " LINEAGE "^{tree})\"");
	sh(dir, "test \"$(git rev-parse " WALK ":k)\" = \"$(git rev-parse " LINEAGE "~2^{tree})\"");
	assert_sh("0\n1\n2", dir,
		  "git log --reverse --format='%%(trailers:key=Klineage-Step,valueonly)' " LINEAGE
		  " | grep .");
	assert_sh("inverse\ninverse", dir,
		  "git log --format='%%(trailers:key=Klineage-Derivation,valueonly)' " LINEAGE
		  " | grep .");
	assert_sh("complete", dir,
		  "git log --format='%%(trailers:key=Klineage-Termination,valueonly)' " LINEAGE
		  " | grep .");
	/* the rejection, reachable and filtered as the design says */
	assert_sh("1", dir, "git rev-list --count " REJECTED " ^" WALK);
	assert_sh("wrong-edge", dir,
		  "git log -1 --format='%%(trailers:key=Klineage-Class,valueonly)' " REJECTED
		  " | grep .");
	assert_sh("", dir, "git diff " REJECTED "^1 main");
	/*
	 * events: expert, two steps, a rejection; three states and two forward comparisons on the
	 * lineage
	 */
	assert_sh("9", dir,
		  "git notes --ref=klineage/gate list | while read blob commit; do "
		  "git cat-file blob $blob; done | grep -c '\"kind\":\"gate\"'");
	assert_sh("2", dir, "git notes --ref=klineage/gate show " LINEAGE " | grep -c .");
	/* nothing is left of the operation */
	assert_sh("", dir, "git for-each-ref refs/klineage/op refs/klineage/tmp");
	assert_sh("", dir, "find .git -name '*.lock' -size +0");
	assert_sh("", dir, "git status --porcelain");
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* interrupted at every call of the gate in turn, the walk ends in the same trees */
static void test_interrupted(void **state)
{
	for (int at = 1; at <= 4; at++) {
		KL_AUTO(kl_freep) char *dir = fake_repo("interrupted");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct fake fake = { .interrupt_at = at };
		struct kl_sequencer sequencer;
		struct kl_outcome out;

		assert_ok(kl_repo_open_at(&repo, dir));
		sequencer = fake_sequencer(repo, &fake);
		assert_ok(kl_sequencer_start(&sequencer, &fake_opts));
		assert_error(KL_EINTR, "interrupted", kl_sequencer_run(&sequencer, &out));
		assert_contains(kl_error_hints(), "--continue");
		kl_sequencer_release(&sequencer);
		kl_outcome_release(&out);
		assert_sh("refs/heads/main\nrefs/klineage/op/main", dir,
			  "git for-each-ref --format='%%(refname)'");
		sh(dir, "git fsck --strict --no-dangling");

		sequencer = fake_sequencer(repo, &fake);
		assert_ok(kl_sequencer_resume(&sequencer));
		assert_ok(kl_sequencer_run(&sequencer, &out));
		kl_sequencer_release(&sequencer);
		assert_sh("2", dir, "git rev-list --count main.." WALK);
		assert_sh("naive", dir, "git show " LINEAGE "~2:copy.c | grep -o naive");
		assert_clean(dir);
		kl_outcome_release(&out);
	}
}

static void test_refusals(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_repo("refusals");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_sequencer_opts opts = fake_opts;
	struct fake fake = { 0 };
	struct kl_sequencer sequencer, other;
	struct kl_outcome out;

	assert_ok(kl_repo_open_at(&repo, dir));
	opts.rewriters = "hsitory";
	assert_error(KL_EUSAGE, "unknown rewriter 'hsitory'", fake_deopt(dir, &opts, &out));
	opts = fake_opts;
	opts.name = "Bad Name";
	assert_error(KL_EUSAGE, "invalid lineage name", fake_deopt(dir, &opts, &out));
	opts = fake_opts;
	opts.expert = "nonsense";
	assert_error(KL_ENOTFOUND, "nonsense", fake_deopt(dir, &opts, &out));
	sh(dir, "git branch klineage");
	assert_error(KL_EINVALID, "klineage", fake_deopt(dir, &fake_opts, &out));
	sh(dir, "git branch -D -q klineage");
	assert_sh("refs/heads/main", dir, "git for-each-ref --format='%%(refname)'");

	/* two at once: the process that works, and the operation that waits */
	sequencer = fake_sequencer(repo, &fake);
	assert_ok(kl_sequencer_start(&sequencer, &fake_opts));
	other = fake_sequencer(repo, &fake);
	assert_error(KL_EBUSY, "another git klineage", kl_sequencer_start(&other, &fake_opts));
	kl_sequencer_release(&other);
	kl_sequencer_release(&sequencer);
	other = fake_sequencer(repo, &fake);
	assert_error(KL_EBUSY, "already in progress", kl_sequencer_start(&other, &fake_opts));
	assert_contains(kl_error_hints(), "--abort");
	kl_sequencer_release(&other);

	/* abort restores every ref, as none has moved */
	sequencer = fake_sequencer(repo, &fake);
	assert_ok(kl_sequencer_abort(&sequencer));
	kl_sequencer_release(&sequencer);
	assert_sh("refs/heads/main", dir, "git for-each-ref --format='%%(refname)'");
	sequencer = fake_sequencer(repo, &fake);
	assert_error(KL_ENOTFOUND, "no operation", kl_sequencer_abort(&sequencer));
	kl_sequencer_release(&sequencer);

	assert_ok(fake_deopt(dir, &fake_opts, &out));
	kl_outcome_release(&out);
	assert_error(KL_EEXISTS, "already", fake_deopt(dir, &fake_opts, &out));
	assert_contains(kl_error_hints(), "--name");
}

static void test_expert_fails(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_repo("expert");
	struct kl_sequencer_opts opts = fake_opts;
	struct kl_outcome out;

	opts.expert = "main~1";
	assert_error(KL_ENO, "fails its own gate", fake_deopt(dir, &opts, &out));
	assert_sh("refs/heads/main\nrefs/notes/klineage/gate", dir,
		  "git for-each-ref --format='%%(refname)'");
	assert_sh("1", dir, "git notes --ref=klineage/gate show main~1 | grep -c wrong-edge");
	kl_outcome_release(&out);
}

/* nothing accepted: exit 1, the rejections stay, and the next walk carries them on */
static void test_nothing_accepted(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("nothing");
	struct kl_outcome out;

	fake_commit(dir, "NS:2 BAD:compile", "\\told();\\n", "old");
	fake_commit(dir, "NS:1", "\\tnew();\\n", "new");
	assert_error(KL_ENO, "nothing could be removed", fake_deopt(dir, &fake_opts, &out));
	kl_outcome_release(&out);
	assert_sh("1", dir, "git rev-list --count " REJECTED " ^main");
	assert_sh("", dir, "git for-each-ref refs/heads/klineage refs/klineage/op");
	assert_error(KL_ENO, "nothing could be removed", fake_deopt(dir, &fake_opts, &out));
	kl_outcome_release(&out);
	assert_sh("2", dir, "git rev-list --count " REJECTED " ^main");
	assert_clean(dir);
}

static void test_limits(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_repo("limits");
	struct kl_sequencer_opts opts = fake_opts;
	struct kl_outcome out;

	opts.step_limit = 1;
	assert_ok(fake_deopt(dir, &opts, &out));
	assert_string_equal(out.termination, "step-limit");
	assert_int_equal(out.steps, 1);
	kl_outcome_release(&out);
	/* going on from there: backward steps are not undone, older commits are */
	opts = fake_opts;
	opts.expert = "klineage/walk/copy/x86-64-v3-$X";
	opts.name = "second";
	{
		KL_AUTO(kl_freep) char *tip = sh_text(dir, "git rev-parse " WALK);

		opts.expert = tip;
		assert_ok(fake_deopt(dir, &opts, &out));
	}
	assert_int_equal(out.steps, 1);
	assert_sh("naive", dir, "git show klineage/lineage/copy/second~1:copy.c | grep -o naive");
	assert_clean(dir);
	kl_outcome_release(&out);
}

static void test_stepwise(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_repo("stepwise");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_sequencer_opts opts = fake_opts;
	struct kl_claim claim = { .action = "simplify", .text = "by hand" };
	struct fake fake = { 0 };
	struct kl_sequencer sequencer;
	struct kl_outcome out;

	opts.rewriters = "stepwise";
	assert_ok(kl_repo_open_at(&repo, dir));
	sequencer = fake_sequencer(repo, &fake);
	assert_ok(kl_sequencer_start(&sequencer, &opts));
	assert_ok(kl_sequencer_run(&sequencer, &out));
	assert_true(out.waiting);
	sh(out.edit_dir, "grep -q expert copy.c && test -f klineage.yaml && test -f oracle.c");
	kl_sequencer_release(&sequencer);

	sequencer = fake_sequencer(repo, &fake);
	assert_ok(kl_sequencer_resume(&sequencer));
	assert_error(KL_EINVALID, "no new proposal", kl_sequencer_collect(&sequencer, &claim));
	sh(out.edit_dir, "printf '/* NS:3000 */\\nvoid copy(void) { hand(); }\\n' >copy.c");
	assert_ok(kl_sequencer_collect(&sequencer, &claim));
	kl_outcome_release(&out);
	assert_ok(kl_sequencer_run(&sequencer, &out));
	assert_true(out.waiting);
	assert_int_equal(out.steps, 1);
	kl_outcome_release(&out);
	assert_ok(kl_sequencer_stop(&sequencer));
	assert_ok(kl_sequencer_run(&sequencer, &out));
	assert_false(out.waiting);
	assert_string_equal(out.termination, "stopped");
	assert_sh(
		"simplify\nauthored\nstepwise", dir,
		"git log -1 --format='%%(trailers:key=Klineage-Action,valueonly)"
		"%%(trailers:key=Klineage-Origin,valueonly)%%(trailers:key=Klineage-Rewriter,valueonly)' " WALK
		" | grep .");
	assert_sh("", dir, "git status --porcelain");
	assert_sh("gone", dir, "test -e .git/klineage/edit || echo gone");
	kl_sequencer_release(&sequencer);
	kl_outcome_release(&out);
	assert_clean(dir);
}

static void test_patches(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_repo("patches");
	KL_AUTO(kl_freep) char *list = kl_asprintf("patches:%s/p", scratch_root);
	struct kl_sequencer_opts opts = fake_opts;
	struct kl_outcome out;

	/*
	 * the same edit from the root of the repository, from the contract's directory, and one
	 * that does not apply
	 */
	sh(dir,
	   "rm -rf ../p && mkdir ../p && sed 's/NS:1000/NS:1500/' k/copy.c >k/x && mv k/x k/copy.c && "
	   "git diff >../p/1.diff && git commit -qam a && sed 's/expert()/simple()/' k/copy.c >k/x && mv k/x k/copy.c && "
	   "git diff --relative=k >../p/2.diff && cp ../p/1.diff ../p/3.diff && git checkout -qf . && git reset -q --hard HEAD~1");
	opts.rewriters = list;
	assert_ok(fake_deopt(dir, &opts, &out));
	assert_int_equal(out.steps, 2);
	assert_sh("2.diff\n1.diff", dir,
		  "git log -2 --format='%%(trailers:key=Klineage-Source,valueonly)' " WALK
		  " | grep .");
	assert_clean(dir);
	kl_outcome_release(&out);
	opts.rewriters = "patches:/nonexistent";
	opts.name = "x";
	assert_error(KL_ENOTFOUND, "nonexistent", fake_deopt(dir, &opts, &out));
	opts.rewriters = "patches";
	assert_error(KL_EUSAGE, "needs a directory", fake_deopt(dir, &opts, &out));
}

static void test_view(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_repo("view");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec refs = KL_STRVEC_INIT;
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *name = NULL;
	struct kl_outcome out;
	struct kl_view view;

	assert_ok(fake_deopt(dir, &fake_opts, &out));
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_view_list(&refs, repo, "copy"));
	assert_int_equal(refs.n, 1);
	assert_ok(kl_view_split(&workload, &name, refs.v[0]));
	assert_ok(kl_view_load(&view, repo, workload, name));
	assert_int_equal(view.n, 3);
	assert_int_equal(view.rejected, 1);
	assert_int_equal(view.step[0].ns, 8000);
	assert_int_equal(view.step[2].ns, 1000);
	/* K_1 against K_0: 8000 / 4000; K_2 against K_1: 4000 / 1000 */
	assert_int_equal(view.step[1].prev.ppm, 2000000);
	assert_int_equal(view.step[2].prev.ppm, 4000000);
	assert_int_equal(view.step[2].root.ppm, 8000000);
	/* each measured to 1 %: together wider than 1 %, narrower than 2 % */
	assert_in_range(view.step[2].root.lo, 8000000 - 120000, 8000000 - 100000);
	assert_in_range(view.step[2].root.hi, 8000000 + 100000, 8000000 + 120000);
	assert_int_equal(view.step[2].gained.n, 2);
	assert_string_equal(view.step[2].gained.v[0], "prefetch");
	assert_string_equal(view.step[2].lost.v[0], "vec.128");
	assert_int_equal(view.step[1].verdict, KL_VERDICT_PASS);
	assert_int_equal(view.step[1].speed, KL_SPEED_FAST);
	assert_int_equal(view.step[1].tier, KL_TIER_HOST_SANDBOXED);
	kl_view_release(&view);
	kl_outcome_release(&out);
	assert_error(KL_ENOTFOUND, "no lineage", kl_view_load(&view, repo, "copy", "other"));
}

#define CLAIMS_PREFETCH "\n\nKlineage-Mechanism: prefetch\nKlineage-Action: prefetch-off"

/* a walk that knows one mechanism, which the feature prefetch shows */
static void deopt_prefetch(const char *dir, struct kl_outcome *out)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	char *primary[] = { (char *)"prefetch", NULL };
	struct kl_mechanism prefetch = { .name = (char *)"prefetch",
					 .action = (char *)"prefetch-off",
					 .primary = { primary, 1, 0 } };
	struct kl_mechanisms table = { .m = &prefetch, .n = 1 };
	struct fake fake = { 0 };
	struct kl_sequencer sequencer;

	assert_ok(kl_repo_open_at(&repo, dir));
	sequencer = fake_sequencer(repo, &fake);
	sequencer.mechanisms = &table;
	assert_ok(fake_run(&sequencer, &fake_opts, out));
}

/*
 * One commit took away two mechanisms and says it was one. The part that is
 * that one goes first; what is left of the commit cannot be split, and it is not what it says.
 */
static void test_compound(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("compound");
	struct kl_outcome out;

	for (int i = 0; i < 2; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "k/copy.c");
		KL_AUTO(kl_freep) char *text = kl_asprintf(
			"/* NS:%d */\nint a(void)\n{\n\treturn %d; /* %s*/\n}\n"
			"void copy(void)\n{\n\ta(%d); /* %s*/\n}\n",
			i ? 1000 : 3000, i, i ? " F:prefetch " : "", i, i ? " F:vec.256 " : "");

		assert_ok(kl_fs_put(path, text, strlen(text), 0644));
		sh(dir, "git add . && git commit -q -F - <<'EOF'\n%s\nEOF",
		   i ? "both" CLAIMS_PREFETCH : "plain");
	}
	deopt_prefetch(dir, &out);
	assert_int_equal(out.steps, 2);
	assert_sh("contradicted\nclean", dir,
		  "git log -2 --format='%%(trailers:key=Klineage-Delta,valueonly)' " WALK
		  " | grep .");
	assert_sh("1", dir, "git show " WALK "~1:k/copy.c | grep -c vec.256");
	assert_sh("", dir, "git show " WALK ":k/copy.c | grep F: || :");
	assert_sh("1", dir,
		  "git log -1 --format=%%B " WALK " | grep -c 'could not be split: .*vec.256'");
	assert_clean(dir);
	kl_outcome_release(&out);
}

/* a commit says that it added prefetching, but the kernel prefetches without it as well */
static void test_contradicted(void **state)
{
	KL_AUTO(kl_freep) char *dir = fake_empty_repo("contradicted");
	struct kl_outcome out;

	fake_commit(dir, "NS:3000 F:prefetch", "\\tint x = 0;\\n", "plain");
	fake_commit(dir, "NS:1000 F:prefetch", "\\tint x = 1;\\n", "p" CLAIMS_PREFETCH);
	deopt_prefetch(dir, &out);
	for (int i = 0; i < 2; i++) {
		const char *ref = i ? LINEAGE : WALK;

		assert_sh("contradicted", dir,
			  "git log -1 --format='%%(trailers:key=Klineage-Delta,valueonly)' %s | "
			  "grep .",
			  ref);
		assert_sh("prefetch\nstill there: prefetch", dir,
			  "git log -1 --format='%%(trailers:key=Klineage-Claimed,valueonly)"
			  "%%(trailers:key=Klineage-Contradiction,valueonly)' %s | grep .",
			  ref);
		assert_sh("", dir, "git log -1 --format=%%B %s | grep Mechanism || :", ref);
	}
	assert_clean(dir);
	kl_outcome_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),      cmocka_unit_test(test_contradicted),
		cmocka_unit_test(test_interrupted),  cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_expert_fails), cmocka_unit_test(test_nothing_accepted),
		cmocka_unit_test(test_limits),       cmocka_unit_test(test_stepwise),
		cmocka_unit_test(test_patches),      cmocka_unit_test(test_view),
		cmocka_unit_test(test_compound),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

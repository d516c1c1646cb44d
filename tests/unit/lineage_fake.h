/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_FAKE_H
#define KL_LINEAGE_FAKE_H

/*
 * lineage_fake - a gate that reads its verdict in the source: words in its
 * comments say what the "compiled" kernel would show.
 *
 *	NS:<n>		its time, the sum of all	BAD:<class>	it fails
 *	NEEDS:<word>	it does not compile without HAS:<word>
 *	F:<feature>	a fact of the artefact		CODE:<word>	machine code, if not the text itself
 *	AT:<point>	the point at which it fails	ADDS:<any>	it fails unless outputs start at zero
 *
 * It counts its calls, and can be told to be interrupted at the n-th.
 */
#include "fsck/check.h"
#include "scratch.h"
#include "walk/sequencer.h"

/* the refs of a walk, for the shell; a test of walks with another name defines FAKE_NAME */
#ifndef FAKE_NAME
#define FAKE_NAME "x86-64-v3-$(git rev-parse --short=7 main)"
#endif
#define WALK "klineage/walk/copy/" FAKE_NAME
#define LINEAGE "klineage/lineage/copy/" FAKE_NAME
#define REJECTED "refs/klineage/rejected/copy/" FAKE_NAME

struct fake {
	int calls;
	int interrupt_at; /* 0: never */
};

static const char *const fake_contract =
	"klineage: 1\\n"
	"workload: copy\\n"
	"case: {op: copy, dims: {n: 8}}\\n"
	"surface: {language: c, sources: [copy.c], entry: copy}\\n"
	"args:\\n"
	"  - {name: x, kind: in, dtype: f64, shape: [n]}\\n"
	"  - {name: y, kind: out, dtype: f64, shape: [n]}\\n"
	"oracle: {language: c, sources: [oracle.c], entry: copy}\\n"
	"accept: {rule: exact}\\n";

static char *fake_word(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? kl_strndup(at + strlen(key), strcspn(at + strlen(key), " \t\n*")) : NULL;
}

static int64_t fake_ns(const struct kl_surface *surface)
{
	int64_t ns = 0;

	for (const char *at = surface ? surface->file[0].data : ""; (at = strstr(at, "NS:")); at++)
		ns += atoll(at + 3);
	return ns;
}

static bool fake_lacks(const char *text)
{
	for (const char *at = text; (at = strstr(at, "NEEDS:")); at++) {
		KL_AUTO(kl_freep) char *word = fake_word(at, "NEEDS:");
		KL_AUTO(kl_freep) char *has = kl_asprintf("HAS:%s ", word);

		if (!strstr(text, has))
			return true;
	}
	return false;
}

static void fake_facts(struct kl_event *event, const struct kl_surface *surface)
{
	KL_AUTO(kl_freep) char *code = fake_word(surface->file[0].data, "CODE:");
	struct kl_facts *facts = &event->facts;

	for (const char *at = surface->file[0].data; (at = strstr(at, " F:")); at++) {
		KL_AUTO(kl_freep) char *format = fake_word(at, " F:");

		kl_strvec_push(&facts->features, format);
	}
	kl_strvec_uniq(&facts->features);
	kl_digest_hex(facts->code_digest, code ? code : surface->file[0].data,
		      code ? strlen(code) : surface->file[0].len);
	event->compiled = true;
}

static void fake_profile(struct kl_event *event, const struct kl_surface *surface,
			 const struct kl_surface *parent)
{
	struct kl_profile *profile = &event->profile;
	int64_t ratio = parent ? fake_ns(parent) * 1000000 / fake_ns(surface) : 0;

	profile->there = true;
	profile->ns = fake_ns(surface);
	if (!parent)
		return;
	profile->vs.v = kl_calloc(1, sizeof(*profile->vs.v));
	profile->vs.n = 1;
	profile->vs.v[0] = (struct kl_comparison){
		.what = "parent",
		.surface = kl_event_keep(event, parent->digest),
		.ratio.ppm = ratio,
		.ratio.lo = ratio - ratio / 100,
		.ratio.hi = ratio + ratio / 100,
		.speed = ratio == 1000000 ? KL_SPEED_SAME :
			 ratio > 1000000  ? KL_SPEED_FAST :
					    KL_SPEED_SLOW,
	};
}

static int fake_judge(struct kl_judgement **out, const struct kl_surface *surface,
		      const struct kl_surface *parent, void *payload)
{
	struct fake *fake = payload;
	KL_AUTO(kl_freep) char *bad = fake_word(surface->file[0].data, "BAD:");
	KL_AUTO(kl_freep) char *point = fake_word(surface->file[0].data, "AT:");
	struct kl_event *event;

	if (!bad && fake_lacks(surface->file[0].data))
		bad = kl_strdup("compile");
	if (!bad && strstr(surface->file[0].data, "ADDS:") &&
	    !strstr(surface->contract_file.data, "zeros"))
		bad = kl_strdup("wrong-all");
	if (++fake->calls == fake->interrupt_at)
		return kl_error(KL_EINTR, "interrupted");
	event = kl_event_new();
	*out = kl_judgement_new(event);
	event->kind = KL_KIND_GATE;
	event->time = "2026-01-01T00:00:00Z";
	event->workload = kl_event_keep(event, surface->contract->workload);
	event->surface = kl_event_keep(event, surface->digest);
	event->contract = kl_event_keep(event, surface->contract_digest);
	event->tier = KL_TIER_HOST_SANDBOXED;
	kl_judgement_set(*out, bad ? KL_VERDICT_FAIL : KL_VERDICT_PASS, bad,
			 bad ? "y[3]: got 1, wanted 2" : NULL);
	fake_facts(event, surface);
	if (point)
		event->correct = json_pack("{s:{s:s}}", "failure", "point", point);
	if (!bad)
		fake_profile(event, surface, parent);
	kl_event_seal(event);
	return 0;
}

static void fake_finding(enum kl_check_severity severity, const char *where, const char *what,
			 void *payload)
{
	print_message("%s: %s: %s\n", severity == KL_CHECK_ERROR ? "error" : "warning", where,
		      what);
}

/* neither git nor fsck finds anything in the repository */
static __attribute__((unused)) void assert_clean(const char *dir)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_check check = { .report = fake_finding };

	sh(dir, "git fsck --strict --no-dangling");
	assert_ok(kl_repo_open_at(&repo, dir));
	check.repo = repo;
	assert_ok(kl_check_run(&check));
	assert_int_equal(check.errors, 0);
	assert_int_equal(check.warnings, 0);
}

/* a repository with the contract; the caller commits the kernel */
static char *fake_empty_repo(const char *name)
{
	char *dir = scratch_dir(name);

	sh(dir,
	   "git init -q -b main . && mkdir k && printf '%s' >k/klineage.yaml && "
	   "echo 'void copy(void) {}' >k/oracle.c && git add .",
	   fake_contract);
	return dir;
}

/* a version of the kernel: its comment, and a body that tells states apart */
static void fake_commit(const char *dir, const char *words, const char *body, const char *message)
{
	sh(dir,
	   "mkdir -p k && printf '/* %s */\\nvoid copy(void)\\n{\\n%s}\\n' >k/copy.c && "
	   "git add k && git commit -q -F - <<'EOF'\n%s\nEOF",
	   words, body, message);
}

/*
 * Four commits: naive, tiled, one that is wrong, the expert. Undoing the
 * expert's leads to a state that fails; undoing both passes.
 */
static __attribute__((unused)) char *fake_repo(const char *name)
{
	char *dir = fake_empty_repo(name);

	sh(dir, "echo other >other.txt && git add .");
	fake_commit(dir, "NS:8000", "\\tnaive();\\n", "copy: the plain loop");
	fake_commit(
		dir, "NS:4000 F:vec.128", "\\ttiled();\\n",
		"copy: tile it\n\nKlineage-Action: untile\nKlineage-Mechanism: tile\nKlineage-Locus: copy.c:copy");
	fake_commit(dir, "NS:2000 F:vec.256 BAD:wrong-edge", "\\twrong();\\n",
		    "copy: vectors, wrongly");
	fake_commit(dir, "NS:1000 F:vec.256 F:prefetch", "\\texpert();\\n", "copy: the expert");
	return dir;
}

static __attribute__((unused)) struct kl_sequencer fake_sequencer(struct kl_repo *repo,
								  struct fake *fake)
{
	struct kl_sequencer sequencer = KL_SEQUENCER_INIT;

	sequencer.repo = repo;
	sequencer.judge = fake_judge;
	sequencer.payload = fake;
	return sequencer;
}

static const struct kl_sequencer_opts fake_opts __attribute__((unused)) = {
	.dir = "k",
	.platform = "cpu/x86-64-v3",
	.rewriters = "history",
	.step_limit = 64,
	.rejection_limit = 24,
};

/* run an operation from its start, and release its sequencer */
static int fake_run(struct kl_sequencer *sequencer, const struct kl_sequencer_opts *opts,
		    struct kl_outcome *out)
{
	int err = kl_sequencer_start(sequencer, opts);

	if (!err)
		err = kl_sequencer_run(sequencer, out);
	kl_sequencer_release(sequencer);
	return err;
}

static __attribute__((unused)) int fake_deopt(const char *dir, const struct kl_sequencer_opts *opts,
					      struct kl_outcome *out)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct fake fake = { 0 };
	struct kl_sequencer sequencer;

	assert_ok(kl_repo_open_at(&repo, dir));
	sequencer = fake_sequencer(repo, &fake);
	return fake_run(&sequencer, opts, out);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/hook_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "cmd/cli/out.h"
#include "contract/changed_kernels.h"
#include "contract/checkout.h"
#include "event/note_writer.h"
#include "event/push_base.h"
#include "event/push_check.h"
#include "gate/gate.h"
#include "repo/notes.h"
#include "repo/remote.h"
#include "sync/sync.h"

int kl_hook_block_parse(enum kl_hook_block *out, const char *word)
{
	static const char *const words[] = {
		[KL_HOOK_BLOCK_FAIL] = "fail",
		[KL_HOOK_BLOCK_UNTESTED] = "untested",
		[KL_HOOK_BLOCK_NOTHING] = "nothing",
	};

	*out = KL_HOOK_BLOCK_FAIL;
	for (size_t i = 0; word && i < KL_ARRAY_SIZE(words); i++) {
		if (!strcmp(word, words[i])) {
			*out = (enum kl_hook_block)i;
			return 0;
		}
	}
	return word ? kl_error(KL_EINVALID,
			       "config klineage.hooks.block: invalid value '%s' (expected "
			       "fail, untested or nothing)",
			       word) :
		      0;
}

struct settings {
	enum kl_hook_block block;
	bool profile, notes;
	enum kl_push_need push;
	const struct kl_term *term;
};

static int push_setting(enum kl_push_need *out, struct kl_repo *repo)
{
	const char *word = kl_repo_config(repo, "klineage.hooks.push");

	*out = !word || !strcmp(word, "nothing") ? KL_PUSH_NEEDS_NOTHING :
	       !strcmp(word, "check")            ? KL_PUSH_NEEDS_CHECK :
						   KL_PUSH_NEEDS_GATE;
	if (*out == KL_PUSH_NEEDS_GATE && strcmp(word, "gate"))
		return kl_error(KL_EINVALID,
				"config klineage.hooks.push: invalid value '%s' (expected "
				"nothing, check or gate)",
				word);
	return 0;
}

static int read_settings(struct settings *settings, struct kl_repo *repo)
{
	int err = kl_hook_block_parse(&settings->block,
				      kl_repo_config(repo, "klineage.hooks.block"));

	if (!err)
		err = kl_repo_config_bool(&settings->profile, repo, "klineage.hooks.profile",
					  false);
	if (!err)
		err = kl_repo_config_bool(&settings->notes, repo, "klineage.hooks.notes", true);
	return err < 0 ? err : push_setting(&settings->push, repo);
}

/* --- output: one line per kernel ------------------------------------------------ */

/*
 * The result of one kernel, from best to worst. The worst result of all kernels decides about the
 * commit.
 */
enum fate { PASSED, UNTESTED, FAILED };

static void print_took(int64_t since)
{
	int64_t ms = (kl_clock_ns() - since) / 1000000;

	if (ms < 1000)
		printf("%lld ms", (long long)ms);
	else
		printf("%.1f s", (double)ms / 1e3);
}

static enum fate say_verdict(const struct kl_changed_one *one, const struct kl_judgement *judgement,
			     int64_t since, const struct kl_term *term)
{
	const struct kl_event *event = judgement->event;
	bool check = event->kind == KL_KIND_CHECK, pass = event->verdict == KL_VERDICT_PASS;
	bool fail = event->verdict == KL_VERDICT_FAIL;
	const char *class_ = kl_event_class(event);

	printf("klineage: %s: %s%s%s", one->workload,
	       kl_paint(term, kl_paint_verdict(event->verdict)),
	       fail ? "FAIL" : kl_verdict_name(event->verdict), *class_ ? " " : "");
	kl_out_line(stdout, class_);
	printf("%s, ", kl_paint(term, KL_PAINT_RESET));
	if (judgement->cached)
		printf("judged before");
	else if (pass)
		printf("%s on %lld inputs", check ? "checked" : "judged",
		       (long long)kl_json_int_or(event->correct, "cases", 0));
	else
		printf("%s", check ? "checked" : "judged");
	printf(" (");
	print_took(since);
	printf(")%s", pass ? "" : ": ");
	kl_out_line(stdout, pass ? "" : event->message);
	putchar('\n');
	return pass ? PASSED : fail ? FAILED : UNTESTED;
}

static enum fate say_untested(const struct kl_changed_one *one, int64_t since)
{
	printf("klineage: %s: not judged (", one->workload);
	print_took(since);
	printf("): %s\n", kl_error_last());
	kl_error_clear();
	return UNTESTED;
}

static enum fate say_broken(const struct kl_changed_one *one)
{
	if (one->why) {
		printf("klineage: %s: FAIL, cannot be judged: %s\n", one->workload, one->why);
		return FAILED;
	}
	printf("klineage: %s: its contract was removed; it is no longer judged\n", one->workload);
	return PASSED;
}

/* --- before a commit -------------------------------------------------------------- */

/*
 * Judge a changed kernel with the configured runner. KL_ECANNOT: the kernel cannot be judged here,
 * or the runner will return the result later.
 */
static int judge_changed(struct kl_judgement **out, struct kl_gate *gate,
			 const struct kl_changed_one *one)
{
	KL_AUTO(kl_transfer_release) struct kl_transfer sent = { 0 };
	int err = kl_gate_judge(out, gate, one->now, one->before);

	if (err < 0 || !(*out)->deferred)
		return err;
	if ((err = kl_gate_send(&sent, gate, NULL)) < 0)
		return err;
	if (sent.why)
		return kl_error(KL_ECANNOT, "%s", sent.why);
	if (sent.waiting)
		return kl_error(KL_ECANNOT, "the job was written to '%s'", sent.file);
	kl_judgement_free(kl_steal(out));
	err = kl_gate_judge(out, gate, one->now, one->before);
	if (!err && (*out)->deferred)
		return kl_error(KL_ECANNOT, "no result was returned for this job");
	return err;
}

static int judge_one(enum fate *fate, struct kl_repo *repo, struct kl_gate *gate,
		     const struct kl_changed_one *one, const struct kl_term *term)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *judgement = NULL;
	int64_t since = kl_clock_ns();
	int err = kl_checkout_check(repo, one->now, KL_STATE_STAGED, NULL);

	if (!err)
		err = judge_changed(&judgement, gate, one);

	if (err == KL_EINTR)
		return err;
	*fate = err < 0 ? say_untested(one, since) : say_verdict(one, judgement, since, term);
	fflush(stdout);
	return 0;
}

/* Judge all changed kernels; open the gate when the first one needs it. */
static int judge_all(enum fate *worst, struct kl_repo *repo, const struct kl_changed *changed,
		     const struct settings *set)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = kl_progress_new(KL_PROGRESS_AUTO);
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	struct kl_gate_opts opts = { .progress = progress, .quick = !set->profile };
	int err = 0;

	for (size_t i = 0; i < changed->n && !err; i++) {
		const struct kl_changed_one *one = &changed->one[i];
		enum fate fate = PASSED;

		kl_progress_title(progress, "klineage: %s", one->workload);
		if (!one->now) {
			fate = say_broken(one);
		} else {
			if (!gate && (err = kl_gate_open(&gate, repo, &opts)) < 0)
				break;
			err = judge_one(&fate, repo, gate, one, set->term);
		}
		*worst = fate > *worst ? fate : *worst;
	}
	return err;
}

static int before_commit(struct kl_repo *repo, const struct settings *set)
{
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	enum fate worst = PASSED;
	git_oid staged, head, tree;
	bool unborn = false;
	int err = kl_repo_staged_tree(&staged, repo);

	if (!err)
		err = kl_refs_get(&head, repo, "HEAD");
	if (err == KL_ENOTFOUND) {
		unborn = true;
		err = 0;
		kl_error_clear();
	}
	if (!err && !unborn)
		err = kl_repo_tree_of(&tree, repo, &head);
	if (!err)
		err = kl_changed(&changed, repo, unborn ? NULL : &tree, &staged);
	if (err < 0 || !changed.n)
		return err;
	if ((err = judge_all(&worst, repo, &changed, set)) < 0)
		return err;
	if (worst == PASSED || set->block == KL_HOOK_BLOCK_NOTHING ||
	    (worst == UNTESTED && set->block != KL_HOOK_BLOCK_UNTESTED))
		return 0;
	fprintf(stderr, "klineage: the commit is refused; use 'git commit --no-verify' to commit "
			"anyway\n");
	return 1;
}

/* --- after a commit ---------------------------------------------------------------- */

/*
 * Write the verdicts on the files that were just committed to the notes of the commit. A failure is
 * no loss: the verdicts can also be noted later.
 */
static int after_commit(struct kl_repo *repo)
{
	size_t noted;
	git_oid head;
	int err = kl_refs_get(&head, repo, "HEAD");

	return err < 0 ? err : kl_noting_waiting(&noted, repo, &head);
}

/* --- before a push ------------------------------------------------------------------ */

#define MAX_INPUT ((size_t)64 << 20)
#define MAX_COMMITS 100000

/* What git is about to push, as git lists it on stdin, one line per ref. */
struct push {
	const char *remote;
	struct kl_oids tips, there; /* commits to push; tips that the remote has now */
	struct kl_push_ref *ref;    /* the same, ref by ref */
	size_t nref, alloc;
	bool notes; /* the push includes refs/notes/klineage/gate */
};

static void push_release(struct push *push)
{
	kl_oids_release(&push->tips);
	kl_oids_release(&push->there);
	free(push->ref);
}

static void add_oid(struct kl_oids *to, git_oid *out, const char *hex)
{
	/* an id of zeros means a deletion or a new ref */
	if (strspn(hex, "0") < strlen(hex) && kl_oid_parse(out, hex) == 0)
		kl_oids_add(to, out);
}

/*
 * Add a ref to push: `local` is the commit to push, and `remote` the commit that the remote has
 * now, both in hex.
 */
static void add_ref(struct push *push, const char *local, const char *remote_ref,
		    const char *remote)
{
	struct kl_push_ref ref = { 0 };

	if (!strncmp(remote_ref, "refs/notes/", 11)) {
		push->notes |= !strcmp(remote_ref, KL_NOTES_GATE);
		return;
	}
	add_oid(&push->tips, &ref.local, local);
	add_oid(&push->there, &ref.remote, remote);
	KL_GROW(push->ref, push->nref + 1, push->alloc);
	push->ref[push->nref++] = ref;
}

/*
 * Read the pushed range from the environment variables of the pre-commit framework, which passes no
 * stdin to hooks. PRE_COMMIT_FROM_REF is unset if the whole history is pushed.
 */
static void add_from_framework(struct push *push, struct kl_repo *repo)
{
	const char *to = getenv("PRE_COMMIT_TO_REF"), *from = getenv("PRE_COMMIT_FROM_REF");
	const char *remote = getenv("PRE_COMMIT_REMOTE_NAME"),
		   *ref = getenv("PRE_COMMIT_REMOTE_BRANCH");
	char hex[KL_OID_HEX];
	git_oid oid;

	if (!to)
		to = getenv("PRE_COMMIT_LOCAL_BRANCH");
	if (!*push->remote && remote)
		push->remote = remote;
	if (!to || kl_repo_resolve(&oid, repo, to) < 0) {
		kl_error_clear();
		return;
	}
	kl_oid_hex(hex, &oid);
	add_ref(push, hex, ref ? ref : "", from ? from : "");
}

static int read_push(struct push *push, struct kl_repo *repo, int argc, char **argv)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;
	int err = isatty(0) ? 0 : kl_buf_read_fd(&text, 0, MAX_INPUT);

	if (err < 0)
		return kl_error_in(err, "refs to push");
	push->remote = argc ? argv[0] : "";
	kl_strvec_split(&line, text.ptr, "\n");
	for (size_t i = 0; i < line.n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec word = KL_STRVEC_INIT;

		kl_strvec_split(&word, line.v[i], " ");
		if (word.n == 4)
			add_ref(push, word.v[1], word.v[2], word.v[3]);
	}
	if (!line.n)
		add_from_framework(push, repo);
	return 0;
}

/* Return true if the remote has all our notes, according to the tracking ref. */
static bool known_there(struct kl_repo *repo, const char *remote)
{
	KL_AUTO(kl_freep) char *tracking = kl_asprintf("refs/notes/remotes/%s/klineage/gate",
						       remote);
	git_oid ours, theirs;
	bool same = kl_refs_get(&ours, repo, KL_NOTES_GATE) == 0 &&
		    kl_refs_get(&theirs, repo, tracking) == 0 &&
		    !memcmp(&ours, &theirs, sizeof(ours));

	kl_error_clear();
	return same;
}

/*
 * Push the notes as well. If that fails, only warn: the notes stay here and the next push sends
 * them.
 */
static int push_notes(struct kl_repo *repo, const struct push *push, size_t noted)
{
	struct kl_sync sync = {
		.repo = repo,
		.remote = push->remote,
		.fetch = true,
		.push = true,
		.notes_only = true,
	};
	bool given = false;
	int err;

	if (!noted || push->notes || known_there(repo, push->remote))
		return 0;
	err = kl_sync_run(&sync);
	for (size_t i = 0; i < sync.n; i++)
		given |= sync.v[i].how == KL_SYNC_GIVEN;
	kl_sync_release(&sync);
	if (err == KL_EINTR)
		return err;
	if (err < 0)
		fprintf(stderr, "klineage: the notes were not pushed: %s\n", kl_error_last());
	else if (given)
		printf("klineage: pushed the notes of %zu of these commits\n", noted);
	kl_error_clear();
	return 0;
}

static int before_push(struct kl_repo *repo, const struct settings *set, int argc, char **argv)
{
	KL_AUTO(push_release) struct push push = { 0 };
	KL_AUTO(kl_push_check_release) struct kl_push_check found = { 0 };
	KL_AUTO(kl_freep) git_oid *commit = NULL;
	bool own_list;
	git_oid base;
	size_t n = 0;
	int err;

	if ((err = read_push(&push, repo, argc, argv)) < 0 ||
	    (err = kl_repo_not_at_remote(&commit, &n, repo, &push.tips, &push.there, push.remote,
					 MAX_COMMITS)) < 0 ||
	    (err = kl_push_base(&own_list, &base, repo, push.ref, push.nref, commit, n)) < 0 ||
	    (err = kl_push_check(&found, repo, commit, n, set->push, own_list ? &base : NULL)) < 0)
		return err;
	for (size_t i = 0; i < found.missing.n; i++)
		printf("klineage: %s\n", found.missing.v[i]);
	fflush(stdout);
	if (found.missing.n && set->block != KL_HOOK_BLOCK_NOTHING) {
		fprintf(stderr, "klineage: the push is refused; judge the missing commits with "
				"'git klineage gate <commit>...', or use 'git push --no-verify' to "
				"push anyway\n");
		return 1;
	}
	return set->notes ? push_notes(repo, &push, found.noted) : 0;
}

/* --- the events --------------------------------------------------------------------- */

enum part { BEFORE_COMMIT, AFTER_COMMIT, BEFORE_PUSH };

static const struct {
	const char *name;
	enum part part;
} events[] = {
	{ "pre-commit", BEFORE_COMMIT }, { "pre-merge-commit", BEFORE_COMMIT },
	{ "post-commit", AFTER_COMMIT }, { "post-merge", AFTER_COMMIT },
	{ "pre-push", BEFORE_PUSH },
};

bool kl_hook_known(const char *event)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(events); i++)
		if (!strcmp(events[i].name, event))
			return true;
	return false;
}

int kl_hook_run(struct kl_repo *repo, const struct kl_term *term, const char *event, int argc,
		char **argv)
{
	struct settings set = { .term = term };

	/* stop git if a setting is invalid: otherwise a typo could disable a strict hook */
	if (read_settings(&set, repo) < 0) {
		fprintf(stderr, "klineage: %s\n", kl_error_last());
		return 1;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(events); i++) {
		if (strcmp(events[i].name, event))
			continue;
		return events[i].part == BEFORE_COMMIT ? before_commit(repo, &set) :
		       events[i].part == AFTER_COMMIT  ? after_commit(repo) :
							 before_push(repo, &set, argc, argv);
	}
	KL_BUG("unknown hook event");
}

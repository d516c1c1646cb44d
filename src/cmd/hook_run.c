/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/hook_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "contract/changed_kernels.h"
#include "event/note_writer.h"
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
			       "config klineage.hooks.block: '%s' is none of fail, untested, "
			       "nothing",
			       word) :
		      0;
}

struct settings {
	enum kl_hook_block block;
	bool profile, notes;
	enum kl_pushed_want push;
	const struct kl_term *term;
};

static int push_setting(enum kl_pushed_want *out, struct kl_repo *r)
{
	const char *word = kl_repo_config(r, "klineage.hooks.push");

	*out = !word || !strcmp(word, "nothing") ? KL_PUSHED_NOTHING :
	       !strcmp(word, "check")            ? KL_PUSHED_CHECK :
						   KL_PUSHED_GATE;
	if (*out == KL_PUSHED_GATE && strcmp(word, "gate"))
		return kl_error(KL_EINVALID,
				"config klineage.hooks.push: '%s' is none of nothing, check, "
				"gate",
				word);
	return 0;
}

static int read_settings(struct settings *s, struct kl_repo *r)
{
	int err = kl_hook_block_parse(&s->block, kl_repo_config(r, "klineage.hooks.block"));

	if (!err)
		err = kl_repo_config_bool(&s->profile, r, "klineage.hooks.profile", false);
	if (!err)
		err = kl_repo_config_bool(&s->notes, r, "klineage.hooks.notes", true);
	return err < 0 ? err : push_setting(&s->push, r);
}

/* --- one line a kernel ---------------------------------------------------------- */

/* How a kernel fared, from the best to the worst for the commit. */
enum fate { PASSED, UNTESTED, FAILED };

static void print_took(int64_t since)
{
	int64_t ms = (kl_clock_ns() - since) / 1000000;

	if (ms < 1000)
		printf("%lld ms", (long long)ms);
	else
		printf("%.1f s", (double)ms / 1e3);
}

static enum fate say_verdict(const struct kl_changed_one *c, const struct kl_judgement *v,
			     int64_t since, const struct kl_term *t)
{
	const struct kl_event *event = v->event;
	bool check = event->kind == KL_KIND_CHECK, pass = event->verdict == KL_VERDICT_PASS;
	bool fail = event->verdict == KL_VERDICT_FAIL;
	const char *class_ = kl_event_class(event);

	printf("klineage: %s: %s%s%s%s%s, ", c->workload,
	       kl_paint(t, kl_paint_verdict(event->verdict)),
	       fail ? "FAIL" : kl_verdict_name(event->verdict), *class_ ? " " : "", class_,
	       kl_paint(t, KL_PAINT_RESET));
	if (v->cached)
		printf("judged before");
	else if (pass)
		printf("%s on %lld inputs", check ? "checked" : "judged",
		       (long long)kl_json_int_or(event->correct, "cases", 0));
	else
		printf("%s", check ? "checked" : "judged");
	printf(" (");
	print_took(since);
	printf(")%s%s\n", pass ? "" : ": ", pass ? "" : event->message);
	return pass ? PASSED : fail ? FAILED : UNTESTED;
}

static enum fate say_untested(const struct kl_changed_one *c, int64_t since)
{
	printf("klineage: %s: not judged (", c->workload);
	print_took(since);
	printf("): %s\n", kl_error_last());
	kl_error_clear();
	return UNTESTED;
}

static enum fate say_broken(const struct kl_changed_one *c)
{
	if (c->why) {
		printf("klineage: %s: FAIL, not to be judged: %s\n", c->workload, c->why);
		return FAILED;
	}
	printf("klineage: %s: its contract is gone, nobody judges it any more\n", c->workload);
	return PASSED;
}

/* --- before a commit -------------------------------------------------------------- */

/* What is judged elsewhere is sent there; 0 with v->deferred if no answer came at once. */
static int judge_changed(struct kl_judgement **v, struct kl_gate *g, const struct kl_changed_one *c)
{
	KL_AUTO(kl_parcel_release) struct kl_parcel p = { 0 };
	int err = kl_gate_judge(v, g, c->now, c->before);

	if (err < 0 || !(*v)->deferred)
		return err;
	if ((err = kl_gate_send(&p, g, NULL)) < 0)
		return err;
	if (p.why)
		return kl_error(KL_ECANNOT, "%s", p.why);
	if (p.waiting)
		return kl_error(KL_ECANNOT, "the job waits in '%s'", p.file);
	kl_judgement_free(kl_steal(v));
	err = kl_gate_judge(v, g, c->now, c->before);
	if (!err && (*v)->deferred)
		return kl_error(KL_ECANNOT, "no result came back for this job");
	return err;
}

static int judge_one(enum fate *fate, struct kl_gate *g, const struct kl_changed_one *c,
		     const struct kl_term *t)
{
	KL_AUTO(kl_judgement_freep) struct kl_judgement *v = NULL;
	int64_t since = kl_clock_ns();
	int err = judge_changed(&v, g, c);

	if (err == KL_EINTR)
		return err;
	*fate = err < 0 ? say_untested(c, since) : say_verdict(c, v, since, t);
	fflush(stdout);
	return 0;
}

/* The gate is opened when the first kernel needs it. */
static int judge_all(enum fate *worst, struct kl_repo *r, const struct kl_changed *changed,
		     const struct settings *set)
{
	KL_AUTO(kl_progress_freep) struct kl_progress *progress = kl_progress_new(KL_PROGRESS_AUTO);
	KL_AUTO(kl_gate_freep) struct kl_gate *g = NULL;
	struct kl_gate_opts o = { .progress = progress, .quick = !set->profile };
	int err = 0;

	for (size_t i = 0; i < changed->n && !err; i++) {
		const struct kl_changed_one *c = &changed->one[i];
		enum fate fate = PASSED;

		kl_progress_title(progress, "klineage: %s", c->workload);
		if (!c->now) {
			fate = say_broken(c);
		} else {
			if (!g && (err = kl_gate_open(&g, r, &o)) < 0)
				break;
			err = judge_one(&fate, g, c, set->term);
		}
		*worst = fate > *worst ? fate : *worst;
	}
	return err;
}

static int before_commit(struct kl_repo *r, const struct settings *set)
{
	KL_AUTO(kl_changed_release) struct kl_changed changed = { 0 };
	enum fate worst = PASSED;
	git_oid staged, head, tree;
	bool unborn = false;
	int err = kl_repo_staged_tree(&staged, r);

	if (!err)
		err = kl_refs_get(&head, r, "HEAD");
	if (err == KL_ENOTFOUND) {
		unborn = true;
		err = 0;
		kl_error_clear();
	}
	if (!err && !unborn)
		err = kl_repo_tree_of(&tree, r, &head);
	if (!err)
		err = kl_changed(&changed, r, unborn ? NULL : &tree, &staged);
	if (err < 0 || !changed.n)
		return err;
	if ((err = judge_all(&worst, r, &changed, set)) < 0)
		return err;
	if (worst == PASSED || set->block == KL_HOOK_BLOCK_NOTHING ||
	    (worst == UNTESTED && set->block != KL_HOOK_BLOCK_UNTESTED))
		return 0;
	fprintf(stderr,
		"klineage: the commit is stopped; 'git commit --no-verify' makes it all the same\n");
	return 1;
}

/* --- after one --------------------------------------------------------------------- */

/* Nothing stops a commit that is made: its note can be had later, too. */
static int after_commit(struct kl_repo *r)
{
	size_t noted;
	git_oid head;
	int err = kl_refs_get(&head, r, "HEAD");

	return err < 0 ? err : kl_noting_waiting(&noted, r, &head);
}

/* --- before a push ------------------------------------------------------------------ */

#define MAX_INPUT ((size_t)64 << 20)
#define MAX_COMMITS 100000

/* What git is about to push: a line a ref on stdin. */
struct push {
	const char *remote;
	struct kl_oids tips, there;
	bool notes; /* our notes are among it */
};

static void push_release(struct push *p)
{
	kl_oids_release(&p->tips);
	kl_oids_release(&p->there);
}

static void add_oid(struct kl_oids *to, const char *hex)
{
	git_oid oid;

	/* zeros: a deletion, a new ref */
	if (strspn(hex, "0") < strlen(hex) && kl_oid_parse(&oid, hex) == 0)
		kl_oids_add(to, &oid);
}

/* "<local ref> <local id> <remote ref> <remote id>" */
static void add_ref(struct push *p, const char *local, const char *remote_ref, const char *remote)
{
	if (!strncmp(remote_ref, "refs/notes/", 11)) {
		p->notes |= !strcmp(remote_ref, KL_NOTES_GATE);
		return;
	}
	add_oid(&p->tips, local);
	add_oid(&p->there, remote);
}

/*
 * The pre-commit framework gives no input, but says the ends of what it was told; a whole history
 * has no end.
 */
static void add_from_framework(struct push *p, struct kl_repo *r)
{
	const char *to = getenv("PRE_COMMIT_TO_REF"), *from = getenv("PRE_COMMIT_FROM_REF");
	const char *remote = getenv("PRE_COMMIT_REMOTE_NAME"),
		   *ref = getenv("PRE_COMMIT_REMOTE_BRANCH");
	char hex[KL_OID_HEX];
	git_oid oid;

	if (!to)
		to = getenv("PRE_COMMIT_LOCAL_BRANCH");
	if (!*p->remote && remote)
		p->remote = remote;
	if (!to || kl_repo_resolve(&oid, r, to) < 0) {
		kl_error_clear();
		return;
	}
	kl_oid_hex(hex, &oid);
	add_ref(p, hex, ref ? ref : "", from ? from : "");
}

static int read_push(struct push *p, struct kl_repo *r, int argc, char **argv)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec line = KL_STRVEC_INIT;
	int err = isatty(0) ? 0 : kl_buf_read_fd(&text, 0, MAX_INPUT);

	if (err < 0)
		return kl_error_in(err, "what git pushes");
	p->remote = argc ? argv[0] : "";
	kl_strvec_split(&line, text.ptr, "\n");
	for (size_t i = 0; i < line.n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec word = KL_STRVEC_INIT;

		kl_strvec_split(&word, line.v[i], " ");
		if (word.n == 4)
			add_ref(p, word.v[1], word.v[2], word.v[3]);
	}
	if (!line.n)
		add_from_framework(p, r);
	return 0;
}

/* Has the remote all of them, as far as this clone knows? */
static bool known_there(struct kl_repo *r, const char *remote)
{
	KL_AUTO(kl_freep) char *tracking = kl_asprintf("refs/notes/remotes/%s/klineage/gate",
						       remote);
	git_oid ours, theirs;
	bool same = kl_refs_get(&ours, r, KL_NOTES_GATE) == 0 &&
		    kl_refs_get(&theirs, r, tracking) == 0 && !memcmp(&ours, &theirs, sizeof(ours));

	kl_error_clear();
	return same;
}

/* That they cannot go is said; they are safe here, and the next push takes them. */
static int push_notes(struct kl_repo *r, const struct push *p, size_t noted)
{
	struct kl_sync s = {
		.repo = r,
		.remote = p->remote,
		.fetch = true,
		.push = true,
		.notes_only = true,
	};
	bool given = false;
	int err;

	if (!noted || p->notes || known_there(r, p->remote))
		return 0;
	err = kl_sync_run(&s);
	for (size_t i = 0; i < s.n; i++)
		given |= s.v[i].how == KL_SYNC_GIVEN;
	kl_sync_release(&s);
	if (err == KL_EINTR)
		return err;
	if (err < 0)
		fprintf(stderr, "klineage: the notes stay here: %s\n", kl_error_last());
	else if (given)
		printf("klineage: notes went along, on %zu of these commits\n", noted);
	kl_error_clear();
	return 0;
}

static int before_push(struct kl_repo *r, const struct settings *set, int argc, char **argv)
{
	KL_AUTO(push_release) struct push p = { 0 };
	KL_AUTO(kl_pushed_release) struct kl_pushed found = { 0 };
	KL_AUTO(kl_freep) git_oid *commit = NULL;
	size_t n = 0;
	int err;

	if ((err = read_push(&p, r, argc, argv)) < 0 ||
	    (err = kl_repo_not_at_remote(&commit, &n, r, &p.tips, &p.there, p.remote,
					 MAX_COMMITS)) < 0 ||
	    (err = kl_pushed_look(&found, r, commit, n, set->push)) < 0)
		return err;
	for (size_t i = 0; i < found.missing.n; i++)
		printf("klineage: %s\n", found.missing.v[i]);
	fflush(stdout);
	if (found.missing.n && set->block != KL_HOOK_BLOCK_NOTHING) {
		fprintf(stderr,
			"klineage: the push is stopped; 'git klineage gate <commit>...' judges what "
			"is missing, 'git push --no-verify' pushes it all the same\n");
		return 1;
	}
	return set->notes ? push_notes(r, &p, found.noted) : 0;
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

int kl_hook_run(struct kl_repo *r, const struct kl_term *t, const char *event, int argc,
		char **argv)
{
	struct settings set = { .term = t };

	/* whoever meant to be strict is not let down by a typo */
	if (read_settings(&set, r) < 0) {
		fprintf(stderr, "klineage: %s\n", kl_error_last());
		return 1;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(events); i++) {
		if (strcmp(events[i].name, event))
			continue;
		return events[i].part == BEFORE_COMMIT ? before_commit(r, &set) :
		       events[i].part == AFTER_COMMIT  ? after_commit(r) :
							 before_push(r, &set, argc, argv);
	}
	KL_BUG("an event that nobody knows");
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fsck/check_card_commit.h"

#include <stdarg.h>
#include <string.h>

#include "apply/card_commit.h"
#include "base/error.h"
#include "event/event.h"
#include "repo/notes.h"
#include "walk/step.h"

#define NODES "refs/klineage/nodes/"
#define TRIALS "refs/klineage/trials/"
#define BRANCHES "refs/heads/klineage/materialize/"
#define MAX_LINKS 100000

struct checker {
	struct kl_repo *r;
	kl_library_report *report;
	void *payload;
	const char *where;
	/* commits (hex) that the chains keep reachable; the values mean nothing */
	struct kl_map kept;
};

static void checker_release(struct checker *checker)
{
	kl_map_release(&checker->kept);
}

static void report_finding(struct checker *checker, bool error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void report_finding(struct checker *checker, bool error, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf message = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&message, fmt, ap);
	va_end(ap);
	checker->report(&(struct kl_library_finding){ .error = error,
						      .where = checker->where,
						      .what = message.ptr },
			checker->payload);
}

/* --- checking a commit that a chain keeps ----------------------------------------------------- */

/*
 * Look in the note of the commit for events of exactly the commit's tree. Set *pass if one of these
 * events is a pass of the gate. Set *fail if one is any other verdict of the gate, or the failure
 * of a check.
 */
static int find_verdicts(bool *pass, bool *fail, struct checker *checker,
			 const struct kl_commit *commit)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char tree[KL_OID_HEX];
	int err = kl_notes_read(&text, checker->r, KL_NOTES_GATE, &commit->oid);

	*pass = *fail = false;
	kl_oid_hex(tree, &commit->tree);
	for (const char *at = text.ptr; !err && text.len && *at;) {
		size_t n = strcspn(at, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, at, n) && !strcmp(event->tree, tree)) {
			bool passes = event->verdict == KL_VERDICT_PASS;

			*pass |= event->kind == KL_KIND_GATE && passes;
			*fail |= (event->kind == KL_KIND_GATE && !passes) ||
				 (event->kind == KL_KIND_CHECK && kl_event_is_fail(event));
		}
		kl_error_clear();
		at += n + (at[n] == '\n');
	}
	return err;
}

static bool is_skill(const char *text)
{
	const char *at = strchr(text, '@');

	return at && at > text && strlen(at + 1) == 40 && strspn(at + 1, "0123456789abcdef") == 40;
}

static void check_free(struct checker *checker, const struct kl_commit *commit, bool skill)
{
	KL_AUTO(kl_freep) char *word = kl_trailer_get(commit->message, "Klineage-Free");
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &commit->oid);
	if (word && skill)
		report_finding(checker, true,
			       "commit %.10s names a card, but is marked as a free step", hex);
	if (word && !kl_free_is(word))
		report_finding(checker, true,
			       "commit %.10s has '%.80s' in place of the reason for a free step",
			       hex, word);
}

static int check_step(struct checker *checker, const struct kl_commit *commit, const char *outcome)
{
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	KL_AUTO(kl_freep) char *skill = kl_trailer_get(commit->message, "Klineage-Skill");
	bool pass, fail, refused;
	char hex[KL_OID_HEX];
	int err;

	kl_oid_hex(hex, &commit->oid);
	if (commit->nparent != 1)
		report_finding(checker, true,
			       "commit %.10s has %zu parents, but must have one, the state that it "
			       "was made from",
			       hex, commit->nparent);
	if (kl_step_parse(&step, hex, commit->message) < 0) {
		report_finding(checker, true, "%s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (skill && !is_skill(skill))
		report_finding(
			checker, true,
			"commit %.10s names '%.80s' instead of a card in the form <id>@<blob>", hex,
			skill);
	check_free(checker, commit, skill);
	if ((err = find_verdicts(&pass, &fail, checker, commit)) < 0)
		return err;
	/*
	 * a trial can fail although the gate passes, because the edit can lack the expected effect
	 */
	refused = outcome ? !strcmp(outcome, "fail") :
			    step.class_ && !kl_card_commit_is_correct(step.class_);
	if (refused ? !fail : !pass)
		report_finding(checker, true,
			       "no event in the note of commit %.10s shows that its kernel %s", hex,
			       refused ? "fails" : "is correct");
	return 0;
}

/* --- checking a chain ------------------------------------------------------------------------- */

static int check_link(struct checker *checker, const struct kl_commit *link, bool nodes)
{
	KL_AUTO(kl_freep) char *outcome = kl_trailer_get(link->message, "Klineage-Outcome");
	struct kl_commit commit = { 0 };
	char hex[KL_OID_HEX];
	int err;

	if (nodes && !outcome)
		report_finding(checker, true,
			       "a commit of this chain has no trailer Klineage-Outcome");
	kl_oid_hex(hex, &link->parent[0]);
	kl_map_put(&checker->kept, hex, checker);
	err = kl_repo_commit_read(&commit, checker->r, &link->parent[0]);
	if (!err && (!outcome || strcmp(outcome, "root")))
		err = check_step(checker, &commit, outcome);
	kl_commit_release(&commit);
	return err;
}

static int check_chain(struct checker *checker, const struct kl_ref *ref, bool nodes)
{
	git_oid at = ref->oid;
	bool more = true;
	int err = 0;

	checker->where = ref->name;
	for (size_t i = 0; !err && more && i < MAX_LINKS; i++) {
		struct kl_commit link = { 0 };

		err = kl_repo_commit_read(&link, checker->r, &at);
		if (!err && (link.nparent < 1 || link.nparent > 2)) {
			report_finding(
				checker, true,
				"a commit of this chain has %zu parents, but must have one or two: "
				"the commit that it keeps, and the preceding commit of the chain",
				link.nparent);
			kl_commit_release(&link);
			return 0;
		}
		if (!err)
			err = check_link(checker, &link, nodes);
		more = link.nparent == 2;
		if (!err && more)
			at = link.parent[1];
		kl_commit_release(&link);
	}
	if (err == KL_ENOTFOUND || err == KL_EINVALID) {
		report_finding(checker, true, "the chain cannot be read: %s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	return err;
}

static int check_chains(size_t *n, struct checker *checker, const char *prefix)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, checker->r, prefix);

	for (size_t i = 0; !err && i < refs.n; i++, ++*n)
		err = check_chain(checker, &refs.ref[i], !strcmp(prefix, NODES));
	return err;
}

/*
 * Warn about a branch whose tip no chain keeps reachable. This is not an error, because users can
 * commit to such a branch or fetch such a branch from elsewhere.
 */
static int check_branches(struct checker *checker)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, checker->r, BRANCHES);

	for (size_t i = 0; !err && i < refs.n; i++) {
		char hex[KL_OID_HEX];

		checker->where = refs.ref[i].name;
		kl_oid_hex(hex, &refs.ref[i].oid);
		if (!kl_map_get(&checker->kept, hex))
			report_finding(checker, false,
				       "the tip of this branch is in none of the chains below %s",
				       NODES);
	}
	return err;
}

int kl_check_card_commits(size_t *chains, struct kl_repo *repo, kl_library_report *report,
			  void *payload)
{
	KL_AUTO(checker_release) struct checker checker = { .r = repo,
							    .report = report,
							    .payload = payload };
	int err;

	*chains = 0;
	if ((err = check_chains(chains, &checker, NODES)) < 0 ||
	    (err = check_chains(chains, &checker, TRIALS)) < 0)
		return err;
	return check_branches(&checker);
}

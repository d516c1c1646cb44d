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
	struct kl_map kept; /* hex of commits that chains keep -> the checker */
};

static void checker_release(struct checker *k)
{
	kl_map_release(&k->kept);
}

static void report_finding(struct checker *k, bool error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void report_finding(struct checker *k, bool error, const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	k->report(&(struct kl_library_finding){ .error = error, .where = k->where, .what = b.ptr },
		  k->payload);
}

/* --- one commit ----------------------------------------------------------------------------- */

/* what the gate said of the very tree: is there a pass, is there a failure? */
static int find_verdicts(bool *pass, bool *fail, struct checker *k, const struct kl_commit *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char tree[KL_OID_HEX];
	int err = kl_notes_read(&text, k->r, KL_NOTES_GATE, &c->oid);

	*pass = *fail = false;
	kl_oid_hex(tree, &c->tree);
	for (const char *p = text.ptr; !err && text.len && *p;) {
		size_t n = strcspn(p, "\n");
		KL_AUTO(kl_event_freep) struct kl_event *event = NULL;

		if (n && !kl_event_parse(&event, p, n) && !strcmp(event->tree, tree)) {
			*pass |= event->verdict == KL_VERDICT_PASS;
			*fail |= event->verdict != KL_VERDICT_PASS;
		}
		kl_error_clear();
		p += n + (p[n] == '\n');
	}
	return err;
}

static bool is_skill(const char *s)
{
	const char *at = strchr(s, '@');

	return at && at > s && strlen(at + 1) == 40 && strspn(at + 1, "0123456789abcdef") == 40;
}

static int check_step(struct checker *k, const struct kl_commit *c, const char *outcome)
{
	KL_AUTO(kl_step_release) struct kl_step s = { 0 };
	KL_AUTO(kl_freep) char *skill = kl_trailer_get(c->message, "Klineage-Skill");
	bool pass, fail, refused;
	char hex[KL_OID_HEX];
	int err;

	kl_oid_hex(hex, &c->oid);
	if (c->nparent != 1)
		report_finding(
			k, true,
			"%.10s has %zu parents, and is to have the state that it was made from",
			hex, c->nparent);
	if (kl_step_parse(&s, hex, c->message) < 0) {
		report_finding(k, true, "%s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (skill && !is_skill(skill))
		report_finding(k, true, "%.10s names '%.80s', and not a card as <id>@<blob>", hex,
			       skill);
	if ((err = find_verdicts(&pass, &fail, k, c)) < 0)
		return err;
	/* a trial may fail for more than what the gate says: what it was to bring is not there */
	refused = outcome ? !strcmp(outcome, "fail") : s.class_ && !kl_made_is_right(s.class_);
	if (refused ? !fail : !pass)
		report_finding(k, true, "no event in its note says that %.10s %s", hex,
			       refused ? "fails" : "is right");
	return 0;
}

/* --- a chain ---------------------------------------------------------------------------------- */

static int check_link(struct checker *k, const struct kl_commit *link, bool nodes)
{
	KL_AUTO(kl_freep) char *outcome = kl_trailer_get(link->message, "Klineage-Outcome");
	struct kl_commit c = { 0 };
	char hex[KL_OID_HEX];
	int err;

	if (nodes && !outcome)
		report_finding(k, true, "a link does not say what came of its commit");
	kl_oid_hex(hex, &link->parent[0]);
	kl_map_put(&k->kept, hex, k);
	err = kl_repo_commit_read(&c, k->r, &link->parent[0]);
	if (!err && (!outcome || strcmp(outcome, "root")))
		err = check_step(k, &c, outcome);
	kl_commit_release(&c);
	return err;
}

static int check_chain(struct checker *k, const struct kl_ref *ref, bool nodes)
{
	git_oid at = ref->oid;
	bool more = true;
	int err = 0;

	k->where = ref->name;
	for (size_t i = 0; !err && more && i < MAX_LINKS; i++) {
		struct kl_commit link = { 0 };

		err = kl_repo_commit_read(&link, k->r, &at);
		if (!err && (link.nparent < 1 || link.nparent > 2)) {
			report_finding(
				k, true,
				"a link has %zu parents, and not a commit and the link before",
				link.nparent);
			kl_commit_release(&link);
			return 0;
		}
		if (!err)
			err = check_link(k, &link, nodes);
		more = link.nparent == 2;
		if (!err && more)
			at = link.parent[1];
		kl_commit_release(&link);
	}
	if (err == KL_ENOTFOUND || err == KL_EINVALID) {
		report_finding(k, true, "it cannot be read: %s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	return err;
}

static int check_chains(size_t *n, struct checker *k, const char *prefix)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, k->r, prefix);

	for (size_t i = 0; !err && i < refs.n; i++, ++*n)
		err = check_chain(k, &refs.ref[i], !strcmp(prefix, NODES));
	return err;
}

/* a branch is its owner's: he may have gone on by hand, or have brought it from elsewhere */
static int check_branches(struct checker *k)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	int err = kl_refs_list(&refs, k->r, BRANCHES);

	for (size_t i = 0; !err && i < refs.n; i++) {
		char hex[KL_OID_HEX];

		k->where = refs.ref[i].name;
		kl_oid_hex(hex, &refs.ref[i].oid);
		if (!kl_map_get(&k->kept, hex))
			report_finding(k, false, "no chain below %s keeps its tip", NODES);
	}
	return err;
}

int kl_made_check(size_t *chains, struct kl_repo *r, kl_library_report *report, void *payload)
{
	KL_AUTO(checker_release) struct checker k = { .r = r,
						      .report = report,
						      .payload = payload };
	int err;

	*chains = 0;
	if ((err = check_chains(chains, &k, NODES)) < 0 ||
	    (err = check_chains(chains, &k, TRIALS)) < 0)
		return err;
	return check_branches(&k);
}

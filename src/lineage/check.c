/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/check.h"

#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "chat/check.h"
#include "gate/event.h"
#include "gate/surface.h"
#include "gate/trust.h"
#include "lineage/forward.h"
#include "lineage/record.h"
#include "lineage/sequencer.h"
#include "lineage/view.h"
#include "repo/notes.h"

#define WALKS "refs/heads/klineage/walk/"
#define LINEAGES "refs/heads/klineage/lineage/"
#define REJECTED "refs/klineage/rejected/"
#define MAX_STEPS 1000000
#define MAX_FILES 1024
#define MAX_FOREIGN_BYTES (64 << 20)	/* of a chain's commits, out of the pack */

struct checker {
	struct kl_check *c;
	struct kl_map cited;		/* event ids that are here */
	struct kl_trust signed_;	/* events with a signature, and where each stands */
	struct kl_strvec signed_at;
	struct kl_strvec citing;	/* "commit id" pairs of events that cite */
	bool foreign;			/* a remote's: nothing of ours is compared with it */
	git_oid digests_of;		/* the commit that `digests` are of */
	struct kl_strvec digests;
};

static void found(struct checker *k, enum kl_check_severity s, const char *where,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void found(struct checker *k, enum kl_check_severity s, const char *where,
		  const char *fmt, ...)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	kl_buf_vaddf(&b, fmt, ap);
	va_end(ap);
	if (s == KL_CHECK_ERROR)
		k->c->errors++;
	else
		k->c->warnings++;
	if (k->c->report)
		k->c->report(s, where, b.ptr, k->c->payload);
}

/* an error of reading is a finding; the check goes on */
static void found_error(struct checker *k, const char *where)
{
	found(k, KL_CHECK_ERROR, where, "%s", kl_error_last());
	kl_error_clear();
}

/* --- chains ------------------------------------------------------------------- */

struct chain {
	struct kl_commit *c;		/* newest first */
	struct kl_step *step;		/* parsed; kind of the last one of a walk is unset */
	size_t n, alloc, step_alloc;
};

static void chain_release(struct chain *c)
{
	for (size_t i = 0; i < c->n; i++) {
		kl_commit_release(&c->c[i]);
		kl_step_release(&c->step[i]);
	}
	free(c->c);
	free(c->step);
}

/* commits with steps, by parent number `via`, to the first that has none (kept) or the root */
static int read_chain(struct chain *out, struct checker *k, const git_oid *tip, size_t via,
		      bool past_end)
{
	git_oid at = *tip;
	size_t bytes = 0, size;

	for (;;) {
		struct kl_commit c = { 0 };
		struct kl_step step = { 0 };
		bool is_step;
		int err = 0;

		if (k->foreign && !(err = kl_repo_object_size(&size, k->c->repo, &at)) &&
		    (bytes += size) > MAX_FOREIGN_BYTES)
			return kl_error(KL_EINVALID, "its commits have more than %d MiB",
					MAX_FOREIGN_BYTES >> 20);
		if (err < 0 || (err = kl_repo_commit_read(&c, k->c->repo, &at)) < 0)
			return err;
		is_step = !kl_step_parse(&step, "commit", c.message);
		if (!is_step)
			kl_error_clear();
		KL_GROW(out->c, out->n + 1, out->alloc);
		KL_GROW(out->step, out->n + 1, out->step_alloc);
		out->c[out->n] = c;
		out->step[out->n++] = step;
		if (c.nparent <= via || (!is_step && past_end))
			return 0;
		if (out->n == (k->foreign ? KL_CHECK_FOREIGN_STEPS : MAX_STEPS))
			return kl_error(KL_EINVALID, "it has more than %zu steps", out->n);
		at = c.parent[via];
	}
}

static void short_name(char out[KL_OID_HEX], const git_oid *oid)
{
	kl_oid_hex(out, oid);
	out[12] = '\0';
}

/* --- a walk --------------------------------------------------------------------- */

/* only sources of the contract may change on a walk */
static void check_change(struct checker *k, const char *ref, const struct chain *w, size_t i,
			 const char *dir, const struct kl_contract *contract)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	char at[KL_OID_HEX];

	short_name(at, &w->c[i].oid);
	if (kl_repo_diff(&diff, k->c->repo, &w->c[i + 1].tree, &w->c[i].tree, NULL) < 0) {
		found_error(k, ref);
		return;
	}
	for (const char *s = diff.ptr; (s = strstr(s, "diff --git a/")); s++) {
		bool source = false;

		if (s > diff.ptr && s[-1] != '\n')
			continue;
		for (size_t f = 0; f < contract->sources.n && !source; f++) {
			KL_AUTO(kl_freep) char *path = *dir ?
				kl_asprintf("%s/%s", dir, contract->sources.v[f]) :
				kl_strdup(contract->sources.v[f]);
			KL_AUTO(kl_freep) char *line = kl_asprintf("diff --git a/%s b/%s\n", path, path);

			source = !strncmp(s, line, strlen(line));
		}
		if (!source)
			found(k, KL_CHECK_ERROR, ref, "%s changes a file that is no source: %.*s", at,
			      (int)strcspn(s + 13, " \n"), s + 13);
	}
}

static int contract_of(struct kl_surface **out, char **dir, struct checker *k,
		       const git_oid *tree, const char *workload)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	int err = kl_surface_find(&dirs, &workloads, k->c->repo, tree);

	for (size_t i = 0; !err && i < dirs.n; i++)
		if (!strcmp(workloads.v[i], workload)) {
			*dir = kl_strdup(dirs.v[i]);
			return kl_surface_from_tree(out, k->c->repo, tree, *dir);
		}
	return err < 0 ? err : kl_error(KL_ENOTFOUND, "no contract of workload '%s' in its tree", workload);
}

static void check_walk(struct checker *k, const char *ref, const git_oid *tip, const char *workload)
{
	KL_AUTO(chain_release) struct chain w = { 0 };
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	size_t back = 0;

	k->c->walks++;
	if (read_chain(&w, k, tip, 0, true) < 0) {
		found_error(k, ref);
		return;
	}
	while (back < w.n && w.step[back].action && w.step[back].kind == KL_STEP_BACK)
		back++;
	/* a walk may stand on an earlier one: its own steps end where the numbers begin again */
	for (size_t i = 0; i < back; i++)
		if (w.step[i].number == 1)
			back = i + 1;
	if (!back || back == w.n) {
		found(k, KL_CHECK_ERROR, ref, "it has no backward steps on an expert's commit");
		return;
	}
	if (contract_of(&s, &dir, k, &w.c[0].tree, workload) < 0) {
		found_error(k, ref);
		return;
	}
	for (size_t i = 0; i < back; i++) {
		if (w.step[i].number != (int)(back - i))
			found(k, KL_CHECK_ERROR, ref, "step %d stands where step %zu belongs",
			      w.step[i].number, back - i);
		if (w.c[i].nparent != 1)
			found(k, KL_CHECK_ERROR, ref, "step %d has %zu parents", w.step[i].number,
			      w.c[i].nparent);
		if (i + 1 < w.n)
			check_change(k, ref, &w, i, dir, s->contract);
	}
}

/* --- a lineage ---------------------------------------------------------------------- */

/* the events of a commit that speak of just this surface and pass, in a note */
static int passes(json_t **out, struct checker *k, const git_oid *commit, const struct kl_surface *s)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	int err = kl_notes_read(&text, k->c->repo, KL_NOTES_GATE, commit);

	*out = json_array();
	if (err == KL_ENOTFOUND)
		err = 0;
	for (const char *at = text.ptr; !err && *at; ) {
		size_t n = strcspn(at, "\n");
		json_t *e;

		if (n && !kl_event_parse(&e, at, n)) {
			if (kl_event_is_for(e, s->digest, s->contract_digest) &&
			    !strcmp(kl_json_str_or(e, "verdict", ""), "pass"))
				json_array_append(*out, e);
			json_decref(e);
		}
		at += n + (at[n] == '\n');
	}
	kl_error_clear();
	return err;
}

static bool has_code(const json_t *events, const char *code)
{
	size_t i;
	json_t *e;

	json_array_foreach(events, i, e)
		if (*code && !strcmp(kl_json_str_or(e, "code", ""), code))
			return true;
	return false;
}

/* correct, and not slower than K_i: measured, or the same machine code, or the same files */
static void check_rederived(struct checker *k, const char *ref, const git_oid *anew,
			    const struct kl_commit *goal, int number)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL, *g = NULL;
	KL_AUTO(json_decrefp) json_t *own = NULL, *of_goal = NULL;
	git_oid tree;
	size_t i;
	json_t *e;

	if (kl_repo_tree_of(&tree, k->c->repo, anew) < 0 ||
	    kl_surface_from_tree(&s, k->c->repo, &tree, "") < 0 ||
	    kl_surface_from_tree(&g, k->c->repo, &goal->tree, "") < 0 ||
	    passes(&own, k, anew, s) < 0 || passes(&of_goal, k, &goal->oid, g) < 0) {
		found_error(k, ref);
		return;
	}
	if (strcmp(s->contract_digest, g->contract_digest))
		found(k, KL_CHECK_ERROR, ref, "the re-derivation of step %d has another contract", number);
	if (!json_array_size(own) && !json_array_size(of_goal)) {
		found(k, KL_CHECK_WARNING, ref, "no event of step %d and its re-derivation is in this clone",
		      number);
		return;
	}
	json_array_foreach(own, i, e) {
		bool not_slower, slower;

		kl_record_against(&not_slower, &slower, e, g->digest);
		if (not_slower || !strcmp(s->digest, g->digest) ||
		    has_code(of_goal, kl_json_str_or(e, "code", "")))
			return;
	}
	found(k, KL_CHECK_ERROR, ref, "no event says that the re-derivation of step %d is correct and not "
	      "slower than K_%d", number, number);
}

static void check_second_parent(struct checker *k, const char *ref, const struct chain *l, size_t i)
{
	KL_AUTO(kl_freep) git_oid *parent = NULL;
	const char *how = l->step[i].derivation ? l->step[i].derivation : "";
	int number = l->step[i].number;
	size_t n = 0;

	if (l->c[i].nparent == 1) {
		if (!strcmp(how, "rederived") || !strcmp(how, "unisolated"))
			found(k, KL_CHECK_ERROR, ref, "step %d says re-derived, but has no second parent",
			      number);
		return;
	}
	if (l->c[i].nparent != 2 ||
	    kl_repo_parents(&parent, &n, k->c->repo, &l->c[i].parent[1]) < 0 || n != 1 ||
	    memcmp(&parent[0], &l->c[i + 1].oid, sizeof(parent[0])))
		found(k, KL_CHECK_ERROR, ref, "the re-derivation of step %d is not on the state before",
		      number);
	else if (!strcmp(how, "inverse"))
		found(k, KL_CHECK_ERROR, ref, "step %d says inverse, but has a second parent", number);
	else
		check_rederived(k, ref, &l->c[i].parent[1], &l->c[i], number);
	kl_error_clear();
}

/* K_{n-i} of the lineage is the contract's directory of step i of the walk */
static void check_against_walk(struct checker *k, const char *ref, const struct chain *l,
			       const char *workload, const char *name)
{
	KL_AUTO(chain_release) struct chain w = { 0 };
	KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;
	KL_AUTO(kl_freep) char *dir = NULL;
	char walk[256];
	git_oid tip;

	kl_lineage_ref(walk, "walk", workload, name);
	if (kl_refs_get(&tip, k->c->repo, walk) < 0) {
		kl_error_clear();	/* an imported lineage has none */
		return;
	}
	if (read_chain(&w, k, &tip, 0, true) < 0 || contract_of(&s, &dir, k, &w.c[0].tree, workload) < 0) {
		found_error(k, walk);
		return;
	}
	if (w.n < l->n) {
		found(k, KL_CHECK_ERROR, ref, "it has more steps than its walk");
		return;
	}
	for (size_t i = 0; i < l->n; i++) {
		git_oid tree;

		/* w is K_0 first, l is K* first */
		if (kl_forward_tree(&tree, k->c->repo, &w.c[i].tree, dir) < 0)
			found_error(k, walk);
		else if (memcmp(&tree, &l->c[l->n - 1 - i].tree, sizeof(tree)))
			found(k, KL_CHECK_ERROR, ref, "K_%zu is not the state that the walk reached", i);
	}
}

/* states of others: no more, and nothing else, than what a surface may have */
static void check_trees(struct checker *k, const char *ref, const struct chain *l)
{
	for (size_t i = 0; i < l->n; i++) {
		KL_AUTO(kl_blobs_release) struct kl_blobs b = { 0 };

		if (i && !memcmp(&l->c[i].tree, &l->c[i - 1].tree, sizeof(git_oid)))
			continue;
		if (kl_repo_tree_list(&b, k->c->repo, &l->c[i].tree, MAX_FILES) < 0)
			found_error(k, ref);
		for (size_t f = 0; f < b.n; f++)
			if (b.b[f].mode != 0100644 && b.b[f].mode != 0100755)
				found(k, KL_CHECK_ERROR, ref, "'%s' in step %d is no regular file",
				      b.b[f].path, l->step[i].number);
	}
}

static void check_lineage(struct checker *k, const char *ref, const git_oid *tip,
			  const char *workload, const char *name)
{
	KL_AUTO(chain_release) struct chain l = { 0 };

	k->c->lineages++;
	if (read_chain(&l, k, tip, 0, false) < 0) {
		found_error(k, ref);
		return;
	}
	for (size_t i = 0; i < l.n; i++) {
		const struct kl_step *s = &l.step[i];
		bool root = i + 1 == l.n;

		if ((root ? s->kind != KL_STEP_ROOT : s->kind != KL_STEP_FORWARD) ||
		    s->number != (int)(l.n - 1 - i))
			found(k, KL_CHECK_ERROR, ref, "commit %zu from the root is not step %zu of a lineage",
			      l.n - 1 - i, l.n - 1 - i);
		else if (!root && !s->derivation)
			found(k, KL_CHECK_ERROR, ref, "step %d does not say how it was derived", s->number);
		else if (!root)
			check_second_parent(k, ref, &l, i);
		if (root && (!s->workload || strcmp(s->workload, workload)))
			found(k, KL_CHECK_ERROR, ref, "its root is of workload '%s'",
			      s->workload ? s->workload : "");
	}
	if (k->foreign)
		check_trees(k, ref, &l);
	else
		check_against_walk(k, ref, &l, workload, name);
}

/* --- rejections ----------------------------------------------------------------------- */

static void check_rejected(struct checker *k, const char *ref, const git_oid *tip)
{
	KL_AUTO(chain_release) struct chain r = { 0 };

	k->c->rejected++;
	if (read_chain(&r, k, tip, 1, false) < 0) {
		found_error(k, ref);
		return;
	}
	for (size_t i = 0; i < r.n; i++) {
		char at[KL_OID_HEX];

		short_name(at, &r.c[i].oid);
		if (r.step[i].kind != KL_STEP_REJECTED || !r.step[i].class_)
			found(k, KL_CHECK_ERROR, ref, "%s is no rejected step", at);
		else if (!r.c[i].nparent || r.c[i].nparent > 2)
			found(k, KL_CHECK_ERROR, ref, "%s does not stand on the state it was tried on", at);
	}
}

/* --- events --------------------------------------------------------------------------- */

/* surface and contract digests of every contract in a commit's tree, in pairs */
static void read_digests(struct checker *k, const git_oid *commit)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	KL_AUTO(kl_strvec_release) struct kl_strvec workloads = KL_STRVEC_INIT;
	git_oid tree;

	k->digests_of = *commit;
	kl_strvec_release(&k->digests);
	k->digests = (struct kl_strvec)KL_STRVEC_INIT;
	if (kl_repo_tree_of(&tree, k->c->repo, commit) < 0 ||
	    kl_surface_find(&dirs, &workloads, k->c->repo, &tree) < 0)
		return;
	for (size_t i = 0; i < dirs.n; i++) {
		KL_AUTO(kl_surface_freep) struct kl_surface *s = NULL;

		if (kl_surface_from_tree(&s, k->c->repo, &tree, dirs.v[i]) < 0)
			continue;
		kl_strvec_push(&k->digests, s->digest);
		kl_strvec_push(&k->digests, s->contract_digest);
	}
}

/* is the event for one of the surfaces in this commit? */
static bool is_for_commit(struct checker *k, const json_t *e, const git_oid *commit)
{
	/* a note has several events of one commit, one after the other */
	if (memcmp(&k->digests_of, commit, sizeof(*commit)))
		read_digests(k, commit);
	for (size_t i = 0; i + 1 < k->digests.n; i += 2)
		if (kl_event_is_for(e, k->digests.v[i], k->digests.v[i + 1]))
			return true;
	return false;
}

/* what a later version wrote is passed over by readers here, and by this one */
static bool is_later(const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *e = NULL;

	return kl_json_parse(&e, line, len) == 0 && kl_json_int_or(e, "v", 0) > 1;
}

static void check_event(struct checker *k, const git_oid *commit, const char *line, size_t len)
{
	KL_AUTO(json_decrefp) json_t *e = NULL;
	const json_t *inverse;
	char at[KL_OID_HEX];

	k->c->events++;
	short_name(at, commit);
	if (kl_event_parse(&e, line, len) < 0) {
		if (is_later(line, len))
			found(k, KL_CHECK_WARNING, at, "an event of a later version of git-klineage");
		else
			found_error(k, at);
		kl_error_clear();
		return;
	}
	kl_map_put(&k->cited, kl_json_str_or(e, "id", ""), k);
	if (!strcmp(kl_json_str_or(e, "kind", ""), "gate") && !is_for_commit(k, e, commit))
		found(k, KL_CHECK_WARNING, at, "event %.12s is stale: it was reached for other files",
		      kl_json_str_or(e, "id", ""));
	kl_error_clear();
	if (json_object_get(e, "sig")) {
		kl_trust_add_event(&k->signed_, k->signed_at.n, json_incref(e), false);
		kl_strvec_push(&k->signed_at, at);
	}
	inverse = json_object_get(e, "inverse");
	if (inverse) {
		kl_strvec_pushf(&k->citing, "%s %s", at, kl_json_str_or(inverse, "state", ""));
		kl_strvec_pushf(&k->citing, "%s %s", at, kl_json_str_or(inverse, "pair", ""));
	}
}

static int on_note(const git_oid *commit, const char *text, size_t len, void *payload)
{
	for (const char *s = text, *end = text + len; s < end; ) {
		const char *nl = memchr(s, '\n', end - s);
		size_t n = (nl ? nl : end) - s;

		if (n)
			check_event(payload, commit, s, n);
		s += n + 1;
	}
	return 0;
}

static int check_signatures(struct checker *k)
{
	int err = kl_trust_judge(&k->signed_, k->c->repo);

	for (size_t i = 0; i < k->signed_.n && !err; i++) {
		const struct kl_trust_line *l = &k->signed_.v[i];

		if (l->sig.state == KL_SIGN_BAD)
			found(k, KL_CHECK_ERROR, k->signed_at.v[l->tag],
			      "event %.12s has a wrong signature: %s", kl_json_str_or(l->event, "id", ""),
			      l->sig.why);
	}
	return err;
}

static int check_events(struct checker *k)
{
	int err = kl_notes_each(k->c->repo, KL_NOTES_GATE, on_note, k);

	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (!err)
		err = check_signatures(k);
	for (size_t i = 0; !err && i < k->citing.n; i++) {
		char *id = strchr(k->citing.v[i], ' ');

		*id++ = '\0';
		if (!kl_map_get(&k->cited, id))
			found(k, KL_CHECK_ERROR, k->citing.v[i],
			      "its event cites %.12s, which is not here", id);
	}
	return err;
}

/* --- refs ------------------------------------------------------------------------------ */

/* "<prefix><workload>/<name>": both parts, the caller's; false and a finding otherwise */
static bool split(char **workload, char **name, struct checker *k, const char *ref,
		  const char *prefix)
{
	const char *rest = ref + strlen(prefix), *slash = strchr(rest, '/');

	*workload = kl_strndup(rest, slash ? (size_t)(slash - rest) : strlen(rest));
	*name = kl_strdup(slash ? slash + 1 : "");
	if (slash && kl_slug_ok(*workload) && kl_slug_ok(*name))
		return true;
	found(k, KL_CHECK_ERROR, ref, "it is not named <workload>/<name>");
	return false;
}

static int each_ref(struct checker *k, const char *prefix)
{
	struct kl_ref_list list = { 0 };
	int err = kl_refs_list(&list, k->c->repo, prefix);

	for (size_t i = 0; !err && i < list.n; i++) {
		KL_AUTO(kl_freep) char *workload = NULL;
		KL_AUTO(kl_freep) char *name = NULL;
		const struct kl_ref *ref = &list.ref[i];

		if (!split(&workload, &name, k, ref->name, prefix))
			continue;
		if (!strcmp(prefix, WALKS))
			check_walk(k, ref->name, &ref->oid, workload);
		else if (!strcmp(prefix, LINEAGES))
			check_lineage(k, ref->name, &ref->oid, workload, name);
		else
			check_rejected(k, ref->name, &ref->oid);
	}
	kl_ref_list_release(&list);
	return err;
}

static void found_in_chat(bool error, const char *where, const char *what, void *payload)
{
	found(payload, error ? KL_CHECK_ERROR : KL_CHECK_WARNING, where, "%s", what);
}

static int check_chat(struct checker *k)
{
	struct kl_chat_check c = { .repo = k->c->repo, .report = found_in_chat, .payload = k };
	int err = kl_chat_check(&c);

	k->c->conversations = c.conversations;
	k->c->ledgers = c.ledgers;
	return err;
}

static int check_operation(struct checker *k)
{
	struct kl_opstate op;
	int err = kl_opstate_load(&op, k->c->repo);

	if (err == KL_ENOTFOUND)
		kl_error_clear();
	else if (err < 0)
		found_error(k, op.ref);
	else
		found(k, KL_CHECK_WARNING, op.ref,
		      "an operation is in progress: 'git klineage deopt --status'");
	kl_opstate_release(&op);
	return 0;
}

int kl_check_run(struct kl_check *c)
{
	struct checker k = { .c = c };
	int err;

	if (!(err = each_ref(&k, WALKS)) && !(err = each_ref(&k, LINEAGES)) &&
	    !(err = each_ref(&k, REJECTED)) && !(err = check_events(&k)) && !(err = check_chat(&k)))
		err = check_operation(&k);
	kl_map_release(&k.cited);
	kl_trust_release(&k.signed_);
	kl_strvec_release(&k.signed_at);
	kl_strvec_release(&k.citing);
	kl_strvec_release(&k.digests);
	return err;
}

int kl_check_foreign(struct kl_check *c, const char *name, const git_oid *tip)
{
	struct checker k = { .c = c, .foreign = true };
	KL_AUTO(kl_freep) char *workload = NULL;
	KL_AUTO(kl_freep) char *leaf = NULL;
	bool lineage = !strncmp(name, "lineage/", 8);

	if (!lineage && strncmp(name, "rejected/", 9))
		return kl_error(KL_EINVALID, "'%s' is neither a lineage nor rejected steps", name);
	if (!split(&workload, &leaf, &k, name, lineage ? "lineage/" : "rejected/"))
		return 0;
	if (lineage)
		check_lineage(&k, name, tip, workload, leaf);
	else
		check_rejected(&k, name, tip);
	return 0;
}

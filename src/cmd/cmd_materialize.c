/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/opt.h"
#include "cmd/skills.h"
#include "cmd/table.h"
#include "gate/select.h"
#include "lineage/step.h"
#include "repo/refs.h"
#include "skill/made.h"
#include "skill/materialize.h"

static const char synopsis[] = "materialize [<options>] [<workload>]";

struct args {
	const char *workload, *root, *library, *name, *status, *platform, *jail;
	bool apply, patch, dry, json, quiet;
};

struct session {
	struct kl_repo *repo, *other;	/* other: the library's, where it is not this one */
	struct kl_taxonomy *tax;
	struct kl_index *index;
	struct kl_progress *progress;
	struct kl_gate *gate;
	struct kl_selection sel;
	git_oid commit;			/* of the root */
	bool go_on;
	char *name;
	struct kl_materialization m;
};

static void session_release(struct session *s)
{
	kl_materialize_release(&s->m);
	kl_selection_release(&s->sel);
	kl_gate_free(s->gate);
	kl_progress_free(s->progress);
	kl_index_free(s->index);
	kl_taxonomy_free(s->tax);
	kl_repo_free(s->other);
	free(s->name);
}

/* --- the root ---------------------------------------------------------------------------------- */

/* the branch that `--root best` means: the one named, else the only one of the workload */
static int find_best(struct session *s, const struct args *o)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list refs = { 0 };
	const char *workload = s->sel.candidate->contract->workload;
	KL_AUTO(kl_freep) char *prefix = kl_asprintf("refs/heads/klineage/materialize/%s/", workload);
	int err = kl_refs_list(&refs, s->repo, prefix);

	if (err)
		return err;
	for (size_t i = 0; i < refs.n; i++) {
		const char *name = refs.ref[i].name + strlen(prefix);

		if (o->name && strcmp(o->name, name))
			continue;
		if (s->name)
			return kl_error(KL_EUSAGE, "'%s' has several materialized branches; say which with "
					"--name", workload);
		s->name = kl_strdup(name);
		s->commit = refs.ref[i].oid;
	}
	return s->name ? 0 : kl_error(KL_ENOTFOUND, "there is no best of '%s' yet: nothing was "
				      "materialized%s%s", workload, o->name ? " under the name " : "",
				      o->name ? o->name : "");
}

static int select_best(struct session *s, const struct args *o)
{
	char hex[KL_OID_HEX];
	int err = kl_select(&s->sel, s->repo, KL_STATE_REV, "HEAD", o->workload);

	if (!err)
		err = find_best(s, o);
	if (err)
		return err;
	kl_selection_release(&s->sel);
	kl_oid_hex(hex, &s->commit);
	s->go_on = true;
	return kl_select(&s->sel, s->repo, KL_STATE_REV, hex, o->workload);
}

/* what stands in the worktree becomes a commit of its own, unless HEAD has it */
static int select_worktree(struct session *s, const struct args *o)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *head = NULL;
	git_oid tree;
	int err = kl_select(&s->sel, s->repo, KL_STATE_WORKTREE, NULL, o->workload);

	if (!err)
		err = kl_repo_resolve(&s->commit, s->repo, "HEAD");
	if (!err)
		err = kl_repo_tree_of(&tree, s->repo, &s->commit);
	if (err)
		return err;
	if (kl_surface_from_tree(&head, s->repo, &tree, s->sel.candidate->dir) < 0)
		kl_error_clear();
	if (o->dry || (head && !strcmp(head->digest, s->sel.candidate->digest) &&
		       !strcmp(head->contract_digest, s->sel.candidate->contract_digest)))
		return 0;
	return kl_made_root(&s->commit, s->repo, &s->commit, s->sel.candidate);
}

static int select_root(struct session *s, const struct args *o)
{
	int err;

	if (o->root && !strcmp(o->root, "best"))
		return select_best(s, o);
	if (o->root && !strcmp(o->root, "worktree"))
		return select_worktree(s, o);
	err = kl_select(&s->sel, s->repo, KL_STATE_REV, o->root ? o->root : "HEAD", o->workload);
	s->commit = s->sel.commit;
	return err;
}

static int find_name(struct session *s, const struct args *o)
{
	struct kl_platform p;
	int err = 0;

	if (!s->name && o->name) {
		s->name = kl_strdup(o->name);
	} else if (!s->name) {
		err = o->platform ? 0 : kl_gate_platform(&p, s->gate, s->sel.candidate);
		if (!err)
			s->name = kl_materialize_name(o->platform ? o->platform : p.id, &s->commit);
	}
	return err;
}

/* --- what came of it ------------------------------------------------------------------------------ */

static void add_ratio(struct kl_buf *b, const struct kl_mat_try *t)
{
	if (!t->ratio.ppm)
		kl_buf_adds(b, "-");
	else
		kl_buf_addf(b, "%.3fx [%.3f, %.3f] %s", (double)t->ratio.ppm / 1e6,
			    (double)t->ratio.lo / 1e6, (double)t->ratio.hi / 1e6, t->speed);
}

static void print_tries(FILE *to, const struct kl_materialization *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct kl_mat_try *t = &m->v[i];
		KL_AUTO(kl_buf_release) struct kl_buf ratio = KL_BUF_INIT;
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &m->node[t->on].commit);
		fprintf(to, "%s (%s) on %.10s: %s", t->card, kl_card_status_name(t->status), hex,
			kl_mat_outcome_name(t->outcome));
		if (*t->how && t->outcome != KL_MAT_LEFT)
			fprintf(to, ", %s", t->how);
		if (*t->why)
			fprintf(to, ": %s", t->why);
		if (t->ratio.ppm) {
			add_ratio(&ratio, t);
			fprintf(to, ", %s", ratio.ptr);
		}
		fputc('\n', to);
	}
}

static const char *short_ref(const char *ref)
{
	return !strncmp(ref, "refs/heads/", 11) ? ref + 11 : ref;
}

static void print_end(FILE *to, const struct session *s, bool dry)
{
	const struct kl_materialization *m = &s->m;
	char hex[KL_OID_HEX];

	if (dry) {
		fprintf(to, "%zu card%s fit; what applies would be judged on %s\n", m->offered,
			m->offered == 1 ? "" : "s", short_ref(m->branch));
		return;
	}
	kl_oid_hex(hex, &m->node[m->best].commit);
	if (m->best)
		fprintf(to, "%s is at %.10s, %d step%s from the root\n", short_ref(m->branch), hex,
			m->node[m->best].depth, m->node[m->best].depth == 1 ? "" : "s");
	else
		fprintf(to, "nothing is faster than the root, %.10s\n", hex);
}

static json_t *try_json(const struct kl_materialization *m, const struct kl_mat_try *t)
{
	json_t *j = json_object();
	char hex[KL_OID_HEX];

	kl_json_set_str(j, "card", t->card);
	kl_json_set_str(j, "blob", t->blob);
	kl_json_set_str(j, "status", kl_card_status_name(t->status));
	kl_oid_hex(hex, &m->node[t->on].commit);
	kl_json_set_str(j, "on", hex);
	kl_oid_hex(hex, &m->node[t->node].commit);
	kl_json_set_str(j, "commit", t->node ? hex : NULL);
	kl_json_set_str(j, "outcome", kl_mat_outcome_name(t->outcome));
	kl_json_set_str(j, "how", *t->how ? t->how : NULL);
	kl_json_set_str(j, "why", *t->why ? t->why : NULL);
	kl_json_set_str(j, "speed", *t->speed ? t->speed : NULL);
	kl_json_set_int(j, "ratio_ppm", t->ratio.ppm);
	kl_json_set_str(j, "event", *t->event ? t->event : NULL);
	return j;
}

static void print_json(const struct session *s, const struct args *o)
{
	KL_AUTO(json_decrefp) json_t *j = json_object();
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	const struct kl_materialization *m = &s->m;
	json_t *list = json_array();
	char hex[KL_OID_HEX];

	for (size_t i = 0; i < m->n; i++)
		json_array_append_new(list, try_json(m, &m->v[i]));
	kl_json_set_str(j, "schema", "klineage.materialize/1");
	kl_json_set_str(j, "workload", s->sel.candidate->contract->workload);
	kl_json_set_str(j, "name", s->name);
	kl_json_set_bool(j, "dry_run", o->dry);
	kl_oid_hex(hex, &m->node[0].commit);
	kl_json_set_str(j, "root", hex);
	kl_oid_hex(hex, &m->node[m->best].commit);
	kl_json_set_str(j, "best", hex);
	kl_json_set_str(j, "branch", m->best || s->go_on ? m->branch : NULL);
	kl_json_set_int(j, "offered", (int64_t)m->offered);
	kl_json_set(j, "tries", list);
	kl_json_canonical(&b, j);
	puts(b.ptr);
}

static int print_patch(const struct session *s)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	git_oid from, to;
	int err = kl_repo_tree_of(&from, s->repo, &s->m.node[0].commit);

	if (!err)
		err = kl_repo_tree_of(&to, s->repo, &s->m.node[s->m.best].commit);
	if (!err)
		err = kl_repo_diff(&b, s->repo, &from, &to, NULL);
	if (!err && b.len)
		fwrite(b.ptr, 1, b.len, stdout);
	return err;
}

static int report(const struct session *s, const struct args *o)
{
	FILE *to = o->patch ? stderr : stdout;

	if (o->json) {
		print_json(s, o);
		return 0;
	}
	print_tries(to, &s->m);
	print_end(to, s, o->dry);
	return o->patch && s->m.best ? print_patch(s) : 0;
}

/* --- the verb --------------------------------------------------------------------------------------- */

static int open_library(struct session *s, const struct args *o)
{
	KL_AUTO(kl_library_freep) struct kl_library *lib = NULL;
	struct kl_repo *r = s->repo;
	int err = o->library ? kl_repo_open_at(&s->other, o->library) : 0;

	if (err)
		return kl_error_in(err, "--library '%s'", o->library);
	r = s->other ? s->other : r;
	if ((err = kl_taxonomy_load(&s->tax)) < 0 || (err = kl_library_open(&lib, r)) < 0)
		return err;
	if (!kl_library_count(lib)) {
		err = kl_error(KL_ENOTFOUND, "the library has no card%s%s", o->library ? " in " : "",
			       o->library ? o->library : "");
		return kl_error_hint(err, "git klineage lift, git klineage skills import and git klineage "
				     "sync bring cards; --library names another repository");
	}
	if ((err = kl_index_of(&s->index, r, lib, s->tax)) < 0)
		return err;
	if (kl_index_bad(s->index))
		fprintf(stderr, "warning: %zu card%s cannot be read and %s left: git klineage skills lint\n",
			kl_index_bad(s->index), kl_index_bad(s->index) == 1 ? "" : "s",
			kl_index_bad(s->index) == 1 ? "is" : "are");
	return 0;
}

static int open_gate(struct session *s, const struct args *o)
{
	struct kl_gate_opts opts = { .jail = o->jail, .platform = o->platform };
	int err = kl_repo_config_int(&opts.profile_ms, s->repo, "klineage.profileMs", 0);

	if (err < 0)
		return err;
	s->progress = o->quiet ? NULL : kl_progress_new(KL_PROGRESS_AUTO);
	opts.progress = s->progress;
	kl_progress_title(s->progress, "materialize %s", s->sel.candidate->contract->workload);
	return kl_gate_open(&s->gate, s->repo, &opts);
}

static int materialize(struct session *s, const struct args *o)
{
	unsigned statuses = 1u << KL_CARD_ADMITTED;
	int err = o->status ? kl_skills_statuses(&statuses, synopsis, o->status) : 0;

	if (err || (err = open_library(s, o)) < 0 || (err = select_root(s, o)) < 0 ||
	    (err = open_gate(s, o)) < 0 || (err = find_name(s, o)) < 0)
		return err;
	if (!kl_slug_ok(s->name))
		return kl_opt_usage(synopsis, "'%s' is no name: small letters, digits, '.', '_', '-'",
				    s->name);
	if (statuses != 1u << KL_CARD_ADMITTED)
		fprintf(stderr, "note: cards that are not admitted are used, too; each is named with its "
			"status\n");
	err = kl_materialize(&s->m, &(struct kl_materialize_opts){
		.repo = s->repo, .library = s->other ? s->other : s->repo, .index = s->index,
		.tax = s->tax, .gate = s->gate, .root = s->sel.candidate, .commit = s->commit,
		.name = s->name, .statuses = statuses, .platform = o->platform, .go_on = s->go_on,
		.dry = o->dry,
	});
	kl_progress_free(kl_steal(&s->progress));
	return err;
}

static int check_args(const struct args *o, int argc)
{
	if (argc > 1)
		return kl_opt_usage(synopsis, "one workload at a time");
	if (o->dry && (o->apply || o->patch))
		return kl_opt_usage(synopsis, "a dry run has no result to apply or print");
	if (o->json && o->patch)
		return kl_opt_usage(synopsis, "--json or --patch, not both");
	if (o->apply && o->root && !strcmp(o->root, "worktree"))
		return kl_opt_usage(synopsis, "--apply wants a committed root: commit first, or use --patch");
	return 0;
}

int cmd_materialize(struct kl_cmd_ctx *ctx, int argc, char **argv)
{
	KL_AUTO(session_release) struct session s = { .repo = ctx->repo };
	struct args o = { 0 };
	const struct kl_opt opts[] = {
		KL_OPT_BOOL('\0', "apply", &o.apply, "let the branch you stand on go forward to the result"),
		KL_OPT_BOOL('n', "dry-run", &o.dry, "say which cards would be tried, and whether they apply"),
		KL_OPT_STR('\0', "jail", &o.jail, "<level>", "auto, bwrap, landlock, chroot or none"),
		KL_OPT_STR('\0', "library", &o.library, "<path>", "cards of another repository"),
		KL_OPT_STR('\0', "name", &o.name, "<name>", "of the branch (default: of platform and root)"),
		KL_OPT_BOOL('\0', "patch", &o.patch, "print the result as a patch"),
		KL_OPT_STR('\0', "platform", &o.platform, "<id>", "judge for this one (cpu/x86-64-v2)"),
		KL_OPT_BOOL('q', "quiet", &o.quiet, "no progress on the terminal"),
		KL_OPT_STR('\0', "root", &o.root, "<rev>",
			   "begin at a revision, worktree or best (default: HEAD)"),
		KL_OPT_STR('\0', "status", &o.status, "<list>", "statuses of cards (default: admitted)"),
		KL_OPT_BOOL('\0', "json", &o.json, "print what came of each card as JSON"),
		KL_OPT_END
	};
	int err = kl_opt_parse(&argc, &argv, synopsis, opts);

	if (err || (err = check_args(&o, argc)) < 0)
		return err > 0 ? 0 : err;
	o.workload = argc ? argv[0] : NULL;
	if ((err = materialize(&s, &o)) < 0 || (err = report(&s, &o)) < 0)
		return err;
	if (o.dry)
		return s.m.offered ? 0 : 1;
	if (s.m.best && o.apply)
		err = kl_repo_fast_forward(s.repo, &s.m.node[s.m.best].commit);
	return err < 0 ? err : s.m.best ? 0 : 1;
}

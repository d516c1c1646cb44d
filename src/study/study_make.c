/* SPDX-License-Identifier: Apache-2.0 */
/* study_make - finds the kernels, policies and prices that the plan of a study names */
#include <string.h>

#include "apply/card_commit.h"
#include "apply/oracle_kernel.h"
#include "base/error.h"
#include "contract/checkout.h"
#include "contract/select.h"
#include "event/event.h"
#include "lineage/view.h"
#include "model/money.h"
#include "model/price.h"
#include "model/provider/provider.h"
#include "search/policy/policy.h"
#include "study/study_parts.h"

/* --- tasks ----------------------------------------------------------------------------------- */

static void take_surface(struct kl_study_task *out, const struct kl_surface *surface)
{
	out->workload = kl_strdup(surface->contract->workload);
	out->place = kl_strdup(surface->place);
	snprintf(out->surface, sizeof(out->surface), "%s", surface->digest);
	snprintf(out->contract, sizeof(out->contract), "%s", surface->contract_digest);
}

static int take_revision(struct kl_study_task *out, struct kl_repo *repo, const char *rev,
			 const char *workload)
{
	KL_AUTO(kl_selection_release) struct kl_selection selection = { 0 };
	int err = kl_select(&selection, repo, KL_STATE_REV, rev, workload);

	if (!err)
		err = kl_checkout_check(repo, selection.candidate, selection.kind, &selection.tree);
	if (err < 0)
		return err;
	out->root = selection.commit;
	take_surface(out, selection.candidate);
	return 0;
}

/* Make a kernel of the contract's oracle, and commit it. */
static int take_baseline(struct kl_study_task *out, struct kl_repo *repo, const char *workload)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *place = NULL;
	git_oid head, tree;
	int err;

	if ((err = kl_repo_resolve(&head, repo, "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&tree, repo, &head)) < 0 ||
	    (err = kl_select_place(&place, repo, &tree, workload)) < 0 ||
	    (err = kl_reference_make(&surface, repo, &tree, place)) < 0 ||
	    (err = kl_card_commit_root(&out->root, repo, &head, surface, true)) < 0)
		return err;
	take_surface(out, surface);
	return 0;
}

static int take_lineage(struct kl_study_task *out, struct kl_repo *repo,
			const struct kl_planned_task *task)
{
	KL_AUTO(kl_view_release) struct kl_view view = { 0 };
	const char *slash = strchr(task->lineage, '/');
	KL_AUTO(kl_freep) char *workload = kl_strndup(task->lineage,
						      (size_t)(slash - task->lineage));
	char hex[KL_OID_HEX];
	size_t at = 0;
	int err = kl_view_load(&view, repo, workload, slash + 1);

	if (!err && strcmp(task->root, "first") != 0)
		err = kl_view_find(&at, &view, repo, task->root);
	if (err < 0)
		return err;
	out->lineage = kl_strdup(task->lineage);
	out->expert = view.step[view.n - 1].commit;
	kl_oid_hex(hex, &view.step[at].commit);
	return take_revision(out, repo, hex, workload);
}

static int take_task(struct kl_study_task *out, struct kl_repo *repo,
		     const struct kl_planned_task *task)
{
	int err;

	out->id = kl_strdup(task->id);
	if (task->lineage)
		err = take_lineage(out, repo, task);
	else if (!strcmp(task->root, "baseline"))
		err = take_baseline(out, repo, task->workload);
	else
		err = take_revision(out, repo, task->root, task->workload);
	if (!err && task->table)
		err = kl_study_take_table(out, task->table);
	return err < 0 ?
		       kl_error_in(err == KL_ECANNOT ? KL_ENOTFOUND : err, "task '%s'", task->id) :
		       0;
}

/* --- arms ------------------------------------------------------------------------------------ */

static int unknown_policy(const char *name)
{
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;

	for (size_t i = 0; kl_policies[i]; i++)
		kl_buf_addf(&names, "%s%s", i ? ", " : "", kl_policies[i]->name);
	return kl_error(KL_EINVALID, "there is no policy '%s'; there are: %s", name, names.ptr);
}

/* Return the skill of the simulated model with this policy, or NULL. */
static const char *skill_of(const struct kl_planned_arm *arm, const struct kl_study_plan *plan)
{
	const char *usual = strcmp(plan->provider, "table") ? NULL : "middling";

	return arm->skill ? arm->skill : plan->skill ? plan->skill : usual;
}

static int take_arm(struct kl_study_arm *out, const struct kl_planned_arm *arm,
		    const struct kl_study_plan *plan)
{
	const struct kl_policy *policy = kl_policy_find(arm->policy);
	const char *skill = skill_of(arm, plan);
	struct kl_setup *setup = &out->setup;
	int err = 0;

	out->id = kl_strdup(arm->id);
	out->skill = skill ? kl_strdup(skill) : NULL;
	if (!policy)
		return unknown_policy(arm->policy);
	kl_setup_init(setup, policy);
	setup->candidates = plan->candidates;
	setup->width = plan->width;
	if (arm->preset)
		err = kl_setup_preset(setup, arm->preset);
	for (size_t i = 0; !err && i < arm->with.n; i++)
		err = kl_setup_set(setup, arm->with.v[i].name, arm->with.v[i].text);
	return err < 0 ? kl_error_in(KL_EINVALID, "'%s'", arm->id) : 0;
}

/* --- the study ------------------------------------------------------------------------------- */

/* Check now, not after the first cells, that the model's requests can be paid. */
static int check_model(const struct kl_study *study, struct kl_repo *repo)
{
	KL_AUTO(kl_price_freep) struct kl_price *price = NULL;
	KL_AUTO(kl_provider_freep) struct kl_provider *provider = NULL;
	struct kl_provider_opts opts = { .name = study->provider };
	int err;
	bool free = !strcmp(study->provider, "exec") || !strcmp(study->provider, "replay") ||
		    !strcmp(study->provider, "table");

	if (free)
		return 0;
	if ((err = kl_provider_open(&provider, repo, &opts)) < 0)
		return err;
	if (!study->model)
		return kl_error(KL_EINVALID, "provider '%s' needs the 'name' of a model",
				study->provider);
	return kl_price_find(&price, repo, study->model);
}

static void take_settings(struct kl_study *out, const struct kl_study_plan *plan)
{
	out->name = kl_strdup(plan->name);
	out->seeds = plan->seeds;
	out->candidates = plan->candidates;
	out->provider = kl_strdup(plan->provider);
	out->model = plan->model ? kl_strdup(plan->model) : NULL;
	out->judge = kl_strdup(plan->judge);
	out->version = kl_strdup(KL_VERSION);
	out->policy = KL_GATE_POLICY;
	out->final = plan->final;
	out->sd = plan->sd;
	out->threshold.v = kl_calloc(plan->threshold.n + 1, sizeof(*out->threshold.v));
	out->threshold.n = plan->threshold.n;
	memcpy(out->threshold.v, plan->threshold.v, plan->threshold.n * sizeof(*out->threshold.v));
	kl_money_parse(&out->cap, plan->usd);
}

int kl_study_make(struct kl_study *out, struct kl_repo *repo, const struct kl_study_plan *plan)
{
	int err = 0;

	*out = (struct kl_study){ 0 };
	take_settings(out, plan);
	out->task = kl_calloc(plan->task.n, sizeof(*out->task));
	out->arm = kl_calloc(plan->arm.n, sizeof(*out->arm));
	while (!err && out->narm < plan->arm.n) {
		size_t i = out->narm++;

		err = take_arm(&out->arm[i], &plan->arm.v[i], plan);
	}
	while (!err && out->ntask < plan->task.n) {
		size_t i = out->ntask++;

		err = take_task(&out->task[i], repo, &plan->task.v[i]);
	}
	if (err < 0 || (err = kl_study_check_judging(out)) < 0 ||
	    (err = kl_study_check_names(out)) < 0)
		return err;
	if (out->cap > KL_MONEY_MAX / (int64_t)kl_study_cells(out))
		return kl_error(KL_EINVALID,
				"%zu cells at $%s each may cost more than a million "
				"dollars; lower 'usd'",
				kl_study_cells(out), plan->usd);
	return check_model(out, repo);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/label_list.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/cli/listing.h"
#include "cmd/cli/table.h"
#include "learn/transition.h"
#include "rewrite/naming/naming.h"

/* How one step is named. */
struct named {
	const struct kl_transition *t;
	bool known;   /* its mechanism is in templates/mechanisms.yaml */
	bool moved;   /* a primary fact of that mechanism moved, or a primary trait is claimed */
	bool refuted; /* the sources contradict the name */
	struct kl_naming naming;
};

struct list {
	struct kl_transitions t;
	struct kl_mechanisms mechanisms;
	struct named *v;
};

static void list_release(struct list *list)
{
	for (size_t i = 0; list->v && i < list->t.n; i++)
		kl_naming_release(&list->v[i].naming);
	free(list->v);
	kl_transitions_release(&list->t);
	kl_mechanisms_release(&list->mechanisms);
}

/* Fill the facts of both states: features, and the traits that the step claims to have removed. */
static void read_sides(struct kl_facts *had, struct kl_facts *has, const struct kl_transition *t)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec traits = KL_STRVEC_INIT;

	*had = *has = (struct kl_facts){ .traits = { .free_value = free } };
	kl_strvec_copy(&has->features, &t->had);
	kl_strvec_minus(&had->features, &t->had, &t->lost);
	kl_strvec_copy(&had->features, &t->gained);
	kl_strvec_sort(&had->features);
	kl_strvec_split(&traits, t->step.trait ? t->step.trait : "", ", ");
	for (size_t i = 0; i < traits.n; i++) {
		kl_map_put(&had->traits, traits.v[i], kl_strdup("yes"));
		kl_map_put(&has->traits, traits.v[i], kl_strdup("no"));
	}
}

static void name_step(struct named *out, const struct kl_mechanisms *mechanisms,
		      const struct kl_transition *t)
{
	KL_AUTO(kl_facts_release) struct kl_facts had = { 0 }, has = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
	const struct kl_mechanism *mechanism = t->step.mechanism ?
						       kl_mechanisms_find(mechanisms,
									  t->step.mechanism) :
						       NULL;
	struct kl_naming_sides sides = {
		.fast = t->to->file,
		.nfast = t->to->nfile,
		.plain = t->from->file,
		.nplain = t->from->nfile,
		.had = &had,
		.has = &has,
		.mechanisms = mechanisms,
	};

	read_sides(&had, &has, t);
	out->t = t;
	out->known = mechanism != NULL;
	out->moved = mechanism && kl_facts_moved(&why, mechanism, &had, &has);
	out->refuted = mechanism && kl_naming_refutes(&why, &sides, mechanism);
	kl_naming_find(&out->naming, &sides);
}

static const char *found_name(const struct named *named)
{
	return named->naming.mechanism ? named->naming.mechanism->name : NULL;
}

static void print_json(const struct list *list)
{
	KL_AUTO(json_decrefp) json_t *value = json_object();
	json_t *steps = json_array();

	for (size_t i = 0; i < list->t.n; i++) {
		const struct named *named = &list->v[i];
		json_t *step = json_object();

		kl_json_set_str(step, "lineage", named->t->lineage);
		kl_json_set_int(step, "step", named->t->step.number);
		kl_json_set_str(step, "mechanism", named->t->step.mechanism);
		kl_json_set_str(step, "delta", named->t->step.delta);
		kl_json_set_bool(step, "labelled", named->t->labelled);
		kl_json_set_bool(step, "moved", named->moved);
		kl_json_set_bool(step, "refuted", named->refuted);
		kl_json_set_str(step, "found", found_name(named));
		kl_json_set_int(step, "confidence_ppm", (int64_t)named->naming.percent * 10000);
		kl_json_set_str(step, "evidence", named->naming.evidence.ptr);
		json_array_append_new(steps, step);
	}
	kl_json_set_str(value, "schema", "klineage.label-list/1");
	kl_json_set(value, "steps", steps);
	kl_listing_put(value);
}

static void print_summary(const struct list *list)
{
	size_t known = 0, unmoved = 0, refuted = 0, same = 0, other = 0;

	for (size_t i = 0; i < list->t.n; i++) {
		const struct named *named = &list->v[i];
		const char *found = found_name(named);

		known += named->known;
		unmoved += named->known && !named->moved;
		refuted += named->refuted;
		same += named->known && found && !strcmp(found, named->t->step.mechanism);
		other += named->known && found && strcmp(found, named->t->step.mechanism);
	}
	printf("%zu steps, %zu with a mechanism: no primary fact of %zu changed, and the sources "
	       "contradict %zu\n",
	       list->t.n, known, unmoved, refuted);
	printf("sources and facts give %zu of them the same name, %zu another name, %zu no name\n",
	       same, other, known - same - other);
}

static void print_table(const struct list *list)
{
	static const char *const head[] = { "step",  "mechanism", "moved", "by sources and facts",
					    "delta", "evidence" };
	KL_AUTO(kl_table_release) struct kl_table table = { .columns = KL_ARRAY_SIZE(head) };

	kl_table_row(&table, head);
	for (size_t i = 0; i < list->t.n; i++) {
		const struct named *named = &list->v[i];
		const struct kl_step *step = &named->t->step;
		const char *found = found_name(named);
		KL_AUTO(kl_freep) char *where = kl_asprintf("%s %d", named->t->lineage,
							    step->number);
		KL_AUTO(kl_freep) char *name = kl_asprintf("%s%s",
							   step->mechanism ? step->mechanism : "-",
							   named->t->labelled ? " (label)" : "");
		KL_AUTO(kl_freep) char *by = found ? kl_asprintf("%s 0.%02d", found,
								 named->naming.percent) :
						     kl_strdup("-");

		kl_table_row(&table, (const char *[]){ where, name,
						       !named->known ? "-" :
						       named->moved  ? "yes" :
								       "no",
						       by, step->delta ? step->delta : "-",
						       found ? named->naming.evidence.ptr : "" });
	}
	kl_table_print(&table);
}

int kl_label_list(struct kl_repo *repo, int n, char **what, bool json)
{
	KL_AUTO(list_release) struct list list = { 0 };
	int err = kl_mechanisms_load_shipped(&list.mechanisms);

	if (!err && !n)
		err = kl_transitions_load(&list.t, repo, NULL);
	for (int i = 0; !err && i < n; i++)
		err = kl_transitions_load(&list.t, repo, what[i]);
	if (err < 0)
		return err;
	list.v = kl_calloc(list.t.n + 1, sizeof(*list.v));
	for (size_t i = 0; i < list.t.n; i++)
		name_step(&list.v[i], &list.mechanisms, &list.t.v[i]);
	if (json) {
		print_json(&list);
		return 0;
	}
	print_table(&list);
	print_summary(&list);
	return 0;
}

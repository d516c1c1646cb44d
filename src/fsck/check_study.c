/* SPDX-License-Identifier: Apache-2.0 */
/* check_study - checks studies: the frozen plan, and that chains and ends are those of its cells */
#include <string.h>

#include "base/error.h"
#include "base/prefix.h"
#include "fsck/parts.h"
#include "repo/refs.h"
#include "study/final.h"

#define END "end/"

/* The chains themselves are checked as those of all searches are. */
static void check_cells(struct kl_checker *checker, const struct kl_study *study, const char *ref)
{
	for (size_t i = 0; i < kl_study_cells(study); i++) {
		KL_AUTO(kl_standing_release) struct kl_standing standing = { 0 };
		struct kl_study_cell cell;

		kl_study_cell(&cell, study, i);
		if (kl_standing_load(&standing, checker->c->repo, study, &cell) < 0)
			kl_check_report_error(checker, ref);
	}
}

static void check_tables(struct kl_checker *checker, const struct kl_study *study, const char *ref)
{
	for (size_t i = 0; i < study->ntask; i++) {
		KL_AUTO(kl_search_table_freep) struct kl_search_table *table = NULL;

		if (*study->task[i].table &&
		    kl_study_table(&table, checker->c->repo, study, &study->task[i]) < 0)
			kl_check_report_error(checker, ref);
	}
}

static void check_leaf(struct kl_checker *checker, const char *ref)
{
	const char *name = ref + strlen(KL_STUDY_REFS), *leaf = strchr(name, '/');
	KL_AUTO(kl_freep) char *study_name = kl_strndup(name, strcspn(name, "/"));
	KL_AUTO(kl_study_release) struct kl_study study = { 0 };
	struct kl_study_cell cell;

	if (kl_study_load(&study, checker->c->repo, study_name) < 0) {
		kl_check_report_error(checker, ref);
		return;
	}
	leaf += leaf ? 1 : 0;
	if (leaf && !strcmp(leaf, "plan")) {
		checker->c->studies++;
		check_tables(checker, &study, ref);
		check_cells(checker, &study, ref);
	} else if (leaf && !strcmp(leaf, "final")) {
		KL_AUTO(kl_final_release) struct kl_final final = { 0 };

		if (kl_final_load(&final, checker->c->repo, &study) < 0)
			kl_check_report_error(checker, ref);
	} else if (!leaf || !kl_prefix_has(leaf, END) ||
		   kl_study_find_cell(&cell, &study, leaf + strlen(END)) < 0) {
		kl_check_report(checker, KL_CHECK_ERROR, ref, "the study has no such cell");
		kl_error_clear();
	}
}

int kl_check_studies(struct kl_checker *checker)
{
	KL_AUTO(kl_ref_list_release) struct kl_ref_list list = { 0 };
	int err = kl_refs_list(&list, checker->c->repo, KL_STUDY_REFS);

	for (size_t i = 0; !err && i < list.n; i++)
		check_leaf(checker, list.ref[i].name);
	return err;
}

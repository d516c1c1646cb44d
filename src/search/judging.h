/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_JUDGING_H
#define KL_SEARCH_JUDGING_H

#include "event/judgement.h"
#include "search/policy/draw.h"
#include "search/table/skill.h"
#include "search/table/table.h"

/*
 * judging - settings of a search: whether the gate judges its candidates, or a table that was built
 * before (search/table/table.h). They are stored in the plan of the search, cell.json, with the
 * digest of the table, and a search that is continued keeps them.
 *
 *	real		the gate judges
 *	recorded	the table has the verdict; a kernel that it lacks is an error that names it
 *	noisy		the same, but a speed is drawn within its interval, for each ticket
 *
 * With a table the model can be simulated as well (search/table/player.h); its skill is stored, too.
 *
 * What is found with a table is never written as an event of the gate.
 */
enum kl_judging_mode { KL_JUDGING_REAL, KL_JUDGING_RECORDED, KL_JUDGING_NOISY };
#define KL_JUDGING_MODES (KL_JUDGING_NOISY + 1)
extern const char *const kl_judging_name[KL_JUDGING_MODES];

struct kl_judging {
	enum kl_judging_mode mode;
	const struct kl_search_table *table; /* NULL only if the mode is real; borrowed */
	/* of the simulated model that answers, provider `table`; NULL: another model answers */
	const struct kl_skill *skill;
};

/** Find the mode of this name. Return KL_EUSAGE if there is none. */
int kl_judging_parse(enum kl_judging_mode *out, const char *name);
/**
 * Look up the verdict on a kernel, compared with `root`. The caller frees *out. Return KL_ECANNOT if
 * the table lacks one of the two; the message names the kernel.
 */
int kl_judging_find(struct kl_judgement **out, const struct kl_judging *judging,
		    const struct kl_surface *surface, const struct kl_surface *root,
		    const struct kl_draws *draws);
/**
 * As kl_judging_find() for the digests of the sources: the event, which the table's state names.
 */
int kl_judging_event(struct kl_event **out, const struct kl_judging *judging, const char *surface,
		     const char *root, const struct kl_draws *draws);

#endif

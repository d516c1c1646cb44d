/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_FAKE_H
#define KL_TRANSPLANT_FAKE_H

/*
 * transplant_fake - lineages for tests of transplants, judged by the gate of lineage_fake.h. The
 * kernel has the regions a to f, each some lines apart from the next; a state is the words in the
 * comments of its regions.
 */
#include "lineage_fake.h"
#include "transplant/prune.h"
#include "transplant/relations.h"

#define REGIONS 6

struct fake_transplant {
	struct fake gate;
	int anew;        /* number of calls of the judge that ignores known verdicts */
	int unconfirmed; /* so many of these calls find the kernel slow */
	bool runs;       /* a kernel that lacks what it needs compiles, and is wrong */
	bool session;    /* events are those of a lineage that is read forward */
};

/* begin a repository with a lineage of no state yet */
static inline char *fake_lineage(const char *name)
{
	char *dir = scratch_dir(name);

	sh(dir,
	   "git init -q -b work . && printf '%s' >klineage.yaml && echo 'void copy(void) {}' >oracle.c "
	   "&& git add .",
	   fake_contract);
	return dir;
}

/*
 * Add a state: the words of each region, "" for an empty region. `mechanism` NULL: it is K_0. The
 * lineage is copy/x.
 */
static inline void fake_state(const char *dir, int number, const char *mechanism,
			      const char *const region[REGIONS])
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/copy.c", dir);
	KL_AUTO(kl_freep) char *trailers = NULL;

	for (int i = 0; i < REGIONS; i++)
		kl_buf_addf(&text, "/* region %d */\n/* begins */\n/* %s */\n/* ends */\n", i,
			    region[i]);
	kl_buf_adds(&text, "void copy(void) {}\n");
	assert_ok(kl_fs_write(path, text.ptr, text.len));
	trailers = mechanism ? kl_asprintf("restore %s\n\nKlineage-Action: drop-%s\n"
					   "Klineage-Mechanism: %s\nKlineage-Derivation: inverse\n"
					   "Klineage-Delta: clean",
					   mechanism, mechanism, mechanism) :
			       kl_strdup("K_0 of copy\n\nKlineage-Workload: copy\n"
					 "Klineage-Platform: cpu/x86-64-v3\n"
					 "Klineage-Termination: complete");
	sh(dir,
	   "git add . && git commit -q -F - <<'EOF'\n%s\nKlineage-Direction: forward\n"
	   "Klineage-Step: %d\nEOF\ngit update-ref refs/heads/klineage/lineage/copy/x HEAD",
	   trailers, number);
}

/* the gate, with the policy of today, so that its events count */
static inline int fake_transplant_judge(struct kl_judgement **out,
					const struct kl_surface *candidate,
					const struct kl_surface *parent, void *payload)
{
	struct fake_transplant *fake = payload;
	int err = fake_judge(out, candidate, parent, &fake->gate);

	if (err < 0)
		return err;
	(*out)->event->policy = KL_GATE_POLICY;
	(*out)->event->place.id = "cpu/x86-64-v3";
	(*out)->event->session.there = fake->session;
	if (fake->runs && (*out)->event->failure == KL_FAILURE_COMPILE)
		kl_event_set_class((*out)->event, "wrong-all");
	kl_event_seal((*out)->event);
	return 0;
}

static inline int fake_transplant_anew(struct kl_judgement **out,
				       const struct kl_surface *candidate,
				       const struct kl_surface *parent, void *payload)
{
	struct fake_transplant *fake = payload;
	int err = fake_transplant_judge(out, candidate, parent, payload);

	if (!err && fake->anew++ < fake->unconfirmed && (*out)->event->profile.vs.n) {
		struct kl_comparison *against = &(*out)->event->profile.vs.v[0];

		against->ratio = (struct kl_ratio){ 800000, 790000, 810000 };
		against->speed = KL_SPEED_SLOW;
		kl_event_seal((*out)->event);
	}
	return err;
}

static inline struct kl_transplant_opts fake_transplant_opts(struct fake_transplant *fake)
{
	return (struct kl_transplant_opts){ .judge = fake_transplant_judge,
					    .judge_anew = fake_transplant_anew,
					    .payload = fake };
}

#endif

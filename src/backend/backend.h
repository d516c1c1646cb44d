/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_BACKEND_H
#define KL_BACKEND_BACKEND_H

#include "backend/artefact.h"
#include "backend/oracle.h"
#include "event/platform.h"
#include "event/vocabulary.h"
#include "jail/jail.h"
#include "job/job.h"
#include "repo/repo.h"

/*
 * backend - how the kernels of one language are compiled and judged: a row for each row of
 * contract/language.h. Who has a kernel asks its row; nobody asks which language it is.
 *
 *	row = kl_backend_of(surface->contract);
 *	row->open(&state, &session);			once a session
 *	row->prepare(state, surface);
 *	row->compile(&artefact, &class_, state, surface, dir);
 *	row->close(state);
 *
 * A new language is a folder of backend/ with its row, a row in contract/, and a line in each of
 * two tables (backend.c, contract/language.c).
 */

/* What a session lends to its backends; all borrowed. */
struct kl_backend_session {
	const struct kl_jail *jail;
	struct kl_repo *repo; /* NULL: no settings, nothing outlives the session */
	const char *dir;      /* private scratch */
	const char *platform; /* asked for; NULL: none is */
};

/* The device that kernels run on, as far as this machine shows it without opening it. */
struct kl_backend_device {
	const char *name; /* in messages: "GPU" */
	bool (*is_shown)(void);
	/** Which ones, and their driver: part of a verdict's key. "" where none is shown. */
	void (*list)(char *out, size_t size);
	const char *const *environment; /* variables of its libraries; NULL at the end */
};

/* What a job has of kernels, for backend->describe. */
struct kl_backend_job {
	const struct kl_contract *contract;
	const struct kl_platform *platform;
	const struct kl_artefact *candidate, *parent, *baseline; /* NULL: none */
	const struct kl_launch *oracle; /* plan of the oracle; NULL: it has none */
};

struct kl_backend {
	const struct kl_language *language;
	const char *object;                  /* suffix of what an oracle is compiled to: "so" */
	const struct kl_oracle_words *words; /* NULL: no oracle can be made a kernel */

	/* --- judging */
	enum kl_job_surface surface; /* who calls its kernels */
	/* how well a run is confined; OTHER: as the run jail does */
	enum kl_tier tier;
	bool walled;   /* its own host code runs, behind the worker's wall */
	bool counters; /* the hardware's counters can be read of a kernel */
	const struct kl_backend_device *device; /* NULL: kernels run on the processor */
	/** Rates beyond any such machine: a time below the floor that they give is none. */
	struct {
		int64_t bytes_per_ns, flops_per_ns;
	} peak;
	/** Set in a job how its kernels are called. */
	void (*describe)(struct kl_job *job, const struct kl_backend_job *of);

	/* --- platforms */
	const char *platforms;              /* in messages: "cuda/sm_<number>" */
	bool (*owns)(const char *platform); /* is that its own? */
	/** A kernel itself names the platform that it is for; else it is that of the machine. */
	bool own_platform;
	/** The platform that a kernel would be judged on; `asked`: klineage.platform, or NULL. */
	int (*guess)(char **id, const struct kl_surface *surface, const char *asked);
	/** What is known of its devices. NULL: nothing. */
	int (*limits)(struct kl_plan_facts *out, const char *platform);
	/** The same kernel for another platform that it owns. KL_ENO says why there is none. */
	int (*port)(struct kl_surface **out, const struct kl_surface *surface,
		    const char *platform);

	/* --- a session; `state` is the backend's own */
	/** Refuse a platform that is asked for and cannot be had here: KL_EINVALID, KL_ECANNOT. */
	int (*open)(void **state, const struct kl_backend_session *session);
	void (*close)(void *state);
	/**
	 * Where a kernel is judged; the device may not be known yet. `surface` may be NULL unless
	 * `own_platform`. KL_ECANNOT: no compiler, or another platform is asked for.
	 */
	int (*platform)(struct kl_platform *out, void *state, const struct kl_surface *surface);
	/** Find or make whatever compiling needs. KL_ECANNOT says what is missing. */
	int (*prepare)(void *state, const struct kl_surface *surface);

	/* --- compiling, once prepared: several threads at once, each with its own directory */
	/** Compile and audit. KL_ENO and *class_: it is refused, and the message says why. */
	int (*compile)(struct kl_artefact **out, const char **class_, const void *state,
		       const struct kl_surface *surface, const char *dir);
	/**
	 * An oracle in one arithmetic, as `dir`/<kl_oracle_name>.<object>. `launch`: its plan, NULL
	 * where it has none. KL_ECANNOT, KL_EINVALID: it is not written, or refused.
	 */
	int (*oracle)(const void *state, const struct kl_surface *surface,
		      const struct kl_launch *launch, enum kl_oracle which, const char *dir);
	/** Add to a key all that an oracle's object depends on beside the contract and its plan. */
	int (*recipe)(struct kl_digest *key, const void *state);
	/**
	 * The contract's baseline, where it is a kernel of ours, for machine code `march`.
	 * KL_ENOTFOUND (no message): it is none; KL_ECANNOT: it cannot be had. NULL: none ever is.
	 */
	int (*baseline)(struct kl_artefact **out, const void *state,
			const struct kl_surface *surface, const char *march, const char *dir);
};

struct kl_backends {
	const struct kl_backend *row[KL_LANGUAGES_MAX + 1]; /* NULL at the end */
};

/** Those of this program. */
extern const struct kl_backends kl_backends;
extern const struct kl_backend kl_backend_c, kl_backend_cuda, kl_backend_cuda_host;

/** Of a contract that was read with kl_languages. */
const struct kl_backend *kl_backend_of(const struct kl_contract *contract);
/** The same of a table; KL_ECANNOT: the contract's language has no row there. */
int kl_backend_find(const struct kl_backend **out, const struct kl_backends *all,
		    const struct kl_contract *contract);
/** Has an event of that platform and tier host code that ran behind a wall? */
bool kl_backend_is_walled(const struct kl_backends *all, const char *platform, enum kl_tier tier);
/** The first that owns the platform; KL_EINVALID names those there are. */
int kl_backend_owner(const struct kl_backend **out, const struct kl_backends *all,
		     const char *platform);

#endif

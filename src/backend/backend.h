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
 * backend - how the kernels of one language are compiled and judged: a table with one row for each
 * row of contract/language.h. A caller looks up the row of its kernel and uses the row's functions,
 * instead of testing for a particular language.
 *
 *	row = kl_backend_of(surface->contract);
 *	row->open(&state, &session);			once per session
 *	row->prepare(state, surface);
 *	row->compile(&artefact, &class_, state, surface, dir);
 *	row->close(state);
 *
 * To add a language, add a folder in backend/ with its row, a row in contract/, and one line to
 * each of two tables (backend.c, contract/language.c).
 */

/* The resources of a session that its backends use; all borrowed. */
struct kl_backend_session {
	const struct kl_jail *jail;
	struct kl_repo *repo; /* NULL to read no settings, and cache nothing after the session */
	const char *dir;      /* private scratch directory */
	const char *platform; /* the requested platform; NULL if there is none */
};

/* The devices that kernels run on, detected on this machine without opening them. */
struct kl_backend_device {
	const char *name; /* the word for such a device in messages: "GPU" */
	bool (*is_shown)(void);
	/**
	 * Write a text that identifies the devices and their driver, which becomes part of a
	 * verdict's key. Write "" if the machine has no such device.
	 */
	void (*list)(char *out, size_t size);
	/* environment variables that the device's libraries read; NULL-terminated */
	const char *const *environment;
};

/* The kernels of a job, as passed to backend->describe. */
struct kl_backend_job {
	const struct kl_contract *contract;
	const struct kl_platform *platform;
	const struct kl_artefact *candidate, *parent, *baseline; /* NULL if there is none */
	const struct kl_launch *oracle; /* the oracle's launch plan; NULL if it has none */
};

struct kl_backend {
	const struct kl_language *language;
	const char *object;                  /* file suffix of a compiled oracle: "image" */
	const struct kl_oracle_words *words; /* NULL if an oracle cannot be made into a kernel */

	/*
	 * --- how kernels are run and judged
	 */
	enum kl_job_surface surface; /* how the worker calls a kernel */
	/* tier of every run; KL_TIER_OTHER if it depends on the level of the run jail */
	enum kl_tier tier;
	/* the kernel has host code, which runs behind the worker's wall (worker/gpu/wall.h) */
	bool walled;
	/* hardware counters can be read while a kernel runs */
	bool counters;
	const struct kl_backend_device *device; /* NULL if kernels run on the CPU */
	/**
	 * Rates that no machine of this kind reaches. They give the shortest possible time of a
	 * call; a measured time below that is invalid.
	 */
	struct {
		int64_t bytes_per_ns, flops_per_ns;
	} peak;
	/** Return true if a kernel can have a feature of this name (docs/formats.md). */
	bool (*has_feature)(const char *name);
	/** Set the members of a job that say how its kernels are called. */
	void (*describe)(struct kl_job *job, const struct kl_backend_job *of);

	/*
	 * --- the platforms of the backend
	 */
	/* the names of its platforms, for messages: "cuda/sm_<number>" */
	const char *platforms;
	bool (*owns)(const char *platform); /* true if this backend has a platform of that name */
	/**
	 * True if each kernel names its platform. False if kernels do not name a platform, and all
	 * kernels of a session have the same one.
	 */
	bool own_platform;
	/**
	 * Find the platform that a kernel would be judged on; the caller frees *id. `asked` is the
	 * value of klineage.platform; NULL if it is not set.
	 */
	int (*guess)(char **id, const struct kl_surface *surface, const char *asked);
	/** Get the limits of a platform's devices. The function is NULL if there are no limits. */
	int (*limits)(struct kl_plan_facts *out, const char *platform);
	/**
	 * Retarget a kernel to another platform of this backend. Return KL_ENO if it cannot be
	 * retargeted. The message says why.
	 */
	int (*port)(struct kl_surface **out, const struct kl_surface *surface,
		    const char *platform);

	/**
	 * Name the tools of this machine that compile kernels, such as "gcc 12.2.0, on
	 * cpu/x86-64-v3"; the caller frees *out. If `repo` is NULL, read no settings. Return
	 * KL_ECANNOT if there are none.
	 */
	int (*tools)(char **out, struct kl_repo *repo);

	/*
	 * --- functions for a session; `state` belongs to the backend
	 */
	/**
	 * Start a session. Return KL_EINVALID if the requested platform is unknown; return
	 * KL_ECANNOT if this machine cannot run it.
	 */
	int (*open)(void **state, const struct kl_backend_session *session);
	void (*close)(void *state);
	/**
	 * Get the platform that a kernel is judged on; its `device` can still be unknown. `surface`
	 * can be NULL unless `own_platform` is set. Return KL_ECANNOT if there is no compiler, or
	 * another platform was requested.
	 */
	int (*platform)(struct kl_platform *out, void *state, const struct kl_surface *surface);
	/**
	 * Find or build the tools and libraries that are needed to compile kernels. Return
	 * KL_ECANNOT if one of them is missing. The message names it.
	 */
	int (*prepare)(void *state, const struct kl_surface *surface);

	/*
	 * --- compiling, after prepare(); any thread can call these with a `dir` of its own
	 */
	/**
	 * Compile and audit a kernel. Return KL_ENO if the kernel is refused; *class_ is set to the
	 * class of the verdict, and the message says why.
	 */
	int (*compile)(struct kl_artefact **out, const char **class_, const void *state,
		       const struct kl_surface *surface, const char *dir);
	/**
	 * Compile an oracle in one arithmetic to `dir`/<kl_oracle_name>.<object>. `launch` is the
	 * oracle's launch plan, or NULL if it has none. Return KL_ECANNOT if the oracle is not
	 * written yet; return KL_EINVALID if it does not compile, or the audit refuses it.
	 */
	int (*oracle)(const void *state, const struct kl_surface *surface,
		      const struct kl_launch *launch, enum kl_oracle which, const char *dir);
	/**
	 * Add to a key everything that a compiled oracle depends on, except the contract and the
	 * oracle's launch plan.
	 */
	int (*recipe)(struct kl_digest *key, const void *state);
	/**
	 * Compile the contract's baseline for the architecture `march` ("sm_90"), if the source of
	 * the baseline is shipped with this program. Return KL_ENOTFOUND, without a message, if it
	 * is not shipped, and KL_ECANNOT if it cannot be compiled here. `kept` is the object from
	 * an earlier session; if it is NULL, compile the source in `dir`. The function is NULL if
	 * this backend has no shipped baselines.
	 */
	int (*baseline)(struct kl_artefact **out, const void *state,
			const struct kl_surface *surface, const char *march, const char *dir,
			const char *kept);
	/**
	 * Add to a key everything that a compiled baseline depends on, except the contract and the
	 * architecture. Errors are those of baseline().
	 */
	int (*baseline_recipe)(struct kl_digest *key, const void *state,
			       const struct kl_surface *surface);
};

struct kl_backends {
	const struct kl_backend *row[KL_LANGUAGES_MAX + 1]; /* NULL-terminated */
};

/** All backends of this program. */
extern const struct kl_backends kl_backends;
extern const struct kl_backend kl_backend_c, kl_backend_cpp, kl_backend_cuda, kl_backend_cuda_host;

/** Return the backend of a contract that was read with kl_languages. Never NULL. */
const struct kl_backend *kl_backend_of(const struct kl_contract *contract);
/**
 * Look up a contract's backend in a table. Return KL_ECANNOT if the table has no row for its
 * language.
 */
int kl_backend_find(const struct kl_backend **out, const struct kl_backends *all,
		    const struct kl_contract *contract);
/**
 * Return true if events with this platform and tier are about kernels whose host code ran behind
 * the worker's wall (worker/gpu/wall.h).
 */
bool kl_backend_is_walled(const struct kl_backends *all, const char *platform, enum kl_tier tier);
/**
 * Find the first backend that owns a platform. Return KL_EINVALID if none does. The message lists
 * the known platforms.
 */
int kl_backend_owner(const struct kl_backend **out, const struct kl_backends *all,
		     const char *platform);

#endif

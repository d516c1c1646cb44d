/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/gate.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "event/runner_device.h"
#include "gate/gate_parts.h"

static const char *read_setting(struct kl_gate *gate, const char *asked, const char *key)
{
	if (asked)
		return asked;
	return gate->repo ? kl_repo_config(gate->repo, key) : NULL;
}

int kl_gate_trouble(int err)
{
	switch (err) {
	case KL_EIO:
	case KL_ETIMEOUT:
	case KL_ENOTFOUND:
	case KL_EEXISTS:
	case KL_EBUSY:
		return kl_error_in(KL_ECANNOT, "this machine cannot judge at the moment");
	}
	return err;
}

/*
 * Read the setting klineage.ncu: the path of ncu, or a boolean that says whether to read counters.
 */
static int read_counters(struct kl_gate *gate)
{
	const char *setting = read_setting(gate, NULL, "klineage.ncu");

	if (!setting)
		return 0;
	if (setting[0] != '/')
		return kl_repo_config_bool(&gate->counters, gate->repo, "klineage.ncu", false);
	gate->counters = true;
	gate->ncu = setting;
	return 0;
}

int kl_gate_open(struct kl_gate **out, struct kl_repo *repo, const struct kl_gate_opts *opts)
{
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = kl_calloc(1, sizeof(*gate));
	int err;

	gate->scratch.fd = -1;
	gate->repo = repo;
	gate->opts = *opts;
	gate->opts.no_profile |= gate->opts.quick || (gate->opts.dims && !gate->opts.timed);
	gate->opts.no_cache |= gate->opts.dims != NULL;
	gate->bundle = kl_bundle_new();
	err = kl_runner_parse(&gate->runner, read_setting(gate, opts->runner, "klineage.runner"));
	if (!err && (opts->seed || opts->dims) && !gate->runner.way->run)
		err = kl_error(KL_EUSAGE, "only runner 'local' can replay a failure, not '%s'",
			       gate->runner.name);
	if (!err)
		err = read_counters(gate);
	if (!err)
		err = kl_jail_open_named(&gate->jail,
					 read_setting(gate, opts->jail, "klineage.jail"));
	if (!err)
		err = kl_scratch_open(&gate->scratch, "klineage-gate");
	if (err < 0)
		return kl_gate_trouble(err);
	gate->dir = gate->scratch.path;
	gate->builder = (struct kl_builder){
		.session = {
			.jail = &gate->jail, .repo = repo, .dir = gate->dir,
			.platform = read_setting(gate, opts->platform, "klineage.platform"),
		},
		.backends = opts->backends, .progress = opts->progress,
	};
	err = kl_builder_open(&gate->builder);
	if (!err)
		*out = kl_steal(&gate);
	return kl_gate_trouble(err);
}

void kl_gate_free(struct kl_gate *gate)
{
	if (!gate)
		return;
	kl_builder_release(&gate->builder);
	kl_map_release(&gate->audited);
	kl_scratch_release(&gate->scratch);
	kl_bundle_free(gate->bundle);
	kl_judgement_free(gate->compiled);
	free(gate);
}

int kl_gate_platform(struct kl_platform *out, struct kl_gate *gate,
		     const struct kl_surface *surface)
{
	struct kl_runner_device runner_device;
	int err = kl_builder_platform(out, &gate->builder, surface);

	if (err < 0 || !kl_gate_is_remote(gate))
		return err;
	*out->device = '\0';
	if (gate->repo) {
		kl_runner_device_get(&runner_device, gate->repo, gate->runner.name, out->id);
		snprintf(out->device, sizeof(out->device), "%s", runner_device.device);
	}
	return 0;
}

int kl_gate_machine(struct kl_platform *out, struct kl_gate *gate, const char *platform)
{
	return kl_builder_machine(out, &gate->builder, platform);
}

const struct kl_judgement *kl_gate_compiled(const struct kl_gate *gate)
{
	return gate->compiled;
}

const struct kl_jail *kl_gate_jail(const struct kl_gate *gate)
{
	return &gate->jail;
}

/* --- sending jobs ---------------------------------------------------------- */

size_t kl_gate_waiting(const struct kl_gate *gate)
{
	return kl_bundle_jobs(gate->bundle);
}

bool kl_gate_is_full(const struct kl_gate *gate)
{
	return kl_bundle_jobs(gate->bundle) >= KL_BUNDLE_JOBS;
}

bool kl_gate_is_remote(const struct kl_gate *gate)
{
	return !gate->runner.way->run;
}

int kl_gate_take_jobs(struct kl_gate *gate, struct kl_gate *from)
{
	int err = kl_bundle_take(gate->bundle, from->bundle);

	kl_bundle_free(from->bundle);
	from->bundle = kl_bundle_new();
	return err;
}

int kl_gate_send(struct kl_transfer *out, struct kl_gate *gate, const char *path)
{
	int err = kl_transfer_send(out, gate->bundle, &gate->runner, gate->repo, path,
				   gate->opts.progress);

	if (err < 0)
		return err;
	kl_bundle_free(gate->bundle);
	gate->bundle = kl_bundle_new();
	return 0;
}

bool kl_gate_lacked_device(const struct kl_gate *gate)
{
	return gate->no_device;
}

int kl_gate_reaches(const struct kl_gate *gate, const struct kl_surface *surface)
{
	const struct kl_backend *backend = NULL;
	int err = kl_builder_backend(&backend, &gate->builder, surface);

	if (err < 0)
		return err;
	if (kl_gate_is_remote(gate))
		return kl_error(KL_ECANNOT,
				"runner '%s' returns results later, but this command needs a "
				"verdict immediately",
				gate->runner.name);
	if (backend->device && !backend->device->is_shown())
		return kl_error(KL_ECANNOT, "this machine has no visible %s",
				backend->device->name);
	return 0;
}

int kl_gate_facts(struct kl_facts *out, struct kl_gate *gate, const struct kl_surface *surface)
{
	const struct kl_built *built;
	int err = kl_gate_trouble(kl_builder_surface(&built, &gate->builder, surface));

	if (err < 0)
		return err;
	if (!built->artefact)
		return kl_error(KL_ENO, "%s: %s", built->class_, built->message);
	kl_strvec_copy(&out->features, &built->artefact->facts.features);
	out->features_version = built->artefact->facts.features_version;
	snprintf(out->code_digest, sizeof(out->code_digest), "%s",
		 built->artefact->facts.code_digest);
	return 0;
}

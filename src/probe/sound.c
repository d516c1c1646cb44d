/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/sound.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/findings.h"

void kl_sound_release(struct kl_sound *sound)
{
	for (size_t i = 0; i < sound->fit.n && sound->pair; i++) {
		free(sound->pair[i].fail_words);
		free(sound->pair[i].pass_words);
	}
	free(sound->pair);
	kl_fit_release(&sound->fit);
	kl_quantities_release(&sound->quantities);
	free(sound->never);
	free(sound->values);
	*sound = (struct kl_sound){ .points = 0 };
}

/* --- asking ----------------------------------------------------------------------------------- */

static bool is_about_values(const struct kl_sound *sound, size_t i)
{
	return sound->fit.v[i].form == KL_FIT_ZERO;
}

bool kl_sound_holds(const struct kl_sound *sound, const struct kl_dims *dims)
{
	const struct kl_probe_point point = { .dims = *dims };
	KL_AUTO(kl_fit_table_release) struct kl_fit_table table = { .n = 0 };
	KL_AUTO(kl_freep) int64_t *value = kl_calloc(sound->quantities.n + 1, sizeof(*value));

	for (size_t i = 0; i < sound->quantities.n; i++)
		kl_fit_table_add(&table, sound->quantities.v[i].name, sound->quantities.v[i].kind);
	kl_quantities_at(value, &sound->quantities, &point);
	for (size_t i = 0; i < sound->quantities.n; i++)
		if (sound->quantities.v[i].of == KL_QUANTITY_ALIGN)
			value[i] = KL_QUANTITY_PAGE;
	kl_fit_table_row(&table, value, true);
	for (size_t i = 0; i < sound->fit.n; i++)
		if (!is_about_values(sound, i) && !kl_fit_holds(&sound->fit.v[i], &table, 0))
			return false;
	return true;
}

int kl_sound_address(const struct kl_sound *sound, size_t i)
{
	const struct kl_quantity *quantity = &sound->quantities.v[sound->fit.v[i].quantity];

	return sound->fit.v[i].form == KL_FIT_MOD && quantity->of == KL_QUANTITY_ALIGN ?
		       (int)quantity->at :
		       -1;
}

/* --- finding ---------------------------------------------------------------------------------- */

static void copy_id(char out[KL_DIGEST_HEX], const struct kl_probing *probe, size_t state,
		    size_t point)
{
	const struct kl_event *event = probe->state[state].side[point].event;

	snprintf(out, KL_DIGEST_HEX, "%s", event ? event->id : "");
}

static void keep_pairs(struct kl_sound *out, const struct kl_probing *probe, const size_t *point)
{
	const struct kl_contract *contract = out->quantities.contract;

	out->pair = kl_calloc(out->fit.n + 1, sizeof(*out->pair));
	for (size_t i = 0; i < out->fit.n; i++) {
		size_t fail = point[out->fit.v[i].fail_row], pass = point[out->fit.v[i].pass_row];

		for (size_t state = 0; state < 2; state++) {
			copy_id(out->pair[i].fail[state], probe, state, fail);
			copy_id(out->pair[i].pass[state], probe, state, pass);
		}
		out->pair[i].fail_words = kl_probe_point_words(contract, &probe->points.v[fail]);
		out->pair[i].pass_words = kl_probe_point_words(contract, &probe->points.v[pass]);
	}
}

static bool does_promise(const struct kl_contract *contract, enum kl_probe_values values)
{
	return !contract->values.undefined[values == KL_PROBE_NAN ? KL_VALUE_NAN :
					   values == KL_PROBE_INF ? KL_VALUE_INF :
								    KL_VALUE_DENORMAL];
}

/*
 * Find a reason never to choose b: it fails with values that the contract promises, or at points
 * that no condition on sizes excludes.
 */
static void find_never(struct kl_sound *out, const struct kl_fit_table *table,
		       const struct kl_probing *probe, const size_t *point)
{
	const struct kl_contract *contract = out->quantities.contract;

	for (size_t i = 0; i < out->fit.n; i++) {
		enum kl_probe_values values;
		char *all;

		if (!is_about_values(out, i))
			continue;
		values = (enum kl_probe_values)out->quantities.v[out->fit.v[i].quantity].at;
		if (does_promise(contract, values) && !out->never)
			out->never = kl_asprintf("B fails with inputs that are %s, which the "
						 "contract promises, and no size tells",
						 kl_probe_value_names[values]);
		all = kl_asprintf("%s%s%s", out->values ? out->values : "", out->values ? ", " : "",
				  kl_probe_value_names[values]);
		free(out->values);
		out->values = all;
	}
	for (size_t row = 0; row < table->n && !out->never; row++) {
		const struct kl_probe_point *at = &probe->points.v[point[row]];
		KL_AUTO(kl_freep) char *words = NULL;

		if (table->pass[row] || at->outside || !kl_fit_predicts(&out->fit, table, row))
			continue;
		words = kl_probe_point_words(contract, at);
		out->never = kl_asprintf("B fails at %s, inside the domain, and no condition over "
					 "sizes explains it",
					 words);
	}
}

int kl_sound_find(struct kl_sound *out, const struct kl_probing_opts *opts,
		  const struct kl_surface *a, const struct kl_surface *b)
{
	const struct kl_surface *state[] = { a, b };
	KL_AUTO(kl_gate_freep) struct kl_gate *gate = NULL;
	KL_AUTO(kl_probing_release) struct kl_probing probe = { .n = 0 };
	KL_AUTO(kl_fit_table_release) struct kl_fit_table table = { .n = 0 };
	KL_AUTO(kl_freep) size_t *point = NULL;
	struct kl_probing_opts stored = *opts;
	int err;

	*out = (struct kl_sound){ .points = 0 };
	stored.stored = true;
	stored.ms = 0;
	if ((err = kl_probing_gate(&gate, &stored)) < 0 ||
	    (err = kl_probing_run(&probe, gate, state, 2, &stored)) < 0)
		return err;
	kl_quantities_find(&out->quantities, opts->tax, b->contract);
	kl_probe_findings_table(&table, &point, &out->quantities, &probe, 1);
	kl_fit_find(&out->fit, &table, NULL);
	out->points = table.n;
	out->fails = out->fit.fails;
	keep_pairs(out, &probe, point);
	find_never(out, &table, &probe, point);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "search/policy/observation.h"

#include <string.h>

#include "base/error.h"

/* No search has more tickets; a file with a greater number is refused. */
#define MOST_TICKETS 1000000
#define MOST_CASES 1000

const char *const kl_outcome_name[KL_OUTCOMES] = {
	"skipped", "note", "none", "compile", "launch", "fault", "hang", "wrong", "correct",
};

bool kl_observation_is_candidate(const struct kl_observation *observation)
{
	return observation->outcome >= KL_OUTCOME_COMPILE;
}

void kl_observation_copy(struct kl_observation *to, const struct kl_observation *from)
{
	*to = *from;
	to->form = from->form ? kl_strdup(from->form) : NULL;
	to->mechanisms = from->mechanisms ? kl_strdup(from->mechanisms) : NULL;
	to->note = json_incref(from->note);
	to->case_ppm = NULL;
	if (from->ncase) {
		to->case_ppm = kl_calloc(from->ncase, sizeof(*to->case_ppm));
		memcpy(to->case_ppm, from->case_ppm, from->ncase * sizeof(*to->case_ppm));
	}
}

void kl_observation_release(struct kl_observation *observation)
{
	free(observation->form);
	free(observation->mechanisms);
	free(observation->case_ppm);
	json_decref(observation->note);
	*observation = (struct kl_observation){ 0 };
}

static void write_candidate(json_t *json, const struct kl_observation *observation)
{
	json_t *cases = json_array();

	kl_json_set_int(json, "speed_ppm", observation->speed_ppm);
	kl_json_set_int(json, "low_ppm", observation->low_ppm);
	kl_json_set_int(json, "high_ppm", observation->high_ppm);
	kl_json_set_int(json, "bytes", observation->bytes);
	kl_json_set_int(json, "instructions", observation->instructions);
	if (observation->mechanisms)
		kl_json_set_str(json, "mechanisms", observation->mechanisms);
	for (size_t i = 0; i < observation->ncase; i++)
		json_array_append_new(cases, json_integer(observation->case_ppm[i]));
	kl_json_set(json, "cases_ppm", cases);
}

json_t *kl_observation_write(const struct kl_observation *observation)
{
	json_t *json = json_object();

	kl_json_set_int(json, "ticket", observation->ticket);
	kl_json_set_int(json, "parent", observation->parent);
	kl_json_set_str(json, "outcome", kl_outcome_name[observation->outcome]);
	if (observation->form)
		kl_json_set_str(json, "form", observation->form);
	if (observation->outcome == KL_OUTCOME_CORRECT)
		write_candidate(json, observation);
	if (observation->surface[0])
		kl_json_set_str(json, "surface", observation->surface);
	if (observation->note)
		kl_json_set(json, "note", json_incref(observation->note));
	return json;
}

static int read_cases(struct kl_observation *out, const json_t *json)
{
	json_t *cases;
	int err;

	if ((err = kl_json_arr(&cases, json, "cases_ppm")) < 0)
		return err;
	if (json_array_size(cases) > MOST_CASES)
		return kl_error(KL_EINVALID, "'cases_ppm' has more than %d numbers", MOST_CASES);
	out->ncase = json_array_size(cases);
	out->case_ppm = kl_calloc(out->ncase + 1, sizeof(*out->case_ppm));
	for (size_t i = 0; i < out->ncase; i++) {
		const json_t *ppm = json_array_get(cases, i);

		if (!json_is_integer(ppm) || json_integer_value(ppm) < 0)
			return kl_error(KL_EINVALID,
					"'cases_ppm' must have integers of 0 and above");
		out->case_ppm[i] = json_integer_value(ppm);
	}
	return 0;
}

static int read_candidate(struct kl_observation *out, const json_t *json)
{
	const char *mechanisms = kl_json_str_or(json, "mechanisms", NULL);
	int err;

	if ((err = kl_json_count(&out->speed_ppm, json, "speed_ppm", KL_OBSERVATION_PPM)) < 0 ||
	    (err = kl_json_count(&out->low_ppm, json, "low_ppm", KL_OBSERVATION_PPM)) < 0 ||
	    (err = kl_json_count(&out->high_ppm, json, "high_ppm", KL_OBSERVATION_PPM)) < 0 ||
	    (err = kl_json_count(&out->bytes, json, "bytes", INT64_MAX)) < 0 ||
	    (err = kl_json_count(&out->instructions, json, "instructions", INT64_MAX)) < 0)
		return err;
	if (!out->speed_ppm)
		return kl_error(KL_EINVALID, "'speed_ppm' of a correct candidate is 0");
	out->mechanisms = mechanisms ? kl_strdup(mechanisms) : NULL;
	return read_cases(out, json);
}

static int read_outcome(enum kl_ticket_outcome *out, const json_t *json)
{
	const char *name;
	int err;

	if ((err = kl_json_str(&name, json, "outcome")) < 0)
		return err;
	for (int i = 0; i < KL_OUTCOMES; i++)
		if (!strcmp(name, kl_outcome_name[i])) {
			*out = (enum kl_ticket_outcome)i;
			return 0;
		}
	return kl_error(KL_EINVALID, "'outcome' is '%s', which is no outcome", name);
}

static int read_surface(struct kl_observation *out, const json_t *json)
{
	const char *surface = kl_json_str_or(json, "surface", "");
	uint8_t bytes[(KL_DIGEST_HEX - 1) / 2];

	if (*surface && (strlen(surface) != KL_DIGEST_HEX - 1 ||
			 !kl_digest_bytes(bytes, sizeof(bytes), surface)))
		return kl_error(KL_EINVALID, "'surface' must be 64 hex digits");
	snprintf(out->surface, sizeof(out->surface), "%s", surface);
	return 0;
}

static int read_parts(struct kl_observation *out, const json_t *json)
{
	const char *form = kl_json_str_or(json, "form", NULL);
	json_t *note = json_object_get(json, "note");
	int err;

	if ((err = kl_json_count(&out->ticket, json, "ticket", MOST_TICKETS)) < 0 ||
	    (err = kl_json_int(&out->parent, json, "parent")) < 0 ||
	    (err = read_outcome(&out->outcome, json)) < 0 || (err = read_surface(out, json)) < 0)
		return err;
	if (out->parent < -1 || (out->parent >= out->ticket && out->ticket))
		return kl_error(KL_EINVALID, "'parent' of ticket %lld is no earlier ticket",
				(long long)out->ticket);
	out->form = form ? kl_strdup(form) : NULL;
	out->note = json_incref(note);
	return out->outcome == KL_OUTCOME_CORRECT ? read_candidate(out, json) : 0;
}

int kl_observation_read(struct kl_observation *out, const json_t *json)
{
	int err;

	*out = (struct kl_observation){ 0 };
	if ((err = read_parts(out, json)) < 0)
		kl_observation_release(out);
	return err;
}

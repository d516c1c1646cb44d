/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BENCH_SAMPLE_H
#define KL_BENCH_SAMPLE_H

/*
 * sample - gate events as they would come from real runs, in any number, for
 * benches of what is done with them. The figures in them are invented and
 * are never reported.
 */
#include "base/clock.h"
#include "event/event.h"

/**
 * The i-th, sealed; the caller's. One is a little faster than its parent, the next as
 * much slower: a long chain of them stays near 1.
 */
static inline struct kl_event *sample_event(size_t i, const char *workload, const char *surface,
					    const char *contract)
{
	json_t *entry = json_object(), *vs = json_object();
	struct kl_event *event;
	int ratio = i % 2 ? 1020000 : 980392;

	kl_json_set_int(entry, "v", 1);
	kl_json_set_str(entry, "kind", "gate");
	kl_json_set_str(entry, "time", "2026-01-01T00:00:00Z");
	kl_json_set_str(entry, "workload", workload);
	kl_json_set_int(entry, "policy", 1);
	kl_json_set_str(entry, "surface", surface);
	kl_json_set_str(entry, "contract", contract);
	kl_json_set(entry, "platform",
		    json_pack("{s:s, s:s, s:s, s:[s,s]}", "id", "cpu/x86-64-v3", "device", "sample",
			      "compiler", "gcc 12.2.0", "flags", "-O2", "-march=x86-64-v3"));
	kl_json_set_str(entry, "tier", "host-sandboxed");
	kl_json_set_str(entry, "verdict", "pass");
	kl_json_set(entry, "class", json_null());
	kl_json_set(entry, "correct",
		    json_pack("{s:[s,s], s:i, s:i}", "seeds", "1234567890123456789",
			      "9876543210987654321", "cases", 14, "margin_ppm", 410000));
	kl_json_set(entry, "features", json_pack("[s,s,s]", "avx2.fma", "ldg.256", "vec.256"));
	kl_json_set(entry, "traits", json_pack("{s:s}", "tiled", "yes"));
	kl_json_set_str(vs, "what", "parent");
	kl_json_set_int(vs, "ratio_ppm", ratio);
	kl_json_set_int(vs, "lo_ppm", ratio - 5000);
	kl_json_set_int(vs, "hi_ppm", ratio + 5000);
	kl_json_set_str(vs, "verdict", "ambiguous");
	kl_json_set(entry, "profile",
		    json_pack("{s:I, s:i, s:[o]}", "ns", (json_int_t)(1000000 + i), "aa_ppm", 4000,
			      "vs", vs));
	event = kl_event_from_json(entry);
	json_decref(entry);
	kl_event_seal(event);
	return event;
}

#endif

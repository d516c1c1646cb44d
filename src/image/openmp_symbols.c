/* SPDX-License-Identifier: Apache-2.0 */
#include "image/openmp_symbols.h"

#include <string.h>

#include "base/prefix.h"
#include "image/symbols.h"

/* functions that gcc calls for pragmas other than those of loops */
static const char pragmas[] =
	" GOMP_parallel GOMP_barrier GOMP_critical_start GOMP_critical_end"
	" GOMP_critical_name_start GOMP_critical_name_end GOMP_atomic_start GOMP_atomic_end"
	" GOMP_single_start GOMP_single_copy_start GOMP_single_copy_end GOMP_ordered_start"
	" GOMP_ordered_end GOMP_parallel_sections GOMP_sections_start GOMP_sections_next"
	" GOMP_sections_end GOMP_sections_end_nowait GOMP_loop_end GOMP_loop_end_nowait GOMP_task"
	" GOMP_taskwait GOMP_taskyield GOMP_taskgroup_start GOMP_taskgroup_end ";

static const char loops[] =
	" GOMP_parallel_loop_static GOMP_parallel_loop_dynamic GOMP_parallel_loop_guided"
	" GOMP_parallel_loop_runtime GOMP_parallel_loop_nonmonotonic_dynamic"
	" GOMP_parallel_loop_nonmonotonic_guided GOMP_parallel_loop_nonmonotonic_runtime"
	" GOMP_parallel_loop_maybe_nonmonotonic_runtime"
	" GOMP_loop_static_start GOMP_loop_dynamic_start GOMP_loop_guided_start"
	" GOMP_loop_runtime_start GOMP_loop_nonmonotonic_dynamic_start"
	" GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_runtime_start"
	" GOMP_loop_maybe_nonmonotonic_runtime_start"
	" GOMP_loop_static_next GOMP_loop_dynamic_next GOMP_loop_guided_next"
	" GOMP_loop_runtime_next GOMP_loop_nonmonotonic_dynamic_next"
	" GOMP_loop_nonmonotonic_guided_next GOMP_loop_nonmonotonic_runtime_next"
	" GOMP_loop_maybe_nonmonotonic_runtime_next"
	" GOMP_loop_ordered_static_start GOMP_loop_ordered_dynamic_start"
	" GOMP_loop_ordered_guided_start GOMP_loop_ordered_runtime_start"
	" GOMP_loop_ordered_static_next GOMP_loop_ordered_dynamic_next"
	" GOMP_loop_ordered_guided_next GOMP_loop_ordered_runtime_next ";

/* functions that gcc calls for loops whose counter is an unsigned long long */
static const char unsigned_loops[] =
	" GOMP_loop_ull_static_start GOMP_loop_ull_dynamic_start GOMP_loop_ull_guided_start"
	" GOMP_loop_ull_runtime_start GOMP_loop_ull_nonmonotonic_dynamic_start"
	" GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_runtime_start"
	" GOMP_loop_ull_maybe_nonmonotonic_runtime_start"
	" GOMP_loop_ull_static_next GOMP_loop_ull_dynamic_next GOMP_loop_ull_guided_next"
	" GOMP_loop_ull_runtime_next GOMP_loop_ull_nonmonotonic_dynamic_next"
	" GOMP_loop_ull_nonmonotonic_guided_next GOMP_loop_ull_nonmonotonic_runtime_next"
	" GOMP_loop_ull_maybe_nonmonotonic_runtime_next"
	" GOMP_loop_ull_ordered_static_start GOMP_loop_ull_ordered_dynamic_start"
	" GOMP_loop_ull_ordered_guided_start GOMP_loop_ull_ordered_runtime_start"
	" GOMP_loop_ull_ordered_static_next GOMP_loop_ull_ordered_dynamic_next"
	" GOMP_loop_ull_ordered_guided_next GOMP_loop_ull_ordered_runtime_next ";

/* functions that sources may call; none of them reads a clock */
static const char calls[] =
	" omp_get_thread_num omp_get_num_threads omp_get_max_threads omp_set_num_threads"
	" omp_get_num_procs omp_get_thread_limit omp_in_parallel omp_in_final omp_get_level"
	" omp_get_active_level omp_get_max_active_levels omp_set_max_active_levels omp_get_dynamic"
	" omp_set_dynamic omp_get_nested omp_set_nested omp_get_num_teams omp_get_team_num"
	" omp_is_initial_device omp_init_lock omp_destroy_lock omp_set_lock omp_unset_lock"
	" omp_test_lock ";

static const char *const lists[] = { pragmas, loops, unsigned_loops, calls };

bool kl_openmp_symbol(const char *name)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (kl_symbol_listed(lists[i], name, strlen(name)))
			return true;
	return false;
}

bool kl_openmp_named(const char *name)
{
	return kl_prefix_has(name, "omp_") || kl_prefix_has(name, "GOMP_");
}

const char *kl_openmp_symbol_foreign(const struct kl_image *image)
{
	for (uint64_t i = 0; i < image->nnames; i += strlen(image->names + i) + 1)
		if (!kl_openmp_symbol(image->names + i))
			return image->names + i;
	return NULL;
}

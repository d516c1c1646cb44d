/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/ncu.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"

#define MAX_LAUNCHES 16
#define MAX_COLUMNS 256
#define MAX_LOG ((size_t)4 << 20)
#define MOST 1e15 /* a counter larger than this is not plausible */

/*
 * Name of the metric in ncu, name of its member in the result, and the factor from ncu's unit to
 * ours.
 */
static const struct {
	const char *metric, *member;
	double unit;
} metrics[] = {
	{ "gpu__time_duration.sum", "ns", 1 },
	{ "dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram_ppm", 1e4 },
	{ "sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm_ppm", 1e4 },
	{ "sm__warps_active.avg.pct_of_peak_sustained_active", "occupancy_ppm", 1e4 },
	{ "l1tex__t_sector_hit_rate.pct", "l1_hit_ppm", 1e4 },
	{ "lts__t_sector_hit_rate.pct", "l2_hit_ppm", 1e4 },
	{ "dram__bytes_read.sum", "dram_read", 1 },
	{ "dram__bytes_write.sum", "dram_written", 1 },
};

/* -- finding and calling ncu ---------------------------------------------------- */

static bool is_executable(const char *path)
{
	return path[0] == '/' && !kl_fs_is_dir(path) && access(path, X_OK) == 0;
}

static char *path_below(const char *dir, const char *name)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, name);

	return is_executable(path) ? kl_steal(&path) : NULL;
}

static char *on_path(void)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT;
	const char *path = getenv("PATH");
	char *found = NULL;

	kl_strvec_split(&dirs, path ? path : "", ":");
	for (size_t i = 0; !found && i < dirs.n; i++)
		found = path_below(dirs.v[i], "ncu");
	return found;
}

int kl_ncu_find(char **path)
{
	const char *configured = getenv("KLINEAGE_NCU");

	if (configured && *configured) {
		if (!is_executable(configured))
			return kl_error(KL_ECANNOT,
					"KLINEAGE_NCU does not name an executable file: '%s'",
					configured);
		*path = kl_strdup(configured);
		return 0;
	}
	*path = on_path();
	if (!*path)
		*path = path_below("/usr/local/cuda/bin", "ncu");
	return *path ? 0 : kl_error(KL_ECANNOT, "ncu is not installed");
}

/* Return "regex:^(a|b)$" for kernels a and b; escape all but letters, digits and '_'. */
static char *kernel_pattern(const struct kl_strvec *kernel)
{
	struct kl_buf buf = KL_BUF_INIT;

	kl_buf_adds(&buf, "regex:^(");
	for (size_t i = 0; i < kernel->n; i++) {
		kl_buf_adds(&buf, i ? "|" : "");
		for (const char *at = kernel->v[i]; *at; at++) {
			if (!isalnum((unsigned char)*at) && *at != '_')
				kl_buf_addch(&buf, '\\');
			kl_buf_addch(&buf, *at);
		}
	}
	kl_buf_adds(&buf, ")$");
	return kl_buf_detach(&buf);
}

static void make_command(struct kl_strvec *argv, const struct kl_ncu *ncu)
{
	static const char *const fixed[] = { "--csv",   "--page",
					     "raw",     "--print-units",
					     "base",    "--target-processes",
					     "all",     "--clock-control",
					     "none",    "--kernel-name-base",
					     "mangled", "--kernel-name",
					     NULL };
	KL_AUTO(kl_buf_release) struct kl_buf list = KL_BUF_INIT;

	for (size_t i = 0; i < KL_ARRAY_SIZE(metrics); i++)
		kl_buf_addf(&list, "%s%s", i ? "," : "", metrics[i].metric);
	kl_strvec_push(argv, ncu->path);
	kl_strvec_pushv(argv, fixed);
	kl_strvec_take(argv, kernel_pattern(ncu->kernel));
	kl_strvec_push(argv, "--cache-control");
	kl_strvec_push(argv, ncu->hot ? "none" : "all");
	kl_strvec_push(argv, "--launch-count");
	kl_strvec_pushf(argv, "%d", MAX_LAUNCHES);
	kl_strvec_push(argv, "--metrics");
	kl_strvec_push(argv, list.ptr);
	kl_strvec_push(argv, "--log-file");
	kl_strvec_push(argv, ncu->log);
	kl_strvec_pushv(argv, ncu->argv);
}

/* -- reading ncu's output ---------------------------------------------------------- */

/*
 * Return an error that says why there are no counters. `text` is ncu's output. The reason is a
 * missing permission, or the first "==ERROR== ..." in `text`, or else how ncu ended.
 */
static int explain_failure(const char *text, const struct kl_proc_result *res)
{
	const char *at = strstr(text, "==ERROR== ");

	if (strstr(text, "ERR_NVGPUCTRPERM"))
		return kl_error(KL_ECANNOT, "the driver lets only root read the GPU's counters "
					    "(ERR_NVGPUCTRPERM)");
	if (at)
		return kl_error(KL_ECANNOT, "ncu: %.*s", (int)strcspn(at + 10, "\n"), at + 10);
	if (res->timed_out)
		return kl_error(KL_ECANNOT, "ncu did not finish in time");
	if (res->exit || res->signal)
		return kl_error(KL_ECANNOT, "ncu ended with exit code %d",
				res->signal ? 128 + res->signal : res->exit);
	return kl_error(KL_ECANNOT, "ncu wrote no counters");
}

/* Split a line of quoted cells in place, and return their number. */
static size_t split_cells(char **out, char *line)
{
	size_t n = 0;

	for (char *from = line, *to; n < MAX_COLUMNS && *from == '"';) {
		out[n++] = to = ++from;
		while (*from && (*from != '"' || from[1] == '"')) {
			from += *from == '"';
			*to++ = *from++;
		}
		from += *from == '"';
		from += *from == ',';
		*to = '\0';
	}
	return n;
}

static bool read_number(double *out, const char *cell)
{
	char plain[64], *end;
	size_t n = 0;

	/* ncu writes "1,234.5": drop the commas */
	for (; *cell && n + 1 < sizeof(plain); cell++)
		if (*cell != ',')
			plain[n++] = *cell;
	plain[n] = '\0';
	*out = strtod(plain, &end);
	return !*cell && end != plain && !*end && *out >= 0 && *out <= MOST;
}

/* Column of the kernel's name and of each metric; SIZE_MAX if absent. */
struct columns {
	size_t kernel, at[KL_ARRAY_SIZE(metrics)];
	bool any;
};

static void read_head(struct columns *columns, char **cell, size_t n)
{
	*columns = (struct columns){ .kernel = SIZE_MAX };
	for (size_t i = 0; i < KL_ARRAY_SIZE(metrics); i++)
		columns->at[i] = SIZE_MAX;
	for (size_t k = 0; k < n; k++) {
		if (!strcmp(cell[k], "Kernel Name"))
			columns->kernel = k;
		for (size_t i = 0; i < KL_ARRAY_SIZE(metrics); i++)
			if (!strcmp(cell[k], metrics[i].metric))
				columns->at[i] = k;
	}
	for (size_t i = 0; i < KL_ARRAY_SIZE(metrics); i++)
		columns->any |= columns->at[i] != SIZE_MAX;
}

static json_t *read_launch(const struct columns *columns, char **cell, size_t n)
{
	json_t *launch = json_object();
	double value;

	kl_json_set_str(launch, "kernel", cell[columns->kernel]);
	for (size_t i = 0; i < KL_ARRAY_SIZE(metrics); i++)
		if (columns->at[i] < n && read_number(&value, cell[columns->at[i]]))
			kl_json_set_int(launch, metrics[i].member,
					llround(value * metrics[i].unit));
	return launch;
}

int kl_ncu_parse(json_t **launches, const char *text, size_t len)
{
	KL_AUTO(kl_freep) char *copy = kl_strndup(text, len), *save = NULL;
	json_t *list = json_array();
	struct columns columns = { .kernel = SIZE_MAX };

	for (char *line = strtok_r(copy, "\r\n", &save); line;
	     line = strtok_r(NULL, "\r\n", &save)) {
		char *cell[MAX_COLUMNS];
		size_t n = split_cells(cell, line);

		/* skip a message of ncu or output of the program */
		if (!n)
			continue;
		if (!strcmp(cell[0], "ID"))
			read_head(&columns, cell, n);
		/* skip the line of units, which has no kernel */
		else if (columns.any && columns.kernel < n && *cell[columns.kernel] &&
			 json_array_size(list) < MAX_LAUNCHES)
			json_array_append_new(list, read_launch(&columns, cell, n));
	}
	save = NULL; /* `save` points into `copy`: do not free it */
	if (json_array_size(list)) {
		*launches = list;
		return 0;
	}
	json_decref(list);
	return kl_error(KL_ECANNOT, "ncu wrote no counters");
}

int kl_ncu_run(json_t **launches, const struct kl_ncu *ncu)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec argv = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT, text = KL_BUF_INIT;
	struct kl_proc_opts opts = {
		.out = &out,
		.err = &out,
		.timeout_ms = ncu->limit_ms,
		.max_output = MAX_LOG,
	};
	struct kl_proc_result res;
	int err;

	make_command(&argv, ncu);
	opts.argv = (const char *const *)argv.v;
	unlink(ncu->log);
	err = kl_proc_run(&res, &opts);
	if (err == 0 && kl_fs_read(&text, ncu->log, MAX_LOG) < 0)
		kl_error_clear();
	unlink(ncu->log);
	if (err < 0)
		return err == KL_EINTR ? err : kl_error(KL_ECANNOT, "%s", kl_error_last());
	/* until ncu opens its log, it reports errors only in its output */
	if (res.exit || res.signal || res.timed_out ||
	    kl_ncu_parse(launches, text.ptr, text.len) < 0) {
		kl_buf_add(&text, out.ptr, out.len);
		return explain_failure(text.ptr, &res);
	}
	return 0;
}

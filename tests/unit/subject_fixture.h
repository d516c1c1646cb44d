/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SUBJECT_FIXTURE_H
#define KL_SUBJECT_FIXTURE_H

#include "worker_fixture.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker/subject/subject.h"

/*
 * subject_fixture - subjects whose kernel is void k(int64_t n, float s, const float *x, float *y),
 * for the tests of single calls. SCALE is the honest body: y = s x.
 */
#define SF_N 1000 /* elements; 4000 bytes, so there is slack on one side */
#define SCALE " for (int64_t i = 0; i < n; i++) y[i] = s * x[i];"

static inline struct fixture *sf_new(void)
{
	struct fixture *fixture = fx_new();
	struct kl_point *point = fx_point(fixture, "case0", true);
	int arg;

	arg = fx_arg(fixture, "n", KL_ARG_DIM, KL_I64, NULL);
	point->arg[arg].value = SF_N;
	arg = fx_arg(fixture, "s", KL_ARG_SCALAR, KL_F32, NULL);
	fixture->job.arg[arg].value = 2.5;
	fx_extent(point, fx_arg(fixture, "x", KL_ARG_IN, KL_F32, NULL), 1, SF_N, 0);
	fx_extent(point, fx_arg(fixture, "y", KL_ARG_OUT, KL_F32, NULL), 1, SF_N, 0);
	return fixture;
}

/* Compile the kernel with this body, preceded by `head`. */
static inline void sf_kernel(struct fixture *fixture, const char *head, const char *body)
{
	KL_AUTO(kl_freep)
	char *text = kl_asprintf("%s\nvoid k(int64_t n, float s, const float *x, float *y)\n{%s}\n",
				 head, body);

	fx_candidate(fixture, "kernel", text);
}

/* Start it, with x = 0, 1, 2 ...; `spec` has everything but the object. */
static inline struct kl_subject *sf_start(struct fixture *fixture, struct kl_subject_spec spec)
{
	struct kl_subject *subject;
	float *values;

	spec.path = fixture->job.candidate_path;
	assert_ok(kl_subject_start(&subject, &fixture->job, &fixture->point[0], &spec));
	values = kl_subject_buffer(subject, 2);
	for (int i = 0; i < SF_N; i++)
		values[i] = (float)i;
	return subject;
}

/* Processes that do nothing but keep processors busy. */
struct spinners {
	pid_t pid[64];
	int n;
};

/* Start `n` of them, on processor `cpu` or, if that is -1, on any. */
static inline void sf_spin(struct spinners *spinners, int n, int cpu)
{
	cpu_set_t set;

	for (spinners->n = 0; spinners->n < n; spinners->n++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		spinners->pid[spinners->n] = pid;
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		CPU_ZERO(&set);
		CPU_SET(cpu < 0 ? 0 : cpu, &set);
		if (cpu >= 0)
			sched_setaffinity(0, sizeof(set), &set);
		for (;;)
			__asm__ volatile("");
	}
}

static inline void sf_stop(struct spinners *spinners)
{
	for (int i = 0; i < spinners->n; i++) {
		kill(spinners->pid[i], SIGKILL);
		waitpid(spinners->pid[i], NULL, 0);
	}
	spinners->n = 0;
}

#endif

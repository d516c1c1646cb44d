/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_POINTS_H
#define KL_PROBE_POINTS_H

#include "contract/contract.h"

/*
 * points - lists the points at which a probe judges a kernel: dims and a class of values, inside
 * and outside the domain of the contract.
 *
 * From a few points of the contract, and one of whole tiles, the class of values is changed, then
 * the address of one tensor at a time, one dim at a time, then pairs of dims. A dim gets small
 * primes, powers of two and the kernel's constants, each also less and more by one, and multiples
 * of 2, 4, ... 1024 that are multiples of no larger power. The points that are most likely to
 * separate two kernels come first; those that violate a condition of the domain that is no
 * remainder and no equality, such as `k <= cols`, come last, since the oracle can seldom judge
 * them. A grid of the user replaces the list of values of each axis that it names.
 *
 * A point is left out if its tensors have too many bytes, if the product of its dims is too large,
 * or if there are too many points. Those left out are counted.
 */
#define KL_PROBE_MOST 4096 /* most points of a probe */

/* Which of NaN, infinities and denormals a kernel gets, besides the contract's own values. */
enum kl_probe_values {
	KL_PROBE_PLAIN, /* none of them */
	KL_PROBE_DENORMAL,
	KL_PROBE_INF,
	KL_PROBE_NAN,
};
#define KL_PROBE_VALUES (KL_PROBE_NAN + 1)
/** Names indexed by enum kl_probe_values: "plain", "denormal", "inf", "nan"; NULL at the end. */
extern const char *const kl_probe_value_names[];

struct kl_probe_point {
	struct kl_dims dims;
	enum kl_probe_values values;
	/*
	 * if not 0, the address of this argument, a tensor, is a multiple of `base` bytes and of no
	 * greater power of two, and those of all other tensors suit every kernel (gate/gate.h)
	 */
	int64_t base;
	size_t tensor;
	int64_t repeat; /* 1 if judged a second time to compare answers; never 1 in a list */
	bool outside;   /* the contract's domain does not promise the point */
};

/* The values of one axis of a user's grid. */
struct kl_probe_axis {
	char *dim;  /* a dim of the contract, "values", or "align(<tensor>)" */
	int64_t *v; /* for "values": enum kl_probe_values */
	size_t n, alloc;
};

struct kl_probe_points {
	struct kl_probe_point *v;
	size_t n, alloc;
	double total; /* number of points before any limit; can be beyond the range of size_t */
	size_t large; /* number of points left out because of their bytes or volume */
};

struct kl_probe_points_of {
	const struct kl_contract *contract;
	const int64_t *constant; /* constants of the kernels */
	size_t nconstant;
	const struct kl_probe_axis *axis; /* the user's grid */
	size_t naxis;
	size_t most; /* 0 for KL_PROBE_MOST */
};

/** List the points. Return KL_EUSAGE if the grid names an axis that the contract does not have. */
int kl_probe_points_make(struct kl_probe_points *out, const struct kl_probe_points_of *of);
void kl_probe_points_release(struct kl_probe_points *points);
/**
 * Add a point unless it is there already. Return false if it is there, or if it is too large.
 */
bool kl_probe_points_add(struct kl_probe_points *points, const struct kl_contract *contract,
			 const struct kl_probe_point *point);

/**
 * Add up to `n` points that are not there yet, drawn at random, and return their number. The same
 * seed draws the same points. Points that the oracle can hardly judge are not drawn.
 */
size_t kl_probe_points_draw(struct kl_probe_points *points, const struct kl_contract *contract,
			    size_t n, uint64_t seed);
/**
 * Return true if the point meets all conditions of the domain that are neither remainders nor
 * equalities: then the oracle can most often judge it.
 */
bool kl_probe_points_promising(const struct kl_contract *contract, const struct kl_dims *dims);

/**
 * Parse an axis: "m=1,2,3", "m=1..64", "m=8..512:8", "values=plain,nan". Return KL_EUSAGE if the
 * text has another form, a value is below 1, or there are more than KL_PROBE_MOST values.
 */
int kl_probe_axis_parse(struct kl_probe_axis *out, const char *text);
void kl_probe_axis_release(struct kl_probe_axis *axis);

/**
 * Return the `base` of a point in the form of struct kl_gate_point, which the caller frees; NULL if
 * the gate chooses the addresses.
 */
char *kl_probe_point_base(const struct kl_contract *contract, const struct kl_probe_point *point);
/** Return true if a probe can choose the address of this argument, a tensor of a kernel in C. */
bool kl_probe_has_address(const struct kl_contract *contract, size_t arg);

/** Describe a point: "rows = 1, cols = 5", with ", values = nan" if it is not plain, and
 * ", align(x) = 4" if an address is changed. */
char *kl_probe_point_words(const struct kl_contract *contract, const struct kl_probe_point *point);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_NUMBER_H
#define KL_SEARCH_POLICY_NUMBER_H

#include <stddef.h>

/*
 * number - logarithm, exponential and softmax that give the same bits on every machine.
 *
 * When a search is repeated from its observations, one different bit in a weight can choose another
 * parent. The functions of libm differ between versions of libc, so policies use these instead,
 * which consist only of the IEEE operations + - * / and square root. The compiler must not contract
 * a product and a sum into one operation here (see the Makefile).
 *
 * The error of kl_number_log() and kl_number_exp() is below 2 units in the last place.
 */

/** Return the natural logarithm of `number`; -inf for 0, and NaN for negative numbers. */
double kl_number_log(double number);
/** Return e to the power of `number`; 0 if `number` is below -708. */
double kl_number_exp(double number);
/** Return the correctly rounded square root of `number`. */
double kl_number_sqrt(double number);
/** Return 1 / (1 + e^-number). */
double kl_number_sigmoid(double number);
/**
 * Set weight[i] to e^(value[i] / temperature), scaled such that the greatest weight is 1. The
 * weights are not divided by their sum.
 */
void kl_number_softmax(double *weight, const double *value, size_t n, double temperature);
/** Sort `n` numbers and return their median; 0 if `n` is 0. */
double kl_number_median(double *value, size_t n);
/** Return floor(2 * log2(count)), the bin of a size in half octaves; -1 if `count` is below 1. */
int kl_number_half_octave(long long count);

#endif

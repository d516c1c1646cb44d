/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CARD_CHECK_H
#define KL_CARD_CARD_CHECK_H

#include "text/yaml.h"

/*
 * card_check - checks the constraints between the fields of a card. Inside src/card only. The
 * tables in card_table.c check single fields and then call these functions. The rows are not sorted
 * yet at that time, so the index of a row is its position in the file.
 */
int kl_check_carrier(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_pre(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_evidence(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_control(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_trial(const void *obj, const char *name, const struct kl_yaml *at);
int kl_check_card(const void *obj, const char *name, const struct kl_yaml *at);

#endif

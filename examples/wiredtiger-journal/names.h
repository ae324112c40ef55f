// SPDX-License-Identifier: Apache-2.0
//
// How exporters of MongoDB name WiredTiger's statistics.
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>
#include <stddef.h>

// metric_name gives a statistic, described by the engine as "section: name", the name and labels
// that exporters give it; false for one of another section than those that tell about
// writing, or longer than size.
bool metric_name(const char *described, char *out, size_t size);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
//
// The frames of PROTOCOL.md: what is read is bounded before it is believed.
#ifndef WIRE_H
#define WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PROTOCOL_VERSION = 1,
	HEAD_BYTES = 9,               // id and kind
	REQUEST_BYTES_MAX = 1 << 16,
	ANSWER_BYTES_MAX = 1 << 20,
	WAITING_BYTES_MAX = 8 << 20,  // answers not yet read
};

enum kind {
	OPEN = 1, LOAD, LOADED, SERVE, CHECKPOINT, STATISTICS,
	INSERT, UPDATE, PUSH, READ, SCAN, QUIT,
	KINDS,
};

enum status { DONE, FAILED, HELLO, BEGAN, ENDED };

// A body that is taken apart. bad: it was shorter than what was asked of it.
struct body {
	const unsigned char *p;
	size_t left;
	bool bad;
};

uint8_t take8(struct body *b);
uint16_t take16(struct body *b);
uint32_t take32(struct body *b);
uint64_t take64(struct body *b);
// take_string gives a copy, to be freed; "" where the body is bad.
char *take_string(struct body *b);

void put32(unsigned char *p, uint32_t x);
void put64(unsigned char *p, uint64_t x);

// die says why and ends the program with a status, without a word to the engine.
__attribute__((format(printf, 2, 3), noreturn)) void die(int status, const char *format, ...);

// read_full fills p from stdin: false if stdin ended before the first byte.
bool read_full(unsigned char *p, size_t n);

// answers_to makes fd the place for answers.
void answers_to(int fd);
// answer sends a frame. It may wait for the reader.
void answer(uint64_t id, enum status status, const void *body, size_t n);
// answer_all sends an empty DONE to each.
void answer_all(const uint64_t *ids, size_t n);
// fail sends FAILED with a text.
__attribute__((format(printf, 2, 3))) void fail(uint64_t id, const char *format, ...);

int64_t now_ns(void); // since 1970

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void die(int status, const char *format, ...) {
	va_list args;
	va_start(args, format);
	fputs("plimsoll-wiredtiger: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	_exit(status); // not exit: other threads are inside the engine
}

int64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint64_t take(struct body *b, size_t n) {
	if (b->left < n) {
		b->bad = true;
		b->left = 0;
		return 0;
	}
	uint64_t x = 0;
	for (size_t i = 0; i < n; i++) x |= (uint64_t)b->p[i] << (8 * i);
	b->p += n;
	b->left -= n;
	return x;
}

uint8_t take8(struct body *b) { return (uint8_t)take(b, 1); }
uint16_t take16(struct body *b) { return (uint16_t)take(b, 2); }
uint32_t take32(struct body *b) { return (uint32_t)take(b, 4); }
uint64_t take64(struct body *b) { return take(b, 8); }

char *take_string(struct body *b) {
	size_t n = take16(b);
	if (n > b->left || memchr(b->p, 0, n) != NULL) {
		b->bad = true;
		b->left = n = 0;
	}
	char *s = malloc(n + 1);
	if (s == NULL) die(1, "no memory for %zu bytes", n + 1);
	memcpy(s, b->p, n);
	s[n] = 0;
	b->p += n;
	b->left -= n;
	return s;
}

void put32(unsigned char *p, uint32_t x) {
	for (int i = 0; i < 4; i++) p[i] = (unsigned char)(x >> (8 * i));
}

void put64(unsigned char *p, uint64_t x) {
	for (int i = 0; i < 8; i++) p[i] = (unsigned char)(x >> (8 * i));
}

// Requests are small and many: a read of the pipe brings as many as are there.
bool read_full(unsigned char *p, size_t n) {
	static unsigned char ahead[REQUEST_BYTES_MAX];
	static size_t from, to;
	size_t got = 0;
	while (got < n) {
		if (from == to) {
			ssize_t k = read(STDIN_FILENO, ahead, sizeof ahead);
			if (k < 0 && errno == EINTR) continue;
			if (k < 0) die(1, "stdin: %s", strerror(errno));
			if (k == 0 && got == 0) return false;
			if (k == 0) die(2, "bad frame: stdin ended within it");
			from = 0;
			to = (size_t)k;
		}
		size_t k = to - from < n - got ? to - from : n - got;
		memcpy(p + got, ahead + from, k);
		from += k;
		got += k;
	}
	return true;
}

// Answers gather while one thread writes: it takes what came meanwhile along.
static struct {
	pthread_mutex_t lock;
	pthread_cond_t drained;
	int fd;
	bool writing;
	unsigned char *p, *spare;
	size_t n;
} out = {.lock = PTHREAD_MUTEX_INITIALIZER, .drained = PTHREAD_COND_INITIALIZER, .fd = -1};

void answers_to(int fd) {
	out.fd = fd;
	out.p = malloc(WAITING_BYTES_MAX);
	out.spare = malloc(WAITING_BYTES_MAX);
	if (out.p == NULL || out.spare == NULL) die(1, "no memory for answers");
}

// append puts a frame behind the others, waiting for room. The lock is held.
static void append(uint64_t id, enum status status, const void *body, size_t n) {
	if (n > ANSWER_BYTES_MAX - HEAD_BYTES) die(1, "an answer of %zu bytes", n);
	while (out.n + 4 + HEAD_BYTES + n > WAITING_BYTES_MAX) pthread_cond_wait(&out.drained, &out.lock);
	unsigned char *p = out.p + out.n;
	put32(p, (uint32_t)(HEAD_BYTES + n));
	put64(p + 4, id);
	p[12] = (unsigned char)status;
	if (n > 0) memcpy(p + 13, body, n);
	out.n += 4 + HEAD_BYTES + n;
}

// drain writes until nothing is left, unless another thread does. The lock is held.
static void drain(void) {
	if (out.writing) return;
	out.writing = true;
	while (out.n > 0) {
		unsigned char *p = out.p;
		size_t n = out.n, done = 0;
		out.p = out.spare;
		out.spare = p;
		out.n = 0;
		pthread_cond_broadcast(&out.drained);
		pthread_mutex_unlock(&out.lock);
		while (done < n) {
			ssize_t k = write(out.fd, p + done, n - done);
			if (k < 0 && errno == EINTR) continue;
			if (k < 0) die(1, "stdout: %s", strerror(errno));
			done += (size_t)k;
		}
		pthread_mutex_lock(&out.lock);
	}
	out.writing = false;
}

void answer(uint64_t id, enum status status, const void *body, size_t n) {
	pthread_mutex_lock(&out.lock);
	append(id, status, body, n);
	drain();
	pthread_mutex_unlock(&out.lock);
}

void answer_all(const uint64_t *ids, size_t n) {
	pthread_mutex_lock(&out.lock);
	for (size_t i = 0; i < n; i++) {
		// A full buffer is written here, or by whoever is at it.
		if (out.n + 4 + HEAD_BYTES > WAITING_BYTES_MAX) drain();
		append(ids[i], DONE, NULL, 0);
	}
	drain();
	pthread_mutex_unlock(&out.lock);
}

void fail(uint64_t id, const char *format, ...) {
	char text[1024];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (n < 0) n = 0;
	if (n >= (int)sizeof text) n = sizeof text - 1;
	answer(id, FAILED, text, (size_t)n);
}

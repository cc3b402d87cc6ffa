// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#include "CSmallRequests.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <time.h>

/// A message of `curl_multi_info_read`.
struct message {
  int kind;
  void *easy;
  union {
    void *whatever;
    int result;
  } data;
};

// Numbers of libcurl's interface, which never change.
enum { url_option = 10002, write_data = 10001, header_data = 10029, write_function = 20011, header_function = 20079 };
enum { proxy = 10004, no_signal = 99, accept_encoding = 10102 };

static void *(*easy_init)(void);
static void (*easy_cleanup)(void *);
static int (*easy_setopt)(void *, int, ...);
static int (*easy_perform)(void *);
static void *(*multi_init)(void);
static int (*multi_cleanup)(void *);
static int (*multi_add)(void *, void *);
static int (*multi_remove)(void *, void *);
static int (*multi_perform)(void *, int *);
static int (*multi_poll)(void *, void *, unsigned, int, int *);
static struct message *(*multi_info)(void *, int *);

static int load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return 0;
  const struct {
    const char *name;
    void *place;
  } functions[] = {
    {"curl_easy_init", &easy_init},       {"curl_easy_cleanup", &easy_cleanup},
    {"curl_easy_setopt", &easy_setopt},   {"curl_easy_perform", &easy_perform},
    {"curl_multi_init", &multi_init},     {"curl_multi_cleanup", &multi_cleanup},
    {"curl_multi_add_handle", &multi_add}, {"curl_multi_remove_handle", &multi_remove},
    {"curl_multi_perform", &multi_perform}, {"curl_multi_poll", &multi_poll},
    {"curl_multi_info_read", &multi_info},
  };
  for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
    if (!(*(void **)functions[index].place = dlsym(library, functions[index].name))) return 0;
  }
  return 1;
}

static size_t count_bytes(char *bytes, size_t size, size_t count, void *sum) {
  (void)bytes;
  *(size_t *)sum += size * count;
  return size * count;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int perform_in_turn(void *easy, int count) {
  int done = 0;
  while (done < count && easy_perform(easy) == 0) done++;
  return done;
}

static int perform_at_once(void **handles, int width, int count) {
  void *multi = multi_init();
  int started = 0, done = 0, failed = 0, running = 0, left = 0;
  for (; started < width && started < count; started++) multi_add(multi, handles[started]);
  while (done < count && !failed) {
    multi_perform(multi, &running);
    const int before = done;
    struct message *message;
    while ((message = multi_info(multi, &left))) {
      void *easy = message->easy;
      failed |= message->data.result;
      done++;
      multi_remove(multi, easy);
      if (started++ < count) multi_add(multi, easy);
    }
    if (done == before) multi_poll(multi, 0, 0, 1000, 0);
  }
  for (int index = 0; index < width; index++) multi_remove(multi, handles[index]);
  multi_cleanup(multi);
  return done;
}

double small_requests_drive(const char *url, int count, int width) {
  enum { most = 128 };
  void *handles[most];
  size_t sum = 0;
  if (width < 1 || width > most || (!easy_init && !load())) return -1;
  for (int index = 0; index < width; index++) {
    void *easy = handles[index] = easy_init();
    easy_setopt(easy, url_option, url);
    easy_setopt(easy, write_function, count_bytes);
    easy_setopt(easy, write_data, &sum);
    easy_setopt(easy, header_function, count_bytes);
    easy_setopt(easy, header_data, &sum);
    easy_setopt(easy, no_signal, 1L);
    easy_setopt(easy, proxy, "");
    easy_setopt(easy, accept_encoding, "");
  }
  const double start = now();
  const int done = width == 1 ? perform_in_turn(handles[0], count) : perform_at_once(handles, width, count);
  const double time = now() - start;
  for (int index = 0; index < width; index++) easy_cleanup(handles[index]);
  return done == count && sum > 0 ? time : -1;
}

#else

double small_requests_drive(const char *url, int count, int width) {
  (void)url, (void)count, (void)width;
  return -1;
}

#endif

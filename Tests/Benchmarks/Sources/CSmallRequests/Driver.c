// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#include "CSmallRequests.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
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
enum { proxy = 10004, no_signal = 99, accept_encoding = 10102, private_data = 10103, private_info = 0x100000 + 21 };

static void *(*easy_init)(void);
static void (*easy_cleanup)(void *);
static int (*easy_setopt)(void *, int, ...);
static int (*easy_getinfo)(void *, int, ...);
static int (*easy_perform)(void *);
static void *(*multi_init)(void);
static int (*multi_cleanup)(void *);
static int (*multi_add)(void *, void *);
static int (*multi_remove)(void *, void *);
static int (*multi_perform)(void *, int *);
static int (*multi_poll)(void *, void *, unsigned, int, int *);
static int (*multi_wakeup)(void *);
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
    {"curl_multi_info_read", &multi_info}, {"curl_multi_wakeup", &multi_wakeup},
    {"curl_easy_getinfo", &easy_getinfo},
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

static struct {
  pthread_mutex_t lock;
  void *multi;
  struct small_request *waiting, **end, *spare;
  int sleeps;
} hand = {.lock = PTHREAD_MUTEX_INITIALIZER, .end = &hand.waiting};

static size_t add_bytes(char *bytes, size_t size, size_t count, void *context) {
  struct small_request *request = context;
  const size_t added = size * count;
  if (request->count + added > request->room) {
    request->room = 2 * (request->count + added);
    request->bytes = realloc(request->bytes, request->room);
  }
  memcpy(request->bytes + request->count, bytes, added);
  request->count += added;
  return added;
}

static size_t add_header(char *bytes, size_t size, size_t count, void *context) {
  struct small_request *request = context;
  const size_t added = add_bytes(bytes, size, count, context);
  request->head = request->count;
  return added;
}

static void *perform_sent(void *unused) {
  int running = 0, left = 0;
  while (1) {
    pthread_mutex_lock(&hand.lock);
    struct small_request *request = hand.waiting;
    hand.waiting = 0;
    hand.end = &hand.waiting;
    hand.sleeps = 0;
    pthread_mutex_unlock(&hand.lock);
    for (; request; request = request->next) multi_add(hand.multi, request->easy);
    multi_perform(hand.multi, &running);
    int completed = 0;
    struct message *message;
    while ((message = multi_info(hand.multi, &left))) {
      const int result = message->data.result;
      void *easy = message->easy;
      easy_getinfo(easy, private_info, &request);
      multi_remove(hand.multi, easy);
      request->completed(request->context, request, result);
      completed++;
    }
    pthread_mutex_lock(&hand.lock);
    hand.sleeps = !completed && !hand.waiting;
    const int sleeps = hand.sleeps;
    pthread_mutex_unlock(&hand.lock);
    if (sleeps) multi_poll(hand.multi, 0, 0, 1000, 0);
  }
  return unused;
}

static struct small_request *new_request(void) {
  struct small_request *request = calloc(1, sizeof *request);
  void *easy = request->easy = easy_init();
  easy_setopt(easy, write_function, add_bytes);
  easy_setopt(easy, write_data, request);
  easy_setopt(easy, header_function, add_header);
  easy_setopt(easy, header_data, request);
  easy_setopt(easy, no_signal, 1L);
  easy_setopt(easy, proxy, "");
  easy_setopt(easy, accept_encoding, "");
  easy_setopt(easy, private_data, request);
  return request;
}

int small_requests_send(const char *url, void *context, small_request_completed *completed) {
  pthread_t thread;
  pthread_mutex_lock(&hand.lock);
  const int can_send = hand.multi || ((easy_init || load()) && (hand.multi = multi_init()) &&
                                      pthread_create(&thread, 0, perform_sent, 0) == 0);
  if (can_send) {
    struct small_request *request = hand.spare;
    if (request) hand.spare = request->next;
    else request = new_request();
    easy_setopt(request->easy, url_option, url);
    request->context = context;
    request->completed = completed;
    request->count = request->head = 0;
    request->next = 0;
    *hand.end = request;
    hand.end = &request->next;
    if (hand.sleeps) multi_wakeup(hand.multi);
    hand.sleeps = 0;
  }
  pthread_mutex_unlock(&hand.lock);
  return can_send;
}

void small_requests_reuse(struct small_request *request) {
  pthread_mutex_lock(&hand.lock);
  request->next = hand.spare;
  hand.spare = request;
  pthread_mutex_unlock(&hand.lock);
}

#else

int small_requests_send(const char *url, void *context, small_request_completed *completed) {
  (void)url, (void)context, (void)completed;
  return 0;
}

void small_requests_reuse(struct small_request *request) { (void)request; }

double small_requests_drive(const char *url, int count, int width) {
  (void)url, (void)count, (void)width;
  return -1;
}

#endif

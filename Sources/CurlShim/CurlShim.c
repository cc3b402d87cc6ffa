// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#include "CurlShim.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

typedef int (*variadic)(void *, int, ...);

/// A message of `curl_multi_info_read`.
struct message {
  int kind;
  void *easy;
  union {
    void *whatever;
    int result;
  } data;
};

static struct {
  int (*global_init)(long);
  char *(*version)(void);
  void *(*easy_init)(void);
  void (*easy_cleanup)(void *);
  void (*easy_reset)(void *);
  int (*easy_pause)(void *, int);
  variadic easy_setopt;
  variadic easy_getinfo;
  void *(*slist_append)(void *, const char *);
  void (*slist_free_all)(void *);
  void *(*multi_init)(void);
  int (*multi_cleanup)(void *);
  int (*multi_add_handle)(void *, void *);
  int (*multi_remove_handle)(void *, void *);
  variadic multi_setopt;
  int (*multi_socket_action)(void *, int, int, int *);
  struct message *(*multi_info_read)(void *, int *);
} curl;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_tried = 0;
static const char *problem = 0;

static const char *load(const char *name) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return "it cannot be loaded";
  const struct {
    const char *name;
    void *place;
  } functions[] = {
    {"curl_global_init", &curl.global_init},
    {"curl_version", &curl.version},
    {"curl_easy_init", &curl.easy_init},
    {"curl_easy_cleanup", &curl.easy_cleanup},
    {"curl_easy_reset", &curl.easy_reset},
    {"curl_easy_pause", &curl.easy_pause},
    {"curl_easy_setopt", &curl.easy_setopt},
    {"curl_easy_getinfo", &curl.easy_getinfo},
    {"curl_slist_append", &curl.slist_append},
    {"curl_slist_free_all", &curl.slist_free_all},
    {"curl_multi_init", &curl.multi_init},
    {"curl_multi_cleanup", &curl.multi_cleanup},
    {"curl_multi_add_handle", &curl.multi_add_handle},
    {"curl_multi_remove_handle", &curl.multi_remove_handle},
    {"curl_multi_setopt", &curl.multi_setopt},
    {"curl_multi_socket_action", &curl.multi_socket_action},
    {"curl_multi_info_read", &curl.multi_info_read},
  };
  for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
    void *function = dlsym(library, functions[index].name);
    if (!function) return "a function is missing in it";
    *(void **)functions[index].place = function;
  }
  const long everything = 3;
  return curl.global_init(everything) == 0 ? 0 : "it cannot be initialized";
}

const char *stepwise_curl_load(const char *name) {
  pthread_mutex_lock(&lock);
  if (!is_tried) {
    is_tried = 1;
    problem = load(name);
  }
  const char *result = problem;
  pthread_mutex_unlock(&lock);
  return result;
}

const char *stepwise_curl_version(void) { return curl.version(); }

void *stepwise_curl_easy_init(void) { return curl.easy_init(); }
void stepwise_curl_easy_cleanup(void *easy) { curl.easy_cleanup(easy); }
void stepwise_curl_easy_reset(void *easy) { curl.easy_reset(easy); }
int stepwise_curl_easy_pause(void *easy, int mask) { return curl.easy_pause(easy, mask); }

int stepwise_curl_easy_set_long(void *easy, int option, long value) { return curl.easy_setopt(easy, option, value); }
int stepwise_curl_easy_set_offset(void *easy, int option, int64_t value) {
  return curl.easy_setopt(easy, option, value);
}
int stepwise_curl_easy_set_string(void *easy, int option, const char *value) {
  return curl.easy_setopt(easy, option, value);
}
int stepwise_curl_easy_set_pointer(void *easy, int option, void *value) {
  return curl.easy_setopt(easy, option, value);
}
int stepwise_curl_easy_set_data_callback(void *easy, int option, stepwise_curl_data_callback callback) {
  return curl.easy_setopt(easy, option, callback);
}
int stepwise_curl_easy_set_seek_callback(void *easy, int option, stepwise_curl_seek_callback callback) {
  return curl.easy_setopt(easy, option, callback);
}

void stepwise_curl_easy_set_socket_callbacks(
  void *easy, stepwise_curl_open_callback open, void *open_context, stepwise_curl_close_callback close,
  void *close_context) {
  const int open_function = 20163, open_data = 10164, close_function = 20208, close_data = 10209;
  curl.easy_setopt(easy, open_function, open);
  curl.easy_setopt(easy, open_data, open_context);
  curl.easy_setopt(easy, close_function, close);
  curl.easy_setopt(easy, close_data, close_context);
}

void stepwise_curl_easy_set_ready_callback(void *easy, stepwise_curl_ready_callback callback, void *context) {
  const int ready_function = 20312, ready_data = 10313;
  curl.easy_setopt(easy, ready_function, callback);
  curl.easy_setopt(easy, ready_data, context);
}

/// How many bytes OpenSSL has decrypted that libcurl has not read; 0 without OpenSSL.
static int decrypted_bytes(void *easy) {
  const int info = 0x40002d, openssl = 1;
  const struct {
    int backend;
    void *connection;
  } *session = 0;
  if (curl.easy_getinfo(easy, info, &session) != 0 || !session || session->backend != openssl) return 0;
  static int (*pending)(const void *) = 0;
  if (!session->connection) return 0;
  if (!pending) {
    void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_NOLOAD);
    if (!library) library = dlopen("libssl.so.1.1", RTLD_NOW | RTLD_NOLOAD);
    if (library) *(void **)&pending = dlsym(library, "SSL_pending");
  }
  return pending ? pending(session->connection) : 0;
}

int stepwise_curl_has_input(void *easy, int descriptor) {
  char byte;
  if (recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) return 1;
  if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return 1;
  return decrypted_bytes(easy) > 0;
}

int stepwise_curl_open_socket(const void *address) {
  // The beginning of libcurl's `struct curl_sockaddr`.
  const struct {
    int family, type, protocol;
  } *parts = address;
  return socket(parts->family, parts->type | SOCK_CLOEXEC, parts->protocol);
}

long stepwise_curl_easy_get_long(void *easy, int info) {
  long value = 0;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : 0;
}
int64_t stepwise_curl_easy_get_offset(void *easy, int info) {
  int64_t value = 0;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : 0;
}
void *stepwise_curl_easy_get_pointer(void *easy, int info) {
  void *value = 0;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : 0;
}

void *stepwise_curl_list_append(void *list, const char *line) { return curl.slist_append(list, line); }
void stepwise_curl_list_free(void *list) { curl.slist_free_all(list); }

void *stepwise_curl_multi_init(void) { return curl.multi_init(); }
void stepwise_curl_multi_cleanup(void *multi) { curl.multi_cleanup(multi); }
int stepwise_curl_multi_add(void *multi, void *easy) { return curl.multi_add_handle(multi, easy); }
int stepwise_curl_multi_remove(void *multi, void *easy) { return curl.multi_remove_handle(multi, easy); }
int stepwise_curl_multi_set_long(void *multi, int option, long value) {
  return curl.multi_setopt(multi, option, value);
}

void stepwise_curl_multi_set_callbacks(
  void *multi, stepwise_curl_socket_callback socket, stepwise_curl_timer_callback timer, void *context) {
  const int socket_function = 20001, socket_data = 10002, timer_function = 20004, timer_data = 10005;
  curl.multi_setopt(multi, socket_function, socket);
  curl.multi_setopt(multi, socket_data, context);
  curl.multi_setopt(multi, timer_function, timer);
  curl.multi_setopt(multi, timer_data, context);
}

int stepwise_curl_multi_act(void *multi, int descriptor, int events) {
  int running = 0;
  return curl.multi_socket_action(multi, descriptor, events, &running);
}

void *stepwise_curl_multi_completed(void *multi, int *result) {
  const int done = 1;
  int left = 0;
  struct message *message;
  while ((message = curl.multi_info_read(multi, &left))) {
    if (message->kind != done) continue;
    *result = message->data.result;
    return message->easy;
  }
  return 0;
}

#else

// Apple's platforms have URLSession: nothing is compiled there.
typedef int stepwise_curl_is_not_used;

#endif

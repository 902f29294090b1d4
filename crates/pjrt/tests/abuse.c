/* Calls every function of a PJRT plugin with null and with garbage arguments: each must come back.
 *
 * usage: abuse PLUGIN.so
 * Prints how many calls were made and how many returned an error. No header of PJRT is needed: the
 * table is a run of function pointers after a header of 40 bytes, and every argument struct starts
 * with its size. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

struct api {
  size_t struct_size;
  struct extension *extension_start;
  size_t version_size;
  void *version_extension;
  int major, minor;
  void *functions[];
};

struct extension {
  size_t struct_size;
  int type;
  struct extension *next;
  void *functions[];
};

typedef void *(*function)(void *);

/* The table starts with the two functions that return nothing: what they leave in the register of
 * the result is no error. */
enum { ERROR_DESTROY = 0, ERROR_MESSAGE = 1 };

static long calls, errors;

static void destroy(struct api *api, void *error) {
  size_t args[3] = {24, 0, (size_t)error};
  ((function)api->functions[ERROR_DESTROY])(args);
}

static void call(struct api *api, function f, int returns_error) {
  static const unsigned char fills[] = {0x00, 0x01, 0x41, 0x80, 0xff};
  static const size_t sizes[] = {0, 1, 15, 16, 24, 512, (size_t)-1};
  void *error = f(NULL);
  calls++;
  if (returns_error && error != NULL) {
    errors++;
    destroy(api, error);
  }
  for (size_t fill = 0; fill < sizeof fills; fill++) {
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
      size_t args[128];
      memset(args, fills[fill], sizeof args);
      args[0] = sizes[size];
      error = f(args);
      calls++;
      if (returns_error && error != NULL) {
        errors++;
        destroy(api, error);
      }
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  struct api *(*get)(void) = (struct api * (*)(void)) dlsym(plugin, "GetPjrtApi");
  if (get == NULL) return 2;
  struct api *api = get();
  size_t functions = (api->struct_size - 40) / sizeof(void *);
  for (size_t i = 0; i < functions; i++) {
    if (api->functions[i] == NULL) {
      printf("function %zu is null\n", i);
      return 1;
    }
    call(api, (function)api->functions[i], i != ERROR_DESTROY && i != ERROR_MESSAGE);
  }
  for (struct extension *e = api->extension_start; e != NULL; e = e->next) {
    /* The profiler's (type 1) pointers lead to a table of its own, with errors of its own. */
    if (e->type == 1) continue;
    for (size_t i = 0; i < (e->struct_size - 24) / sizeof(void *); i++)
      call(api, (function)e->functions[i], 1);
  }
  printf("functions %zu calls %ld errors %ld\n", functions, calls, errors);
  return 0;
}

#include "engine/curl.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace daybook::engine {
namespace {

constexpr const char* kLibrary = "libcurl.so.4";
constexpr int kExitNotLoaded = 127;

[[noreturn]] void not_loaded() {
  std::fprintf(stderr, "daybook: %s; install the package libcurl4\n", ::dlerror());
  std::exit(kExitNotLoaded);
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) not_loaded();
}

Curl load() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) not_loaded();
  Curl made;
  find(library, "curl_easy_cleanup", made.easy_cleanup);
  find(library, "curl_easy_getinfo", made.easy_getinfo);
  find(library, "curl_easy_init", made.easy_init);
  find(library, "curl_easy_setopt", made.easy_setopt);
  find(library, "curl_easy_strerror", made.easy_strerror);
  find(library, "curl_free", made.free);
  find(library, "curl_getdate", made.getdate);
  find(library, "curl_multi_add_handle", made.multi_add_handle);
  find(library, "curl_multi_cleanup", made.multi_cleanup);
  find(library, "curl_multi_info_read", made.multi_info_read);
  find(library, "curl_multi_init", made.multi_init);
  find(library, "curl_multi_remove_handle", made.multi_remove_handle);
  find(library, "curl_multi_setopt", made.multi_setopt);
  find(library, "curl_multi_socket_action", made.multi_socket_action);
  find(library, "curl_slist_append", made.slist_append);
  find(library, "curl_slist_free_all", made.slist_free_all);
  find(library, "curl_url", made.url);
  find(library, "curl_url_cleanup", made.url_cleanup);
  find(library, "curl_url_get", made.url_get);
  find(library, "curl_url_set", made.url_set);
  // Once a process, before the first handle.
  decltype(&curl_global_init) global_init = nullptr;
  find(library, "curl_global_init", global_init);
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    std::fputs("daybook: libcurl cannot be initialised\n", stderr);
    std::exit(kExitNotLoaded);
  }
  return made;
}

}  // namespace

const Curl& curl() {
  static const Curl loaded = load();
  return loaded;
}

}  // namespace daybook::engine

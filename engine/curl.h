// libcurl's functions, by their names without "curl_". The library is loaded with the first use of
// one: it brings two dozen others with it, and loading those takes longer than most commands do.
#pragma once

#include <curl/curl.h>

namespace daybook::engine {

struct Curl {
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_free) free;
  decltype(&curl_getdate) getdate;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_socket_action) multi_socket_action;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_url) url;
  decltype(&curl_url_cleanup) url_cleanup;
  decltype(&curl_url_get) url_get;
  decltype(&curl_url_set) url_set;
};

/// Where the library is missing the program ends, as it would have at its start.
const Curl& curl();

}  // namespace daybook::engine

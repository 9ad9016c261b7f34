#include "store/http_exchange.h"

#include <curl/curl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "store/names.h"

namespace inferens {
namespace {

constexpr int kMaxRedirects = 8;
constexpr size_t kMaxHeaderBytes = size_t{64} << 10;

struct FreeEasy {
  void operator()(CURL* c) const { curl_easy_cleanup(c); }
};
struct FreeList {
  void operator()(curl_slist* l) const { curl_slist_free_all(l); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

bool set_up_curl() {
  // libcurl asks for one call per process before any other; a local static is initialized once, whoever comes first.
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  return ready;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "bytes 100-199/1000"
void parse_content_range(std::string_view text, HttpHead& head) {
  if (!text.starts_with("bytes ")) return;
  text = trimmed(text.substr(6));
  head.range_start = parse_number<uint64_t>(text.substr(0, text.find('-')));
  size_t slash = text.find('/');
  if (slash != std::string_view::npos) head.range_total = parse_number<uint64_t>(text.substr(slash + 1));
}

void read_header(std::string_view line, HttpHead& head) {
  size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name = ascii_lower(line.substr(0, colon));
  std::string_view value = trimmed(line.substr(colon + 1));
  if (name == "content-length") head.content_length = parse_number<uint64_t>(value);
  if (name == "content-range") parse_content_range(value, head);
  if (name == "retry-after") head.retry_after_s = parse_number<int>(value);
  if (name == "etag" && value.starts_with('"')) head.etag = value;
  if (name == "content-encoding") head.content_encoding = ascii_lower(value);
  if (name == "link") head.link = value;
}

// State of one request, shared by libcurl's callbacks.
struct Hop {
  const HttpHandlers& handlers;
  AddressPolicy& policy;
  CURL* curl;
  bool redirected;
  HttpHead head;
  size_t header_bytes = 0;
  bool head_given = false;
  Status failure;

  bool is_redirect() const { return head.status == 301 || head.status == 302 || head.status == 303 || head.status == 307 || head.status == 308; }
  bool is_success() const { return head.status >= 200 && head.status < 300; }

  bool give_head() {
    if (head_given) return true;
    head_given = true;
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    head.status = static_cast<int>(status);
    if (is_redirect()) return true;
    failure = handlers.on_head(head);
    return failure.ok();
  }
};

size_t on_header(char* data, size_t size, size_t count, void* context) {
  auto& hop = *static_cast<Hop*>(context);
  std::string_view line(data, size * count);
  hop.header_bytes += line.size();
  if (hop.header_bytes > kMaxHeaderBytes) {
    hop.failure = data_loss("the server's headers are longer than 64 KiB");
    return 0;
  }
  if (line.starts_with("HTTP/")) hop.head = HttpHead();  // an interim response's headers do not count
  read_header(line, hop.head);
  return line.size();
}

size_t on_body(char* data, size_t size, size_t count, void* context) {
  auto& hop = *static_cast<Hop*>(context);
  if (!hop.give_head()) return 0;
  if (!hop.is_success()) return 0;  // no one reads the text of an error or a redirect
  hop.failure = hop.handlers.on_body(std::as_bytes(std::span(data, size * count)));
  return hop.failure.ok() ? size * count : 0;
}

curl_socket_t on_open_socket(void* context, curlsocktype, curl_sockaddr* address) {
  auto& hop = *static_cast<Hop*>(context);
  hop.failure = hop.policy.check_address(&address->addr, hop.redirected);
  if (!hop.failure.ok()) return CURL_SOCKET_BAD;
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

HeaderList make_headers(const HttpGet& request, bool with_token, const std::string& if_range) {
  HeaderList list;
  auto add = [&](const std::string& header) {
    curl_slist* longer = curl_slist_append(list.get(), header.c_str());
    if (longer != nullptr) {
      (void)list.release();
      list.reset(longer);
    }
  };
  for (const std::string& header : request.headers) add(header);
  if (with_token) add("Authorization: Bearer " + request.bearer_token);
  if (!if_range.empty()) add("If-Range: " + if_range);
  return list;
}

void set_options(CURL* curl, Hop& hop, const std::string& url, const HeaderList& headers, uint64_t resume_from, const HttpOptions& options) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "inferens");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_timeout_s));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout_s));
  if (resume_from > 0) curl_easy_setopt(curl, CURLOPT_RANGE, (std::to_string(resume_from) + "-").c_str());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &hop);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &hop);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &hop);
}

// The origin without path and query, which may hold a signature that is a secret.
std::string shown_url(const std::string& url) { return printable(url.substr(0, url.find_first_of("?#"))); }

HttpOutcome outcome_of_status(const HttpHead& head, const std::string& url) {
  std::string answer = "the server answered " + std::to_string(head.status) + " for '" + shown_url(url) + "'";
  switch (head.status) {
    case 401: return {{StatusCode::kUnauthenticated, answer + ": it wants a sign-in; for hf: set HF_TOKEN to an access token"}, false, {}};
    case 403: return {{StatusCode::kPermissionDenied, answer + ": access is not allowed; the model may be gated, or the token (HF_TOKEN) lacks the right"}, false, {}};
    case 404: return {not_found(answer + ": no such model, version or file; check the spelling"), false, {}};
    case 429: return {unavailable(answer + ": too many requests; wait a little and pull again"), true, head.retry_after_s};
    default: break;
  }
  if (head.status == 408 || head.status >= 500) return {unavailable(answer + "; wait a little and pull again"), true, head.retry_after_s};
  return {failed_precondition(answer + ", which is not a file"), false, {}};
}

HttpOutcome outcome_of_curl(CURLcode code, const std::string& url) {
  std::string what = "fetching '" + shown_url(url) + "' failed: " + curl_easy_strerror(code);
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE: return {{StatusCode::kPermissionDenied, what + "; the server cannot be trusted, or this machine lacks its certificate (Debian: apt install ca-certificates)"}, false, {}};
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return {invalid_argument(what), false, {}};
    default: return {unavailable(what + "; check the network and pull again, it goes on where it stopped"), true, {}};
  }
}

// One request without its redirects. `next` receives where a redirect leads.
HttpOutcome run_hop(const HttpGet& request, const std::string& url, bool redirected, uint64_t resume_from, const std::string& if_range,
                    const HttpOptions& options, AddressPolicy& policy, const HttpHandlers& handlers, std::string& next) {
  if (Status s = policy.check_url(url, redirected); !s.ok()) return {s, false, {}};
  std::unique_ptr<CURL, FreeEasy> curl(set_up_curl() ? curl_easy_init() : nullptr);
  if (curl == nullptr) return {internal_error("libcurl could not be set up"), false, {}};
  bool with_token = !request.bearer_token.empty() && is_same_origin(url, request.url);
  HeaderList headers = make_headers(request, with_token, resume_from > 0 ? if_range : "");
  Hop hop{handlers, policy, curl.get(), redirected, {}, 0, false, {}};
  set_options(curl.get(), hop, url, headers, resume_from, options);
  CURLcode code = curl_easy_perform(curl.get());
  if (code == CURLE_OK) hop.give_head();  // an empty body
  if (!hop.failure.ok()) return {hop.failure, false, {}};
  if (hop.head_given && hop.is_redirect()) {
    char* location = nullptr;
    curl_easy_getinfo(curl.get(), CURLINFO_REDIRECT_URL, &location);
    if (location == nullptr) return {data_loss("the server redirects '" + shown_url(url) + "' to nowhere"), false, {}};
    next = location;
    return {};
  }
  if (hop.head_given && !hop.is_success()) return outcome_of_status(hop.head, url);
  if (code != CURLE_OK) return outcome_of_curl(code, url);
  return {};
}

}  // namespace

HttpOutcome http_exchange(const HttpGet& request, uint64_t resume_from, const std::string& if_range, const HttpOptions& options, AddressPolicy& policy,
                          const HttpHandlers& handlers) {
  std::string url = request.url;
  for (int hops = 0; hops <= kMaxRedirects; ++hops) {
    std::string next;
    HttpOutcome outcome = run_hop(request, url, hops > 0, resume_from, if_range, options, policy, handlers, next);
    if (hops == 0) policy.first_request_done();
    if (next.empty()) return outcome;
    url = next;
  }
  return {failed_precondition("the server redirects more than " + std::to_string(kMaxRedirects) + " times from '" + shown_url(request.url) + "'"), false, {}};
}

}  // namespace inferens

#include "cli/server_client.h"

#include <curl/curl.h>

#include <nlohmann/json.hpp>

#include "cli/flags.h"
#include "store/names.h"

namespace inferens {
namespace {

constexpr long kConnectSeconds = 5;
constexpr long kSeconds = 60;
constexpr size_t kMostBytes = size_t{16} << 20;

struct FreeEasy {
  void operator()(CURL* c) const { curl_easy_cleanup(c); }
};
struct FreeList {
  void operator()(curl_slist* l) const { curl_slist_free_all(l); }
};
using Headers = std::unique_ptr<curl_slist, FreeList>;

size_t append(const char* data, size_t size, size_t count, void* to) {
  auto& text = *static_cast<std::string*>(to);
  const size_t bytes = size * count;
  if (bytes > kMostBytes - text.size()) return 0;  // ends the transfer
  text.append(data, bytes);
  return bytes;
}

void add(Headers& headers, const std::string& line) {
  if (curl_slist* const longer = curl_slist_append(headers.get(), line.c_str())) {
    static_cast<void>(headers.release());
    headers.reset(longer);
  }
}

// What the server's own error says.
std::string message_in(const std::string& body) {
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object() || !json.contains("error") || !json["error"].is_object()) return {};
  const auto message = json["error"].find("message");
  return message != json["error"].end() && message->is_string() ? printable(message->get<std::string>()) : std::string();
}

Status to_status(const ServerFlags& flags, long status, const std::string& body) {
  if (status >= 200 && status < 300) return ok_status();
  std::string message = message_in(body);
  if (message.empty()) message = "it is no inferens server: it answered with status " + std::to_string(status);
  if (status == 401) message += " (--api-key, or INFERENS_API_KEY)";
  return {status == 404 ? StatusCode::kNotFound : StatusCode::kUnavailable, flags.server + ": " + message};
}

}  // namespace

void add_server_flags(CLI::App& verb, ServerFlags& flags) {
  add_text(verb, "--server", flags.server, "URL", "The server to ask (default http://127.0.0.1:8080)");
  add_text(verb, "--api-key", flags.api_key, "KEY", "An admin's key, where the server asks for keys");
}

StatusOr<std::string> ask_server(const ServerFlags& flags, const std::string& path, const std::string& body) {
  const std::unique_ptr<CURL, FreeEasy> curl(curl_easy_init());
  if (!curl) return internal_error("libcurl cannot be set up");
  std::string base = flags.server;
  while (base.ends_with('/')) base.pop_back();
  const std::string url = base + path;
  std::string answer;
  Headers headers;
  if (!flags.api_key.empty()) add(headers, "Authorization: Bearer " + flags.api_key);
  if (!body.empty()) add(headers, "Content-Type: application/json");
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "localhost,127.0.0.1,::1");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, append);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer);
  if (!body.empty()) {
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.c_str());
  }
  const CURLcode code = curl_easy_perform(curl.get());
  const bool no_address = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL || base.ends_with(':');
  if (no_address) return invalid_argument("--server: '" + printable(flags.server) + "' is not an http:// or https:// address");
  if (code != CURLE_OK) return unavailable("cannot ask the server at " + flags.server + ": " + curl_easy_strerror(code) + "; is 'inferens serve' running there? (--server URL)");
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  if (Status s = to_status(flags, status, answer); !s.ok()) return s;
  return answer;
}

}  // namespace inferens

// SHA-256 of bytes that come in pieces (OpenSSL EVP).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace inferens {

class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  // "sha256:<64 lower-case hex>" of everything so far; starts anew afterwards.
  std::string digest();
  // The 32 raw bytes; starts anew afterwards.
  std::string raw();

 private:
  void restart();
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string sha256_digest(std::string_view text);

}  // namespace inferens

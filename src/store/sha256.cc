#include "store/sha256.h"

#include <openssl/evp.h>

#include <new>

namespace inferens {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr) throw std::bad_alloc();
  restart();
}

void Sha256::restart() {
  // Fails only where a policy forbids SHA-256 itself; then nothing can be verified and nothing may be pulled.
  if (EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
}

void Sha256::update(std::span<const std::byte> bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::string Sha256::raw() {
  std::string bytes(32, '\0');
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(bytes.data()), nullptr);
  restart();
  return bytes;
}

std::string Sha256::digest() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string text = "sha256:";
  for (unsigned char byte : raw()) {
    text += kHex[byte >> 4];
    text += kHex[byte & 15];
  }
  return text;
}

std::string sha256_digest(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.digest();
}

}  // namespace inferens

// HTTPS: the same server behind TLS, kept connections and streams included; and certificates that cannot be used are told.
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "server_fixture.h"

namespace inferens::testing {
namespace {

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* p) const { kFree(p); }
};
template <class T, auto kFree>
using Owned = std::unique_ptr<T, Free<kFree>>;

// A self-signed pair in PEM files.
void write_certificate(const std::string& certificate, const std::string& key_path) {
  const Owned<EVP_PKEY, EVP_PKEY_free> key(EVP_EC_gen("P-256"));
  const Owned<X509, X509_free> x509(X509_new());
  ASN1_INTEGER_set(X509_get_serialNumber(x509.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(x509.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(x509.get()), 3600);
  X509_set_pubkey(x509.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(x509.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(x509.get(), name);
  ASSERT_NE(X509_sign(x509.get(), key.get(), EVP_sha256()), 0);
  const Owned<FILE, fclose> key_file(std::fopen(key_path.c_str(), "w"));
  const Owned<FILE, fclose> certificate_file(std::fopen(certificate.c_str(), "w"));
  ASSERT_EQ(PEM_write_PrivateKey(key_file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
  ASSERT_EQ(PEM_write_X509(certificate_file.get(), x509.get()), 1);
}

class TlsTest : public ServerTest {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::filesystem::temp_directory_path() / ("inferens-tls-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    write_certificate(folder_ / "cert.pem", folder_ / "key.pem");
    ServerOptions options = tiny_server_options();
    options.http.tls_certificate = folder_ / "cert.pem";
    options.http.tls_key = folder_ / "key.pem";
    server_ = start_server(std::move(options));
  }
  static void TearDownTestSuite() {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }
  inline static std::filesystem::path folder_;
};

class TlsConnection {
 public:
  explicit TlsConnection(uint16_t port) : context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_.get())) {
    fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return;
    SSL_set_fd(ssl_.get(), fd_);
    connected_ = SSL_connect(ssl_.get()) == 1;
  }
  ~TlsConnection() { ::close(fd_); }
  bool connected() const { return connected_; }
  void send(const std::string& text) { SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())); }
  // Everything up to and including `end`.
  std::string read_until(const std::string& end) {
    std::array<char, 4096> block;
    while (buffer_.find(end) == std::string::npos) {
      const int n = SSL_read(ssl_.get(), block.data(), static_cast<int>(block.size()));
      if (n <= 0) return std::exchange(buffer_, {});
      buffer_.append(block.data(), static_cast<size_t>(n));
    }
    const size_t size = buffer_.find(end) + end.size();
    std::string text = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return text;
  }

 private:
  Owned<SSL_CTX, SSL_CTX_free> context_;
  Owned<SSL, SSL_free> ssl_;
  int fd_ = -1;
  bool connected_ = false;
  std::string buffer_;
};

TEST_F(TlsTest, StreamsAndKeepsConnections) {
  TlsConnection connection(port());
  ASSERT_TRUE(connection.connected());
  for (int i = 0; i < 3; ++i) {
    connection.send(request_text("POST", "/v1/completions", completion({{"stream", true}}).dump()));
    EXPECT_NE(connection.read_until("0\r\n\r\n").find("data: [DONE]"), std::string::npos) << i;
    connection.send(request_text("GET", "/health", ""));
    EXPECT_NE(connection.read_until("\"ok\"}").find("200 OK"), std::string::npos) << i;
  }
}

TEST_F(TlsTest, AClientWithoutTlsGetsNothing) {
  const Reply reply = ask(port(), "GET", "/health");
  EXPECT_EQ(reply.status, 0);
  EXPECT_TRUE(TlsConnection(port()).connected());
}

TEST_F(TlsTest, ACertificateThatCannotBeUsedIsTold) {
  for (const auto& [certificate, key] : {std::pair(folder_ / "cert.pem", folder_ / "none.pem"), std::pair(folder_ / "key.pem", folder_ / "key.pem"), std::pair(folder_ / "cert.pem", std::filesystem::path())}) {
    ServerOptions options = tiny_server_options();
    options.load_at_start.clear();
    options.http.tls_certificate = certificate;
    options.http.tls_key = key;
    const auto server = Server::start(std::move(options));
    EXPECT_FALSE(server.ok());
    EXPECT_EQ(server.status().code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace inferens::testing

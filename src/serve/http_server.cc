#include "serve/http_server.h"

#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <list>
#include <random>
#include <thread>

#include "base/log.h"
#include "base/random.h"
#include "serve/http_session.h"
#include "serve/http_wire.h"

namespace inferens {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::ip::tcp;
using boost::system::error_code;

// When the process is out of descriptors: until some are closed.
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::milliseconds kDrainPoll{20};
// For sessions to write their last error after the drain time is up.
constexpr std::chrono::milliseconds kLastWords{1'000};

// 24 hex digits that nobody can guess: they give access to a request's timeline.
std::string make_request_id() {
  constexpr std::string_view kHex = "0123456789abcdef";
  thread_local std::random_device device;
  std::string id;
  for (int word = 0; word < 3; ++word) {
    uint32_t bits = device();
    for (int i = 0; i < 8; ++i, bits >>= 4) id += kHex[bits & 15];
  }
  return id;
}

// A connection is a descriptor, and the usual soft limit of 1024 is below what is promised.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) spdlog::warn("the limit of open files stays low; many connections will be turned away");
}

StatusOr<tcp::endpoint> resolve(asio::io_context& io, const std::string& host, uint16_t port) {
  error_code ec;
  const asio::ip::address address = asio::ip::make_address(host, ec);
  if (!ec) return tcp::endpoint(address, port);
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, std::to_string(port), ec);
  if (ec || found.empty()) return invalid_argument("--host: '" + host + "' is neither an address nor a known name");
  return found.begin()->endpoint();
}

StatusOr<std::unique_ptr<asio::ssl::context>> tls_context(const HttpServerOptions& options) {
  if (options.tls_certificate.empty() != options.tls_key.empty()) return invalid_argument("TLS needs both a certificate and a key");
  if (options.tls_key.empty()) return std::unique_ptr<asio::ssl::context>();
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code ec;
  context->set_options(asio::ssl::context::no_sslv2 | asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, ec);
  context->use_certificate_chain_file(options.tls_certificate, ec);
  if (ec) return invalid_argument("the certificate '" + options.tls_certificate + "' cannot be used: " + ec.message());
  context->use_private_key_file(options.tls_key, asio::ssl::context::pem, ec);
  if (ec) return invalid_argument("the key '" + options.tls_key + "' cannot be used: " + ec.message());
  return context;
}

}  // namespace

struct HttpServer::State {
  State(HttpServerOptions o, HttpService& s)
      : options(std::move(o)),
        context(std::make_shared<SessionContext>(SessionContext{io, s, options.limits, make_request_id})),
        acceptor(io),
        signals(io),
        drain_timer(io) {}

  ~State() {
    io.stop();
    if (thread.joinable()) thread.join();
  }

  Status listen() {
    auto endpoint = resolve(io, options.host, options.port);
    if (!endpoint.ok()) return endpoint.status();
    auto tls_made = tls_context(options);
    if (!tls_made.ok()) return tls_made.status();
    tls = std::move(*tls_made);
    error_code ec;
    acceptor.open(endpoint->protocol(), ec);
    if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) acceptor.bind(*endpoint, ec);
    if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
    if (!ec) port = acceptor.local_endpoint(ec).port();
    if (!ec) return ok_status();
    return unavailable("cannot listen on " + options.host + " port " + std::to_string(options.port) + ": " + ec.message() + "; choose another with --port");
  }

  awaitable<void> accept_all() {
    while (acceptor.is_open()) {
      error_code ec;
      tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, ec));
      if (ec == asio::error::operation_aborted || !acceptor.is_open()) co_return;
      if (ec) {
        asio::steady_timer pause(io, kAcceptPause);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        continue;
      }
      if (live_sessions() >= options.limits.connections) {
        turn_away(socket);
        continue;
      }
      auto session = make_session(std::move(socket), context, tls.get());
      sessions.push_back(session);
      session->start();
    }
  }

  // Says so where that takes no time: a socket that is new has room for it.
  void turn_away(tcp::socket& socket) {
    spdlog::warn("more than {} connections; one was turned away", options.limits.connections);
    if (tls) return;
    const ApiError error{.http = 503, .type = "server_error", .code = "server_is_overloaded", .message = "the server has as many connections as it takes; come back later", .retry_after = 1};
    WireOptions last;
    last.close = true;
    error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(to_wire(error_response(error), {}, last)), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
  }

  size_t live_sessions() {
    // Looked through only when it may have doubled, so that accepting stays cheap.
    if (sessions.size() < prune_at && sessions.size() < options.limits.connections) return sessions.size();
    std::erase_if(sessions, [](const std::weak_ptr<HttpSession>& session) { return session.expired(); });
    prune_at = sessions.size() * 2 + 64;
    return sessions.size();
  }

  template <class F>
  void for_each_session(F&& f) {
    for (const std::weak_ptr<HttpSession>& weak : std::list(sessions)) {
      if (const auto session = weak.lock()) f(*session);
    }
  }

  bool all_gone() {
    std::erase_if(sessions, [](const std::weak_ptr<HttpSession>& session) { return session.expired(); });
    return sessions.empty();
  }

  void begin_drain() {
    if (context->draining) return;
    spdlog::info("draining: running answers have {} ms", options.drain.count());
    context->draining = true;
    if (options.on_drain) options.on_drain();
    error_code ignored;
    acceptor.close(ignored);
    for_each_session([](HttpSession& session) { session.close_if_idle(); });
    asio::co_spawn(io, drain_all(), asio::detached);
  }

  awaitable<void> drain_all() {
    const auto end = std::chrono::steady_clock::now() + options.drain;
    while (!all_gone() && std::chrono::steady_clock::now() < end) co_await pause();
    cut = !all_gone();
    if (cut) {
      const ApiError error{.http = 503, .type = "server_error", .code = "server_is_stopping", .message = "the server stopped before the answer was complete", .retry_after = 1};
      for_each_session([&](HttpSession& session) { session.end_with(error); });
      const auto last = std::chrono::steady_clock::now() + kLastWords;
      while (!all_gone() && std::chrono::steady_clock::now() < last) co_await pause();
    }
    io.stop();
  }

  awaitable<void> pause() {
    error_code ignored;
    drain_timer.expires_after(kDrainPoll);
    co_await drain_timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  void wait_for_signal() {
    signals.async_wait([this](const error_code& ec, int) {
      if (ec) return;
      if (context->draining) return stop_now();
      begin_drain();
      wait_for_signal();
    });
  }

  void stop_now() {
    cut = true;
    io.stop();
  }

  HttpServerOptions options;
  asio::io_context io{1};
  std::unique_ptr<asio::ssl::context> tls;
  std::shared_ptr<SessionContext> context;
  tcp::acceptor acceptor;
  asio::signal_set signals;
  asio::steady_timer drain_timer;
  std::list<std::weak_ptr<HttpSession>> sessions;
  size_t prune_at = 64;
  uint16_t port = 0;
  bool cut = false;
  std::thread thread;
};

StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options, HttpService& service) {
  raise_descriptor_limit();
  auto state = std::make_unique<State>(std::move(options), service);
  if (Status status = state->listen(); !status.ok()) return status;
  if (state->options.handle_signals) {
    error_code ec;
    state->signals.add(SIGTERM, ec);
    state->signals.add(SIGINT, ec);
    state->wait_for_signal();
  }
  asio::co_spawn(state->io, state->accept_all(), asio::detached);
  state->thread = std::thread([&io = state->io, guard = asio::make_work_guard(state->io)] { io.run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() = default;

uint16_t HttpServer::port() const { return state_->port; }

std::string HttpServer::url() const {
  const std::string& host = state_->options.host;
  const std::string shown = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return (state_->tls ? "https://" : "http://") + shown + ":" + std::to_string(state_->port);
}

void HttpServer::drain() {
  asio::post(state_->io, [state = state_.get()] { state->begin_drain(); });
}

void HttpServer::abort() {
  asio::post(state_->io, [state = state_.get()] { state->stop_now(); });
}

bool HttpServer::wait() {
  if (state_->thread.joinable()) state_->thread.join();
  return !state_->cut;
}

}  // namespace inferens

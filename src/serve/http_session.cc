#include "serve/http_session.h"

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <type_traits>

#include "base/clock.h"
#include "base/log.h"
#include "serve/http_wire.h"

namespace inferens {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t kReadAhead = 4096;
constexpr size_t kMostDrainedBytes = size_t{1} << 20;

// Closes a socket that outlives a time. One timer for all phases: it is only started again when it must fire earlier.
class Deadline : public std::enable_shared_from_this<Deadline> {
 public:
  Deadline(asio::io_context& io, tcp::socket& socket) : timer_(io), socket_(&socket) {}

  void set(std::chrono::milliseconds in) {
    expiry_ = SteadyClock::now() + in;
    if (!running_ || expiry_ < timer_.expiry()) arm();
  }
  void clear() { expiry_ = SteadyClock::time_point::max(); }
  // The socket is about to go.
  void end() {
    socket_ = nullptr;
    timer_.cancel();
  }

 private:
  void arm() {
    running_ = true;
    timer_.expires_at(expiry_);
    timer_.async_wait([self = shared_from_this()](const error_code& ec) {
      if (ec || self->socket_ == nullptr) return;
      self->running_ = false;
      if (self->expiry_ == SteadyClock::time_point::max()) return;
      if (SteadyClock::now() < self->expiry_) return self->arm();
      error_code ignored;
      self->socket_->close(ignored);
    });
  }

  asio::steady_timer timer_;
  tcp::socket* socket_;
  SteadyClock::time_point expiry_ = SteadyClock::time_point::max();
  bool running_ = false;
};

// The place where an answer and the news of it arrive. Outlives the session when its answer comes late.
struct Exchange : std::enable_shared_from_this<Exchange> {
  explicit Exchange(asio::io_context& context) : io(context), timer(context) {}

  asio::io_context& io;
  asio::steady_timer timer;
  std::unique_ptr<Answer> answer;
  bool news = false;
  bool abandoned = false;
  std::optional<ApiError> end_with;

  void wake() {
    news = true;
    timer.cancel();
  }
  Respond respond() {
    return [self = shared_from_this()](std::unique_ptr<Answer> answer) {
      asio::post(self->io, [self, arrived = std::move(answer)]() mutable { self->arrive(std::move(arrived)); });
    };
  }
  void arrive(std::unique_ptr<Answer> arrived) {
    if (abandoned) return;
    answer = std::move(arrived);
    answer->on_news([weak = weak_from_this(), &context = io] {
      asio::post(context, [weak] {
        if (const auto self = weak.lock()) self->wake();
      });
    });
    wake();
  }
  void abandon() {
    abandoned = true;
    answer.reset();
  }
};

std::string text(boost::beast::string_view view) { return {view.data(), view.size()}; }

bool is_refusal_worth_telling(const error_code& ec) {
  return ec.category() == http::make_error_code(http::error::bad_method).category() && ec != http::error::end_of_stream &&
         ec != http::error::partial_message;
}

ApiError to_api_error(const error_code& ec, const HttpLimits& limits) {
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
    return {.http = 431, .code = "headers_too_large", .message = "the request's fields are larger than " + std::to_string(limits.header_bytes) + " bytes"};
  }
  if (ec == http::error::body_limit) {
    return {.http = 413, .code = "request_too_large", .message = "the body is larger than " + std::to_string(limits.body_bytes) + " bytes"};
  }
  return {.http = 400, .code = "invalid_http", .message = "the request is not valid HTTP/1.1: " + ec.message()};
}

template <class Stream>
class Session final : public HttpSession, public std::enable_shared_from_this<Session<Stream>> {
 public:
  static constexpr bool kTls = std::is_same_v<Stream, TlsStream>;
  using Parser = http::request_parser<http::string_body>;

  template <class... Args>
  Session(std::shared_ptr<SessionContext> context, tcp::socket socket, Args&... args)
      : context_(std::move(context)),
        stream_(std::move(socket), args...),
        buffer_(context_->limits.header_bytes + kReadAhead),
        deadline_(std::make_shared<Deadline>(context_->io, this->socket())) {}
  ~Session() override { deadline_->end(); }

  void start() override {
    asio::co_spawn(
        context_->io, [self = this->shared_from_this()] { return self->run(); },
        [](const std::exception_ptr& fault) {
          try {
            if (fault) std::rethrow_exception(fault);
          } catch (const std::exception& e) {
            spdlog::debug("a connection ended: {}", e.what());
          }
        });
  }

  void close_if_idle() override {
    if (idle_) close();
  }

  void end_with(const ApiError& error) override {
    if (!exchange_) return close();
    exchange_->end_with = error;
    exchange_->wake();
  }

 private:
  tcp::socket& socket() {
    if constexpr (kTls) {
      return stream_.next_layer();
    } else {
      return stream_;
    }
  }

  void close() {
    error_code ignored;
    socket().close(ignored);
  }

  awaitable<void> run() {
    error_code ec;
    socket().set_option(tcp::no_delay(true), ec);
    if constexpr (kTls) {
      deadline_->set(context_->limits.handshake);
      co_await stream_.async_handshake(asio::ssl::stream_base::server, asio::redirect_error(asio::use_awaitable, ec));
      if (ec) co_return;
    }
    bool again = true;
    while (again) {
      const bool there = co_await wait_for_request();
      if (!there) break;
      again = co_await serve_one();
    }
    deadline_->set(context_->limits.linger);
    if constexpr (kTls) {
      if (socket().is_open()) co_await stream_.async_shutdown(asio::redirect_error(asio::use_awaitable, ec));
    }
    close();
  }

  // The first byte of the next request.
  awaitable<bool> wait_for_request() {
    if (buffer_.size() > 0) co_return true;
    if (context_->draining) co_return false;
    idle_ = true;
    deadline_->set(context_->limits.idle);
    error_code ec;
    const size_t n = co_await stream_.async_read_some(buffer_.prepare(kReadAhead), asio::redirect_error(asio::use_awaitable, ec));
    buffer_.commit(n);
    idle_ = false;
    co_return !ec;
  }

  // True: the connection can take another request.
  awaitable<bool> serve_one() {
    const Nanos start = system_clock().now();
    const HttpLimits& limits = context_->limits;
    extra_.clear();
    head_only_ = false;
    request_ = std::make_shared<HttpRequest>();
    request_->id = context_->make_request_id();
    Parser parser;
    parser.header_limit(static_cast<uint32_t>(limits.header_bytes));
    parser.body_limit(limits.body_bytes);
    deadline_->set(limits.header);
    error_code ec;
    co_await http::async_read_header(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, ec));
    if (ec) {
      if (is_refusal_worth_telling(ec)) co_await refuse_and_close(refusal_of(to_api_error(ec, limits)));
      co_return false;
    }
    keep_alive_ = parser.get().keep_alive();
    const bool version_1_0 = parser.get().version() < 11;
    RequestHead head;
    head.id = request_->id;
    const std::optional<ApiError> fault = read_head(parser, head);
    if (fault) {
      co_await refuse_and_close(refusal_of(*fault));
      context_->service.served(head.method, head.path, fault->http, system_clock().now() - start);
      co_return false;
    }
    Admission admission = context_->service.admit(head);
    extra_ = std::move(admission.headers);
    head_only_ = head.method == "HEAD";
    if (admission.refusal) {
      const int status = admission.refusal->status;
      if (head.has_body) {
        co_await refuse_and_close(std::move(*admission.refusal));
      } else {
        co_await write_whole(std::move(*admission.refusal));
      }
      context_->service.served(head.method, admission.path, status, system_clock().now() - start);
      co_return !head.has_body && keeps_alive();
    }
    request_->dialect = admission.dialect;
    const bool complete = co_await read_body(parser);
    if (!complete) co_return false;
    request_->anthropic_version = std::move(head.anthropic_version);
    request_->method = std::move(head.method);
    request_->path = std::move(admission.path);
    request_->query = std::move(head.query);
    request_->body = std::move(parser.get().body());
    request_->key_id = std::move(admission.key_id);
    request_->admin = admission.admin;
    request_->groq = admission.groq;
    const int status = co_await answer(version_1_0);
    context_->service.served(request_->method, request_->path, status, system_clock().now() - start);
    co_return status != kClientGone && keeps_alive() && !(version_1_0 && streamed_);
  }

  static constexpr int kClientGone = 499;

  // Apart from the coroutines: temporaries of theirs that own memory are destroyed twice by GCC 12.
  HttpResponse refusal_of(const ApiError& error) const { return error_response(error, request_->error_form()); }

  bool keeps_alive() const { return keep_alive_ && !context_->draining; }

  // What the library lets pass and we do not.
  std::optional<ApiError> read_head(const Parser& parser, RequestHead& head) const {
    const auto& message = parser.get();
    const auto bad = [](std::string why) { return ApiError{.http = 400, .code = "invalid_http", .message = "the request is not valid HTTP/1.1: " + std::move(why)}; };
    head.method = text(message.method_string());
    const std::string target = text(message.target());
    const size_t question = std::min(target.find('?'), target.size());
    head.path = target.substr(0, question);
    head.query = target.substr(std::min(question + 1, target.size()));
    if (head.path.empty() || head.path.front() != '/') return bad("the target must be a path");
    const bool has_length = message.find(http::field::content_length) != message.end();
    const bool has_coding = message.find(http::field::transfer_encoding) != message.end();
    if (has_length && has_coding) return bad("both content-length and transfer-encoding");
    if (message.count(http::field::content_length) > 1 || message.count(http::field::transfer_encoding) > 1) return bad("a length is given twice");
    if (has_coding && !parser.chunked()) return bad("the only transfer-encoding is chunked");
    const size_t hosts = message.count(http::field::host);
    if (hosts > 1 || (hosts == 0 && message.version() >= 11)) return bad("exactly one host is needed");
    head.has_body = parser.chunked() || (parser.content_length() && *parser.content_length() > 0);
    const auto field = [&](const auto& name) { return text(message[name]); };
    head.host = field(http::field::host);
    head.origin = field(http::field::origin);
    head.authorization = field(http::field::authorization);
    head.x_api_key = field("x-api-key");
    head.x_goog_api_key = field("x-goog-api-key");
    head.x_goog_api_client = field("x-goog-api-client");
    head.anthropic_version = field("anthropic-version");
    head.content_type = field(http::field::content_type);
    head.content_encoding = field(http::field::content_encoding);
    head.requested_headers = field(http::field::access_control_request_headers);
    return {};
  }

  // Reads at the rate that is asked for at least; false: the connection is of no use any more.
  awaitable<bool> read_body(Parser& parser) {
    const HttpLimits& limits = context_->limits;
    error_code ec;
    if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      co_await asio::async_write(stream_, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")), asio::redirect_error(asio::use_awaitable, ec));
      if (ec) co_return false;
    }
    const auto start = SteadyClock::now();
    size_t read = 0;
    while (!parser.is_done()) {
      const auto allowed = limits.body_grace + std::chrono::milliseconds(read * 1000 / limits.body_rate);
      const auto used = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - start);
      deadline_->set(std::max(std::chrono::milliseconds(0), allowed - used));
      read += co_await http::async_read_some(stream_, buffer_, parser, asio::redirect_error(asio::use_awaitable, ec));
      if (!ec) continue;
      if (is_refusal_worth_telling(ec)) co_await refuse_and_close(refusal_of(to_api_error(ec, limits)));
      co_return false;
    }
    deadline_->clear();
    co_return true;
  }

  // The status told, or kClientGone.
  awaitable<int> answer(bool version_1_0) {
    using namespace asio::experimental::awaitable_operators;  // NOLINT: the operators live there
    exchange_ = std::make_shared<Exchange>(context_->io);
    streamed_ = false;
    context_->service.handle(request_, exchange_->respond());
    auto ended = co_await (write_answer(version_1_0) || watch_peer());
    exchange_->abandon();
    exchange_.reset();
    co_return ended.index() == 0 ? std::get<0>(ended) : kClientGone;
  }

  awaitable<int> write_answer(bool version_1_0) {
    const std::shared_ptr<Exchange> exchange = exchange_;
    int status = 0;
    for (;;) {
      exchange->news = false;
      Answer::News news;
      if (exchange->answer) news = exchange->answer->poll();
      if (exchange->end_with && !news.ended) end_now(*exchange, news, status != 0);
      bool taken = true;
      if (news.response) {
        status = news.response->status;
        streamed_ = news.response->streams;
        if (!streamed_) {
          taken = co_await write_whole(std::move(*news.response));
          co_return taken ? status : kClientGone;
        }
        chunked_ = !version_1_0;
        const WireOptions options{.close = !keeps_alive() || version_1_0, .head_only = false, .chunked = chunked_, .request_id = request_->id};
        taken = co_await write(to_wire(*news.response, extra_, options));
      }
      if (taken && (!news.piece.empty() || news.ended)) taken = co_await write_piece(std::move(news.piece), news.ended);
      if (!taken) co_return kClientGone;
      if (news.ended) co_return status;
      if (exchange->news) continue;
      exchange->timer.expires_after(context_->limits.heartbeat);
      error_code ec;
      co_await exchange->timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
      if (ec || !streamed_ || !exchange->answer) continue;
      std::string sign = exchange->answer->heartbeat();
      if (sign.empty()) continue;
      taken = co_await write_piece(std::move(sign), false);
      if (!taken) co_return kClientGone;
    }
  }

  void end_now(Exchange& exchange, Answer::News& news, bool streaming) const {
    news.ended = true;
    if (streaming) {
      news.piece += exchange.answer->failure(*exchange.end_with);
    } else {
      news.response = error_response(*exchange.end_with, request_->error_form());
    }
  }

  // Returns when the client is gone, or sends more than it should before it has its answer.
  awaitable<void> watch_peer() {
    error_code ec;
    for (;;) {
      const size_t room = buffer_.max_size() - buffer_.size();
      if (room < kReadAhead || buffer_.size() > context_->limits.pipelined_bytes) co_return;
      const size_t n = co_await stream_.async_read_some(buffer_.prepare(kReadAhead), asio::redirect_error(asio::use_awaitable, ec));
      buffer_.commit(n);
      if (ec) co_return;
    }
  }

  awaitable<bool> write(std::string bytes) {
    deadline_->set(context_->limits.write_stall);
    error_code ec;
    co_await asio::async_write(stream_, asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, ec));
    deadline_->clear();
    co_return !ec;
  }

  awaitable<bool> write_piece(std::string piece, bool last) {
    std::string bytes = chunked_ && !piece.empty() ? to_chunk(piece) : std::move(piece);
    if (chunked_ && last) bytes += kLastChunk;
    const bool taken = co_await write(std::move(bytes));
    co_return taken;
  }

  awaitable<bool> write_whole(HttpResponse response) {
    const WireOptions options{.close = !keeps_alive(), .head_only = head_only_, .chunked = false, .request_id = request_->id};
    const bool taken = co_await write(to_wire(response, extra_, options));
    co_return taken;
  }

  // Tells the refusal, and lets the client finish sending for a while: a cut would make it lose the answer.
  awaitable<void> refuse_and_close(HttpResponse response) {
    keep_alive_ = false;
    const bool taken = co_await write_whole(std::move(response));
    if (!taken) co_return;
    error_code ec;
    if constexpr (!kTls) socket().shutdown(tcp::socket::shutdown_send, ec);
    deadline_->set(context_->limits.linger);
    std::array<char, kReadAhead> sink;
    for (size_t drained = 0; drained < kMostDrainedBytes && !ec;) {
      drained += co_await stream_.async_read_some(asio::buffer(sink), asio::redirect_error(asio::use_awaitable, ec));
    }
  }

  std::shared_ptr<SessionContext> context_;
  Stream stream_;
  boost::beast::flat_buffer buffer_;
  std::shared_ptr<Deadline> deadline_;
  std::shared_ptr<HttpRequest> request_;
  std::shared_ptr<Exchange> exchange_;  // while an answer is in the making
  std::vector<std::pair<std::string, std::string>> extra_;
  bool idle_ = false;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool streamed_ = false;
  bool chunked_ = false;
};

}  // namespace

std::shared_ptr<HttpSession> make_session(tcp::socket socket, std::shared_ptr<SessionContext> context, asio::ssl::context* tls) {
  if (tls != nullptr) return std::make_shared<Session<TlsStream>>(std::move(context), std::move(socket), *tls);
  return std::make_shared<Session<tcp::socket>>(std::move(context), std::move(socket));
}

}  // namespace inferens

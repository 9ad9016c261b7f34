#include "store/http.h"

#include <gmock/gmock.h>

#include <chrono>

#include "stand_in_server.h"
#include "store_fixture.h"

namespace inferens::testing {
namespace {

using ::testing::HasSubstr;

class UrlPull : public StoreTest {
 protected:
  const std::string model_ = bytes_of(tiny_model_path());
  const std::string digest_ = sha256_digest(model_);
};

TEST_F(UrlPull, AWholeFileArrivesUnderItsHash) {
  StandInServer server([&](const StandInRequest& r) { return file_reply(r, model_, "\"v1\""); });
  Manifest m = pull_or_fail(server.url() + "/dir/Tiny.gguf?x=1");
  EXPECT_EQ(m.name, "tiny");
  EXPECT_EQ(m.find("model")->digest, digest_);
  EXPECT_EQ(bytes_of(store_->model_path(m)), model_);
  EXPECT_EQ(progress_.last_total, model_.size());
  EXPECT_TRUE(names_in("incoming").empty());
}

TEST_F(UrlPull, ABrokenConnectionGoesOnWhereItStopped) {
  int calls = 0;
  StandInServer server([&](const StandInRequest& r) {
    StandInReply reply = file_reply(r, model_, "\"v1\"");
    if (calls++ < 2) reply.cut_after = 40'000;
    return reply;
  });
  Manifest m = pull_or_fail(server.url() + "/tiny.gguf");
  EXPECT_EQ(bytes_of(store_->model_path(m)), model_);
  EXPECT_EQ(progress_.started_at, (std::vector<uint64_t>{0, 40'000, 80'000}));
}

TEST_F(UrlPull, APullThatDiedIsGoneOnWithByTheNextOne) {
  bool broken = true;
  StandInServer server([&](const StandInRequest& r) {
    StandInReply reply = file_reply(r, model_, "\"v1\"");
    if (broken) reply.cut_after = r.headers.count("range") == 0 ? 50'000 : 0;
    return reply;
  });
  EXPECT_EQ(pull(server.url() + "/tiny.gguf").status().code(), StatusCode::kUnavailable);
  expect_nothing_installed();
  for (const std::string& name : names_in("incoming")) EXPECT_TRUE(name.ends_with(".partial")) << name;
  broken = false;
  progress_.started_at.clear();
  Manifest m = pull_or_fail(server.url() + "/tiny.gguf");
  EXPECT_EQ(progress_.started_at, std::vector<uint64_t>{50'000});
  EXPECT_EQ(bytes_of(store_->model_path(m)), model_);
}

TEST_F(UrlPull, HalvesOfTwoVersionsAreNeverJoined) {
  const std::string other = bytes_of(other_model_path());
  bool first = true;
  StandInServer server([&](const StandInRequest& r) {
    if (std::exchange(first, false)) {
      StandInReply reply = file_reply(r, model_, "\"v1\"");
      reply.cut_after = 50'000;
      return reply;
    }
    return file_reply(r, other, "\"v2\"");
  });
  Manifest m = pull_or_fail(server.url() + "/tiny.gguf");
  EXPECT_EQ(bytes_of(store_->model_path(m)), other);
}

TEST_F(UrlPull, AServerWithoutRangesIsReadFromTheStartAgain) {
  int calls = 0;
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.body = model_;
    if (calls++ == 0) reply.cut_after = 50'000;
    return reply;
  });
  EXPECT_EQ(bytes_of(store_->model_path(pull_or_fail(server.url() + "/tiny.gguf"))), model_);
}

TEST_F(UrlPull, AStalledConnectionIsGivenUpAndGoneOnWith) {
  int calls = 0;
  StandInServer server([&](const StandInRequest& r) {
    StandInReply reply = file_reply(r, model_, "\"v1\"");
    if (calls++ == 0) reply.stall_after = 10'000;
    return reply;
  });
  EXPECT_EQ(bytes_of(store_->model_path(pull_or_fail(server.url() + "/tiny.gguf"))), model_);
}

TEST_F(UrlPull, AFileWithoutAnnouncedLengthArrivesWholeAndACutOneIsNotInstalled) {
  bool cut = false;
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.body = model_;
    reply.announce_length = false;
    if (cut) reply.cut_after = 60'000;
    return reply;
  });
  EXPECT_EQ(bytes_of(store_->model_path(pull_or_fail(server.url() + "/tiny.gguf"))), model_);
  cut = true;
  auto failed = pull(server.url() + "/cut.gguf");
  EXPECT_EQ(failed.status().code(), StatusCode::kDataLoss) << failed.status().message();
  EXPECT_EQ(names_in("models").count("cut"), 0U);
  EXPECT_EQ(names_in("blobs").size(), 1U);
}

TEST_F(UrlPull, AWrongHashInstallsNothingAndLeavesNothing) {
  StandInServer server([&](const StandInRequest& r) { return file_reply(r, model_, "\"v1\""); });
  options_.sha256 = "sha256:" + std::string(64, '0');
  auto failed = pull(server.url() + "/tiny.gguf");
  EXPECT_EQ(failed.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(failed.status().message(), HasSubstr(digest_));
  expect_nothing_installed();
  EXPECT_TRUE(names_in("incoming").empty());
  options_.sha256 = digest_;
  EXPECT_TRUE(pull(server.url() + "/tiny.gguf").ok());
}

TEST_F(UrlPull, AWebPageInPlaceOfAModelIsRefusedAndLeavesNothing) {
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.body = "<!DOCTYPE html><html>Please sign in</html>";
    return reply;
  });
  EXPECT_EQ(pull(server.url() + "/tiny.gguf").status().code(), StatusCode::kDataLoss);
  expect_nothing_installed();
}

TEST_F(UrlPull, RedirectsIntoNetworksAreNotFollowed) {
  std::string target;
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.status = 302;
    reply.headers = {"Location: " + target};
    return reply;
  });
  for (const char* inside : {"http://169.254.169.254/latest/meta-data", "https://169.254.169.254/", "https://10.0.0.1/x", "https://[fe80::1]/x", "https://[::ffff:169.254.169.254]/", "file:///etc/passwd", "gopher://127.0.0.1/"}) {
    target = inside;
    auto failed = pull(server.url() + "/tiny.gguf");
    ASSERT_FALSE(failed.ok()) << inside;
    EXPECT_NE(failed.status().code(), StatusCode::kUnavailable) << inside << ": " << failed.status().message();
  }
  expect_nothing_installed();
}

TEST_F(UrlPull, ARedirectLoopEnds) {
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.status = 307;
    reply.headers = {"Location: /again"};
    return reply;
  });
  EXPECT_THAT(pull(server.url() + "/tiny.gguf").status().message(), HasSubstr("redirects more than"));
  EXPECT_LT(server.requests().size(), 12U);
}

TEST_F(UrlPull, RedirectsOnTheSameServerAreFollowed) {
  StandInServer server([&](const StandInRequest& r) {
    if (r.target == "/real") return file_reply(r, model_, "\"v1\"");
    StandInReply reply;
    reply.status = 301;
    reply.headers = {"Location: /real"};
    return reply;
  });
  EXPECT_EQ(pull_or_fail(server.url() + "/tiny.gguf").name, "tiny");
}

TEST_F(UrlPull, EachRefusalOfAServerSaysWhatToDo) {
  int status = 0;
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.status = status;
    reply.body = std::string(1000, 'x');
    return reply;
  });
  struct Case {
    int status;
    StatusCode code;
    size_t tries;
    const char* says;
  };
  for (const Case& c : {Case{401, StatusCode::kUnauthenticated, 1, "HF_TOKEN"}, Case{403, StatusCode::kPermissionDenied, 1, "gated"}, Case{404, StatusCode::kNotFound, 1, "spelling"},
                        Case{429, StatusCode::kUnavailable, 3, "wait a little"}, Case{500, StatusCode::kUnavailable, 3, "500"}, Case{204, StatusCode::kDataLoss, 1, ""}, Case{300, StatusCode::kFailedPrecondition, 1, "300"}}) {
    status = c.status;
    size_t before = server.requests().size();
    auto failed = pull(server.url() + "/tiny.gguf");
    EXPECT_EQ(failed.status().code(), c.code) << c.status << ": " << failed.status().message();
    EXPECT_THAT(failed.status().message(), HasSubstr(c.says));
    EXPECT_EQ(server.requests().size() - before, c.tries) << c.status;
    EXPECT_EQ(failed.status().message().find('\n'), std::string::npos);
  }
}

TEST_F(UrlPull, ATooBusyServerIsAskedAgain) {
  int calls = 0;
  StandInServer server([&](const StandInRequest& r) {
    StandInReply reply = file_reply(r, model_, "\"v1\"");
    if (calls++ == 0) {
      reply.status = 503;
      reply.headers.push_back("Retry-After: 0");
    }
    return reply;
  });
  EXPECT_TRUE(pull(server.url() + "/tiny.gguf").ok());
}

TEST_F(UrlPull, ACompressedFileIsRefusedInsteadOfInflated) {
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.headers = {"Content-Encoding: gzip"};
    reply.body = "\x1f\x8b\x08" + std::string(1000, '\0');
    return reply;
  });
  EXPECT_THAT(pull(server.url() + "/tiny.gguf").status().message(), HasSubstr("compressed"));
  expect_nothing_installed();
}

TEST_F(UrlPull, AServerThatSendsMoreThanItAnnouncedIsCutOff) {
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.announce_length = false;
    reply.status = 206;
    reply.headers = {"Content-Range: bytes 0-9/10"};
    reply.body = model_;
    return reply;
  });
  EXPECT_THAT(pull(server.url() + "/tiny.gguf").status().message(), HasSubstr("more than the 10 bytes"));
}

TEST_F(UrlPull, HeadersWithoutEndAreCutOff) {
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    for (int i = 0; i < 1000; ++i) reply.headers.push_back("X-" + std::to_string(i) + ": " + std::string(1000, 'x'));
    return reply;
  });
  EXPECT_FALSE(pull(server.url() + "/tiny.gguf").ok());
}

TEST_F(UrlPull, ADiskThatIsTooSmallIsSaidBeforeTheFirstByte) {
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.announce_length = false;
    reply.headers = {"Content-Length: 4000000000000000000"};
    reply.body = "GGUF";
    return reply;
  });
  auto failed = pull(server.url() + "/tiny.gguf");
  EXPECT_EQ(failed.status().code(), StatusCode::kResourceExhausted) << failed.status().message();
  EXPECT_THAT(failed.status().message(), HasSubstr("INFERENS_HOME"));
}

TEST_F(UrlPull, TextsAreCapped) {
  StandInServer server([&](const StandInRequest&) {
    StandInReply reply;
    reply.body = std::string(5000, 'x');
    return reply;
  });
  EXPECT_EQ(http_get_text({server.url(), "", {}}, 5000, options_.http).value().body.size(), 5000U);
  EXPECT_FALSE(http_get_text({server.url(), "", {}}, 4999, options_.http).ok());
}

TEST_F(UrlPull, NothingListeningIsSaidWithARemedy) {
  int port = 0;
  { port = StandInServer([](const StandInRequest&) { return StandInReply(); }).port(); }
  auto failed = pull("http://127.0.0.1:" + std::to_string(port) + "/tiny.gguf");
  EXPECT_EQ(failed.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(failed.status().message(), HasSubstr("check the network"));
}

}  // namespace
}  // namespace inferens::testing

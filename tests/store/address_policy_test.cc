#include "store/address_policy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

namespace inferens {
namespace {

AddressClass classify(const std::string& text) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) return classify_address(reinterpret_cast<sockaddr*>(&v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  EXPECT_EQ(::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr), 1) << text;
  return classify_address(reinterpret_cast<sockaddr*>(&v6));
}

Status connect_to(AddressPolicy& policy, const std::string& text, bool redirected) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), &v4.sin_addr), 1);
  return policy.check_address(reinterpret_cast<sockaddr*>(&v4), redirected);
}

TEST(Addresses, WhatLiesInsideANetworkIsSeenInEverySpelling) {
  for (const char* a : {"169.254.169.254", "0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "fe80::1", "::", "ff02::1", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "::169.254.169.254", "100::1"}) {
    EXPECT_EQ(classify(a), AddressClass::kForbidden) << a;
  }
  for (const char* a : {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1"}) EXPECT_EQ(classify(a), AddressClass::kPrivate) << a;
  for (const char* a : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) EXPECT_EQ(classify(a), AddressClass::kLoopback) << a;
  for (const char* a : {"8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "169.253.0.1", "2606:4700::1111"}) EXPECT_EQ(classify(a), AddressClass::kPublic) << a;
}

TEST(Addresses, APublicNameCannotLeadInsideByRedirectOrByResolvingAnew) {
  AddressPolicy policy;
  EXPECT_TRUE(policy.check_url("https://example.org/x", false).ok());
  EXPECT_TRUE(connect_to(policy, "93.184.216.34", false).ok());
  policy.first_request_done();
  EXPECT_TRUE(connect_to(policy, "8.8.8.8", true).ok());
  for (const char* inside : {"10.0.0.1", "127.0.0.1", "169.254.169.254"}) {
    EXPECT_FALSE(connect_to(policy, inside, true).ok()) << inside;
    EXPECT_FALSE(connect_to(policy, inside, false).ok()) << inside;  // a second try of the first address
  }
  for (const char* url : {"https://10.0.0.1/", "https://[::1]/", "https://localhost/", "https://169.254.169.254/", "http://example.org/", "file:///etc/passwd", "https://2852039166/", "https://0xa9fea9fe/", "ftp://example.org/"}) {
    EXPECT_FALSE(policy.check_url(url, true).ok()) << url;
  }
}

TEST(Addresses, AServerInsideANetworkMayRedirectInsideIt) {
  AddressPolicy policy;
  EXPECT_TRUE(policy.check_url("https://mirror.corp/x", false).ok());
  EXPECT_TRUE(connect_to(policy, "10.0.0.1", false).ok());
  policy.first_request_done();
  EXPECT_TRUE(connect_to(policy, "10.0.0.2", true).ok());
  EXPECT_FALSE(connect_to(policy, "127.0.0.1", true).ok());
  EXPECT_FALSE(connect_to(policy, "169.254.169.254", true).ok());
}

TEST(Addresses, PlainHttpAndCredentialsInAddressesAreRefused) {
  EXPECT_FALSE(AddressPolicy().check_url("http://example.org/a.gguf", false).ok());
  EXPECT_FALSE(AddressPolicy().check_url("https://user:secret@example.org/a.gguf", false).ok());
  EXPECT_TRUE(AddressPolicy().check_url("http://127.0.0.1:8080/a.gguf", false).ok());
}

TEST(Addresses, OriginIsSchemeHostAndPort) {
  EXPECT_TRUE(is_same_origin("https://a.example/x", "https://A.example:443/y"));
  EXPECT_FALSE(is_same_origin("https://a.example/x", "https://b.example/x"));
  EXPECT_FALSE(is_same_origin("https://a.example/x", "http://a.example/x"));
  EXPECT_FALSE(is_same_origin("https://a.example/x", "https://a.example:444/x"));
}

}  // namespace
}  // namespace inferens

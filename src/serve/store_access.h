// The model store as a server uses it.
#pragma once

#include <string>

#include "store/pull.h"

namespace inferens {

struct StoreAccess {
  std::string home;
  bool serves_all = false;  // its models are served under their names; else the store is only looked at
  PullOptions pull;         // from where; name, digest and update are not looked at
};

}  // namespace inferens

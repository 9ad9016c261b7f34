// Which API a request speaks: its path tells, and where several APIs use one path, the fields that their clients send.
#pragma once

#include "serve/http_service.h"

namespace inferens {

Dialect dialect_of(const RequestHead& head);

}  // namespace inferens

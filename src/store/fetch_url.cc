// A model from an address that the user gives.
#include "store/fetchers.h"
#include "store/incoming_file.h"
#include "store/names.h"

namespace inferens {

FetchedFiles fetch_url(const Source& source, FetchContext& context) {
  std::string path = source.location.substr(0, source.location.find_first_of("?#"));
  StoredFile stored{"model", safe_file_name(path), "", 0};
  if (split_part_names(stored.name).size() > 1) return unsupported("'" + printable(path) + "' is a part of a split model; split models can be pulled from hf: or from a local path");
  auto incoming = IncomingFile::open(context.store.home(), "url-" + blob_file_name(sha256_digest(source.location)), context.progress);
  if (!incoming.ok()) return incoming.status();
  HttpGet request;
  request.url = source.location;
  if (Status s = http_download(request, 0, stored.name, *incoming, context.options.http, context.progress); !s.ok()) return s;
  stored.bytes = incoming->size();
  auto digest = incoming->finish(context.options.sha256);
  if (!digest.ok()) return digest.status().with_context(printable(path));
  stored.digest = *digest;
  return std::vector{stored};
}

}  // namespace inferens

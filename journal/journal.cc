#include "journal/journal.h"

#include <future>

namespace daybook::journal {

Result<Appended> append_and_wait(Journal& journal, Append append) {
  // Shared: the notifying thread may still be inside set_value when this one has the answer.
  auto answer = std::make_shared<std::promise<Result<Appended>>>();
  auto future = answer->get_future();
  journal.append(std::move(append),
                 [answer](Result<Appended> result) { answer->set_value(std::move(result)); });
  return future.get();
}

Result<std::string> content_bytes(Journal& journal, const schema::Content* content) {
  if (content == nullptr) return std::string();
  if (content->blob() != nullptr) return journal.blob(BlobRef::from(content->blob()));
  return std::string(inline_bytes(*content));
}

Result<std::string> content_bytes(Journal& journal, const schema::ContentT* content) {
  if (content == nullptr) return std::string();
  if (content->blob) return journal.blob(BlobRef::from(content->blob.get()));
  return std::string(content->bytes.begin(), content->bytes.end());
}

}  // namespace daybook::journal

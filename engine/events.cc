#include "engine/events.h"

#include <fmt/format.h>

namespace daybook::engine {
namespace {

template <class T>
flatbuffers::Optional<T> optional(const std::optional<T>& value) {
  return value ? flatbuffers::Optional<T>(*value) : flatbuffers::Optional<T>();
}

std::unique_ptr<schema::BlockT> to_schema(journal::Batch& batch, const Block& from,
                                          std::uint32_t& calls_made) {
  auto block = std::make_unique<schema::BlockT>();
  block->kind = from.kind;
  block->text = batch.content(from.text);
  if (!from.opaque.empty()) block->opaque = batch.content(from.opaque);
  block->field = from.field;
  if (from.kind == schema::BlockKind::tool_call) {
    block->call_id = fmt::format("call-{}", ++calls_made);
    block->provider_call_id = from.provider_call_id;
    block->tool = from.tool;
    block->arguments_state = from.arguments_state;
    block->arguments_error = from.arguments_error;
  }
  return block;
}

std::unique_ptr<schema::Digest> digest_of(const std::optional<BlobRef>& ref) {
  return ref ? std::make_unique<schema::Digest>(ref->digest.fb()) : nullptr;
}

}  // namespace

schema::UsageT to_schema(const Usage& usage) {
  schema::UsageT out;
  out.input_uncached = optional(usage.input_uncached);
  out.input_total = optional(usage.input_total);
  out.cache_read = optional(usage.cache_read);
  out.cache_write = optional(usage.cache_write);
  out.cache_write_5m = optional(usage.cache_write_5m);
  out.cache_write_1h = optional(usage.cache_write_1h);
  out.output = optional(usage.output);
  out.reasoning = optional(usage.reasoning);
  out.web_searches = optional(usage.web_searches);
  out.service_tier = usage.service_tier;
  out.speed = usage.speed;
  out.region = usage.region;
  out.raw = usage.raw;
  return out;
}

std::vector<std::unique_ptr<schema::FileOpT>> to_schema(const std::vector<executor::FileOp>& ops) {
  std::vector<std::unique_ptr<schema::FileOpT>> out;
  for (const auto& op : ops) {
    auto& to = out.emplace_back(std::make_unique<schema::FileOpT>());
    to->kind = op.kind;
    to->path = op.path;
    to->before = digest_of(op.before);
    to->before_size = op.before ? op.before->size : 0;
    to->after = digest_of(op.after);
    to->after_size = op.after ? op.after->size : 0;
  }
  return out;
}

schema::ReceiptT to_schema(const executor::Receipt& from) {
  schema::ReceiptT to;
  to.exit = from.exit;
  to.code = from.code;
  to.cwd_before = from.cwd_before;
  to.cwd_after = from.cwd_after;
  to.started_at = from.started_at_ns;
  to.ended_at = from.ended_at_ns;
  to.duration_ns = from.duration_ns;
  to.output = std::make_unique<schema::Stream>(from.output_bytes, from.output_kept,
                                               from.output_digest.fb());
  to.files = to_schema(from.files);
  to.user_time_us = from.user_time_us;
  to.system_time_us = from.system_time_us;
  to.max_rss_kib = from.max_rss_kib;
  to.survivors_killed = from.survivors_killed;
  to.notices = from.notices;
  to.error = from.error;
  return to;
}

executor::Plan plan_from(const CallState& call, std::string planned_result) {
  executor::Plan plan;
  plan.planned_result = std::move(planned_result);
  plan.cwd = call.cwd;
  for (const auto& from : call.plan) {
    executor::FileOp op{from->kind, from->path, {}, {}};
    if (from->before) op.before = BlobRef{Digest::from(from->before.get()), from->before_size};
    if (from->after) op.after = BlobRef{Digest::from(from->after.get()), from->after_size};
    plan.ops.push_back(std::move(op));
  }
  return plan;
}

schema::ModelRespondedT responded(journal::Batch& batch, const ModelOutcome& outcome,
                                  const Reply& reply, std::uint32_t calls_made) {
  schema::ModelRespondedT event;
  for (const auto& block : reply.blocks) {
    event.blocks.push_back(to_schema(batch, block, calls_made));
  }
  event.stop = reply.stop;
  event.stop_raw = reply.stop_raw;
  event.usage = std::make_unique<schema::UsageT>(to_schema(reply.usage));
  event.response_id = reply.response_id;
  event.served_model = reply.served_model;
  event.raw = batch.content(reply.raw);
  if (!reply.diagnostics.empty()) event.diagnostics = batch.content(reply.diagnostics);
  event.started_at = outcome.started_at_ns;
  event.first_byte_at = outcome.first_byte_at_ns;
  event.ended_at = outcome.ended_at_ns;
  return event;
}

schema::ModelFailedT failed(journal::Batch& batch, const Failure& failure, std::int64_t retry_at) {
  schema::ModelFailedT event;
  event.kind = failure.kind;
  event.http_status = static_cast<std::uint32_t>(failure.http_status);
  event.message = failure.message;
  if (!failure.raw.empty()) event.raw = batch.content(failure.raw);
  event.retry_at = retry_at;
  event.usage = std::make_unique<schema::UsageT>(to_schema(failure.usage));
  return event;
}

schema::PolicyChangedT policy_changed(std::uint32_t generation, schema::ApprovalMode mode,
                                      const std::vector<executor::Root>& roots,
                                      const std::vector<std::string>& grants, std::string reason) {
  schema::PolicyChangedT event;
  event.generation = generation;
  event.mode = mode;
  for (const auto& root : roots) {
    auto& to = event.roots.emplace_back(std::make_unique<schema::RootT>());
    to->path = root.path;
    to->writable = root.writable;
  }
  event.grants = grants;
  event.reason = std::move(reason);
  return event;
}

}  // namespace daybook::engine

// Event drafts from what the engine knows.
#pragma once

#include <string>

#include "engine/model.h"
#include "engine/next.h"
#include "executor/executor.h"
#include "journal/session_writer.h"

namespace daybook::engine {

schema::UsageT to_schema(const Usage& usage);
schema::ReceiptT to_schema(const executor::Receipt& receipt);
std::vector<std::unique_ptr<schema::FileOpT>> to_schema(const std::vector<executor::FileOp>& ops);
executor::Plan plan_from(const CallState& call, std::string planned_result);

/// ModelResponded; call ids are given out after `calls_made`.
schema::ModelRespondedT responded(journal::Batch& batch, const ModelOutcome& outcome,
                                  const Reply& reply, std::uint32_t calls_made);
schema::ModelFailedT failed(journal::Batch& batch, const Failure& failure, std::int64_t retry_at);
schema::PolicyChangedT policy_changed(std::uint32_t generation, schema::ApprovalMode mode,
                                      const std::vector<executor::Root>& roots,
                                      const std::vector<std::string>& grants, std::string reason);

}  // namespace daybook::engine

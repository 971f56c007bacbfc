// Probes of a replay, for people and as JSON.
#pragma once

#include <string>

#include "replay/probe_report.h"
#include "tools/command.h"

namespace daybook::tools {

/// What would be asked, and what it may cost.
void print_plan(Context& context, const replay::ProbeWish& wish, const replay::ProbePlan& plan);
std::string plan_json(const SessionId& session, const replay::ProbeWish& wish,
                      const replay::ProbePlan& plan);

void print_probes(Context& context, const replay::ProbeWish& wish,
                  const replay::ProbeReport& report, const replay::ProbeAnswers& answers);
std::string probe_json(const SessionId& session, const replay::ProbeWish& wish,
                       const replay::ProbeReport& report, const replay::ProbeAnswers& answers,
                       const replay::ProbeOutcome& outcome);

}  // namespace daybook::tools

#pragma once

#include "app/commands/filter_arguments.h"
#include "app/commands/model_arguments.h"
#include "app/commands/table_output.h"
#include "core/circuits/circuits.h"
#include "core/model/head_id.h"

#include <memory>
#include <optional>
#include <string>

namespace headwise::app {

/// Arguments that `tokens` and `top` share: one head's full circuit, and how to print the answer.
struct CircuitArguments {
    std::shared_ptr<ModelArguments> model;
    std::shared_ptr<ProcessingArguments> processing;
    std::shared_ptr<TokenFilter> filter;
    std::optional<std::string> tokenCounts;
    std::string circuit, head;
    std::optional<std::string> embedding; ///< Default: raw.
    int offset = 0;
    TableFormat format = TableFormat::Text;

    CircuitKind kind() const;
    /// Errors: InvalidArgument (no such head, more than one; an offset of a circuit that has none).
    Result<HeadId> oneHead(int nLayers, int nHeads) const;
    Embedding embeddingKind() const;
};

/// Adds MODEL, --circuit, --head, --embedding, --offset, --csv, --json, the filters of tokens and the processing switches.
/// \param header columns of the table
void addCircuitArguments(CLI::App& command, CircuitArguments& arguments, std::string_view header);

} // namespace headwise::app

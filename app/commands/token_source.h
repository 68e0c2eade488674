#pragma once

#include "core/circuits/token_table.h"
#include "core/session/session.h"
#include "core/tokenizer/tokenizer.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace headwise::app {

struct TokenQuery {
    CircuitKind kind = CircuitKind::FullOv;
    HeadId head;
    TableSide side = TableSide::Row;
    std::optional<int> token; ///< None: ranks every token by the norm of its row or column.
    int k = 10;
    int offset = 0; ///< Δ of full QK with rotary positions.
};

/// The source of answers for `tokens`: a model or a session.
struct TokenSource {
    int nLayers = 0, nHeads = 0;
    std::optional<Tokenizer> tokenizer;
    /// Errors: InvalidArgument for a token outside the model; NotFound if a session does not hold the answer, naming the
    /// command that computes it.
    std::function<Result<TokenEnds>(const TokenQuery& query)> ask;
    bool isDouble = false; ///< True if its values are doubles.
};

/// \param unused true for an id that is left out
TokenSource modelTokens(const Circuits& circuits, std::optional<Tokenizer> tokenizer, Embedding embedding,
                        std::vector<bool> unused, const Task& task);
TokenSource sessionTokens(const std::shared_ptr<const Session>& session, std::string path);

} // namespace headwise::app

#include "app/commands/token_source.h"

#include "app/commands/session_command.h"
#include "app/commands/support.h"
#include "app/commands/token_arguments.h"
#include "core/circuits/head_at_offset.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

namespace headwise::app {
namespace {

double numberAt(const ResultArray& array, std::size_t index)
{
    return std::visit(
        [index](const auto& values) -> double {
            using T = typename std::decay_t<decltype(values)>::value_type;
            if constexpr (std::is_arithmetic_v<T>)
                return static_cast<double>(values[index]);
            else
                return std::nan("");
        },
        array.values);
}

/// Returns rows [first, first + rows) of an array whose last dimension has `cols` entries, as a matrix.
Matrix<double> rowsOf(const ResultArray& array, std::size_t first, std::size_t rows, std::size_t cols)
{
    Matrix<double> out(static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(cols));
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < cols; ++j)
            out(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
                numberAt(array, (first + i) * cols + j);
    }
    return out;
}

std::string flagName(CircuitKind kind)
{
    return kind == CircuitKind::FullOv ? "full-ov" : "full-qk";
}

std::string factorsOf(CircuitKind kind)
{
    return kind == CircuitKind::FullOv ? "factors/ov/" : "factors/qk/";
}

class SessionAnswers {
public:
    SessionAnswers(std::shared_ptr<const Session> session, std::string path, std::vector<bool> unused)
        : m_session(std::move(session))
        , m_path(std::move(path))
        , m_unused(std::move(unused))
    {
    }

    Result<TokenEnds> ask(const TokenQuery& query) const
    {
        if (query.offset != 0)
            return atOffset(query);
        if (query.token && (*query.token < 0 || *query.token >= m_session->model.dVocab)) {
            return Error{ErrorCode::InvalidArgument,
                         fmt::format("There is no token {}: the ids of this model are 0 to {}.", *query.token,
                                     m_session->model.dVocab - 1)};
        }
        if (hasFactors(query.kind))
            return fromFactors(query);
        if (query.token) {
            if (const auto ends = fromTables(query)) {
                if (ends->top.empty() && ends->bottom.empty())
                    return leftOut(query);
                return *ends;
            }
        }
        return notHeld(query);
    }

private:
    /// Returns the command that puts the same question to the session's model.
    std::string askingTheModel(const TokenQuery& query) const
    {
        std::string command =
            fmt::format("headwise tokens {} --circuit {} --head {}", shellWord(m_session->model.source),
                        flagName(query.kind), dottedHead(query.head));
        if (query.token)
            command += fmt::format(" --token '#{}'", *query.token);
        if (query.side == TableSide::Column)
            command += " --direction column";
        if (query.offset != 0)
            command += fmt::format(" --offset {}", query.offset);
        return command + fmt::format(" -k {}", query.k) + remakingOptions(*m_session);
    }

    Error atOffset(const TokenQuery& query) const
    {
        if (m_session->model.positional != positionalName(Positional::Rotary))
            return {ErrorCode::InvalidArgument,
                    "Circuits at an offset need rotary positions, and this session's model has none."};
        return {ErrorCode::NotFound,
                fmt::format("The session '{}' has no scores at an offset; its model has: {}", m_path,
                            askingTheModel(query))};
    }

    Error leftOut(const TokenQuery& query) const
    {
        const std::string filter = filterOfTables(*m_session);
        if (filter.empty())
            return {
                ErrorCode::NotFound,
                fmt::format(
                    "The tables of the session '{}' have nothing for #{}, which is an id without a token; the model answers: {}",
                    m_path, *query.token, askingTheModel(query))};
        return {
            ErrorCode::NotFound,
            fmt::format(
                "The tables of the session '{}' were made with {}, which leaves token #{} out; the model answers: {}",
                m_path, filter, *query.token, askingTheModel(query))};
    }

    Error notHeld(const TokenQuery& query) const
    {
        if (!query.token && m_session->embedding != "raw")
            return {
                ErrorCode::NotFound,
                fmt::format(
                    "The session '{}' was made with --embedding {}, and the factors that a session can hold are of the raw embedding only; the model answers: {}",
                    m_path, m_session->embedding, askingTheModel(query))};
        return {
            ErrorCode::NotFound,
            fmt::format(
                "The session '{}' does not hold {}; create one that does with: headwise analyze {} -o SESSION.h5 --analyses tables --heads {} -k {}{}{}",
                m_path, missing(query), shellWord(m_session->model.source), dottedHead(query.head), query.k,
                query.token ? "" : " --self-contained", remakingOptions(*m_session))};
    }

    static std::string missing(const TokenQuery& query)
    {
        if (!query.token)
            return fmt::format("the factors of {} of head {}", flagName(query.kind), dottedHead(query.head));
        return fmt::format("the {} strongest entries of {} of head {}", query.k, flagName(query.kind),
                           dottedHead(query.head));
    }

    bool has(std::string_view path, const std::vector<int>& shape) const
    {
        const ResultArray* array = m_session->results.find(path);
        return array && std::ranges::equal(array->shape, shape, {}, {}, [](int size) {
                   return static_cast<std::size_t>(size);
               });
    }

    /// True if the saved factors can answer. The saved embedding is W_E, so only questions about W_E qualify, and a file
    /// may hold only some of the factors.
    bool hasFactors(CircuitKind kind) const
    {
        const ModelCard& m = m_session->model;
        const std::string folder = factorsOf(kind);
        const ResultArray* unembedding = m_session->results.find("unembedding");
        return m_session->embedding == "raw" && has("embedding", {m.dVocab, m.dModel})
            && has(folder + "a", {m.nLayers, m.nHeads, m.dModel, m.dHead})
            && has(folder + "b", {m.nLayers, m.nHeads, m.dHead, m.dModel})
            && (kind == CircuitKind::FullQk
                || (unembedding && unembedding->shape.size() == 2
                    && unembedding->shape[0] == static_cast<std::size_t>(m.dModel)));
    }

    Matrix<double> factor(const std::string& path, HeadId head, std::size_t rows, std::size_t cols) const
    {
        const std::size_t index =
            static_cast<std::size_t>(head.layer) * static_cast<std::size_t>(m_session->model.nHeads)
            + static_cast<std::size_t>(head.head);
        return rowsOf(*m_session->results.find(path), index * rows, rows, cols);
    }

    Matrix<double> unembedding() const
    {
        const ResultArray& array = *m_session->results.find("unembedding");
        return rowsOf(array, 0, array.shape[0], array.shape[1]);
    }

    Result<TokenEnds> fromFactors(const TokenQuery& query) const
    {
        const std::size_t d = m_session->model.dModel;
        const std::size_t r = m_session->model.dHead;
        const std::string folder = factorsOf(query.kind);
        const ResultArray& embedding = *m_session->results.find("embedding");
        const Matrix<double> E = rowsOf(embedding, 0, embedding.shape[0], d);
        Matrix<double> left = E * factor(folder + "a", query.head, d, r);
        const Matrix<double> b = factor(folder + "b", query.head, r, d);
        Matrix<double> right = query.kind == CircuitKind::FullOv ? Matrix<double>(b * unembedding())
                                                                 : Matrix<double>(b * E.transpose());
        const auto circuit = FactoredMatrix<double>::create(std::move(left), std::move(right));
        if (!circuit)
            return circuit.error();
        if (!query.token)
            return ends(lineNorms(*circuit, query.side), query.k, m_unused);
        const bool isRow = query.side == TableSide::Row;
        const Eigen::Index lines = isRow ? circuit->rows() : circuit->cols();
        if (*query.token >= lines)
            return Error{
                ErrorCode::InvalidArgument,
                fmt::format(
                    "There is no token {} among the {} {} of {} in the session '{}'; its ids are 0 to {}.",
                    *query.token, lines, isRow ? "rows" : "columns", flagName(query.kind), m_path,
                    lines - 1)};
        return ends(isRow ? circuit->row(*query.token) : circuit->column(*query.token), query.k, m_unused);
    }

    /// Returns nothing if the head is not in the tables or they have fewer than k entries.
    std::optional<TokenEnds> fromTables(const TokenQuery& query) const
    {
        const std::string group = "tables/" + std::string(circuitName(query.kind));
        const auto attributes = m_session->results.groupAttributes.find(group);
        if (attributes == m_session->results.groupAttributes.end() || !attributes->second.contains("heads"))
            return std::nullopt;
        const auto* heads = std::get_if<std::vector<std::string>>(&attributes->second.at("heads"));
        if (!heads)
            return std::nullopt;
        const auto place = std::find(heads->begin(), heads->end(), dottedHead(query.head));
        if (place == heads->end())
            return std::nullopt;
        const auto index = static_cast<std::size_t>(place - heads->begin());
        const bool isRow = query.side == TableSide::Row;
        TokenEnds found;
        const auto top = entries(group + (isRow ? "/ids" : "/column_ids"),
                                 group + (isRow ? "/values" : "/column_values"), index, query);
        if (!top)
            return std::nullopt;
        found.top = *top;
        if (isRow) {
            const auto bottom = entries(group + "/lowest_ids", group + "/lowest_values", index, query);
            if (!bottom)
                return std::nullopt;
            found.bottom = *bottom;
        } else if (!top->empty()) {
            printWarnings({"A session's tables do not hold the smallest entries of columns; "
                           + (m_session->embedding == "raw"
                                  ? std::string("analyze --self-contained keeps the factors that give them.")
                                  : "the model has them: " + askingTheModel(query))});
        }
        return found;
    }

    std::optional<std::vector<TokenEntry>> entries(const std::string& idsPath, const std::string& valuesPath,
                                                   std::size_t head, const TokenQuery& query) const
    {
        const ResultArray* ids = m_session->results.find(idsPath);
        const ResultArray* values = m_session->results.find(valuesPath);
        if (!ids || !values || ids->shape.size() != 3 || values->shape != ids->shape || head >= ids->shape[0])
            return std::nullopt;
        const std::size_t tokens = ids->shape[1];
        const std::size_t k = ids->shape[2];
        const auto token = static_cast<std::size_t>(*query.token);
        if (token >= tokens || std::min<std::size_t>(static_cast<std::size_t>(query.k), tokens) > k)
            return std::nullopt;
        std::vector<TokenEntry> out;
        for (std::size_t i = 0; i < std::min<std::size_t>(k, static_cast<std::size_t>(query.k)); ++i) {
            const std::size_t at = (head * tokens + token) * k + i;
            const int id = static_cast<int>(numberAt(*ids, at));
            if (id >= 0)
                out.push_back({id, numberAt(*values, at)});
        }
        return out;
    }

    std::shared_ptr<const Session> m_session;
    std::string m_path;
    std::vector<bool> m_unused;
};

} // namespace

TokenSource modelTokens(const Circuits& circuits, std::optional<Tokenizer> tokenizer, Embedding embedding,
                        std::vector<bool> unused, const Task& task)
{
    const ModelConfig& config = circuits.config();
    return {config.nLayers, config.nHeads, std::move(tokenizer),
            [circuits, unused = std::move(unused), embedding,
             task](const TokenQuery& query) -> Result<TokenEnds> {
                const auto tokens =
                    tokenSide(circuits, embedding, task, Precision::F32, TokenParts::MatricesAlone);
                if (!tokens)
                    return tokens.error();
                const CircuitOfHead of{query.kind, query.head, {.offset = query.offset}};
                if (!query.token) {
                    const auto circuit = circuitAtOffset(circuits, of, tokens->get());
                    if (!circuit)
                        return circuit.error();
                    return ends(lineNorms(*circuit, query.side), query.k, unused);
                }
                const auto line = tokenLine(circuits, **tokens, of, query.side, *query.token);
                if (!line)
                    return line.error();
                return ends(*line, query.k, unused);
            }};
}

TokenSource sessionTokens(const std::shared_ptr<const Session>& session, std::string path)
{
    std::optional<Tokenizer> tokenizer;
    if (!session->tokens.empty())
        tokenizer = Tokenizer::fromVocabulary(session->tokens, session->tokenBytes);
    const SessionAnswers answers(session, std::move(path), unusedTokens(tokenizer, session->model.dVocab));
    const bool isDouble = std::ranges::any_of(session->results.arrays, [](const ResultArray& array) {
        return std::holds_alternative<std::vector<double>>(array.values)
            && (array.path.starts_with("tables/") || array.path.starts_with("factors/"));
    });
    return {session->model.nLayers, session->model.nHeads, std::move(tokenizer),
            [answers](const TokenQuery& query) { return answers.ask(query); }, isDouble};
}

} // namespace headwise::app

#include "core/analysis/inputs/direction_source.h"

#include "core/checkpoint/npy.h"
#include "core/circuits/singular_directions.h"
#include "core/tokenizer/token_search.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>

namespace headwise {

namespace {

using Answer = Result<RowVector<double>>;

constexpr std::string_view neuronForm = "neuron:LAYER.NEURON:in or neuron:LAYER.NEURON:out";
constexpr std::string_view singularForm =
    "singular:LAYER.HEAD:ov or qk:in or out:NUMBER, as in singular:1.5:ov:out:1";

std::vector<std::string> partsOf(std::string_view text)
{
    std::vector<std::string> parts;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t end = std::min(text.find(':', first), text.size());
        parts.emplace_back(text.substr(first, end - first));
        first = end + 1;
    }
    return parts;
}

Error wrongForm(const std::string& text, std::string_view form)
{
    return {ErrorCode::InvalidArgument, fmt::format("'{}' is not a direction; write {}.", text, form)};
}

Answer tokenDirection(std::string text, const ProcessedWeights& weights, const Tokenizer* tokenizer)
{
    constexpr std::string_view unembed = "unembed:";
    const bool isOutput = text.starts_with(unembed);
    if (isOutput)
        text.erase(0, unembed.size());
    if (text.empty())
        return Error{
            ErrorCode::InvalidArgument,
            "The direction names no token; give FILE.npy, TOKEN, TOKEN -- TOKEN, neuron:L.N:out or singular:L.H:ov:out:1."};
    const auto token = tokenNamed(text, tokenizer);
    if (!token)
        return token.error();
    const ModelConfig& config = weights.config();
    const int count = isOutput ? config.dVocabOut : config.dVocab;
    if (*token < 0 || *token >= count) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format("There is no token {}: the ids of this model are 0 to {}.", *token, count - 1)};
    }
    if (isOutput)
        return RowVector<double>(weights.W_U<double>(*token, 1).transpose());
    return RowVector<double>(weights.W_E<double>(*token, 1));
}

Answer neuronDirection(const std::string& text, const ProcessedWeights& weights)
{
    const std::vector<std::string> parts = partsOf(text);
    const auto place = parts.size() == 3 ? parseHeadId(parts[1]) : std::nullopt; // L.N has the form of L.H
    if (!place || (parts[2] != "in" && parts[2] != "out"))
        return wrongForm(text, neuronForm);
    const ModelConfig& config = weights.config();
    if (config.dMlp == 0)
        return Error{ErrorCode::InvalidArgument, "This model has no MLPs, so it has no neurons."};
    if (config.nExperts > 0)
        return Error{
            ErrorCode::InvalidArgument,
            "This model's MLPs are mixtures of experts, whose neurons are active only for some tokens."};
    if (place->layer >= config.nLayers || place->head >= config.dMlp) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("There is no neuron {}: this model has layers 0 to {} with neurons 0 to {}.",
                                 dottedHead(*place), config.nLayers - 1, config.dMlp - 1)};
    }
    const MlpWeights<double> mlp = weights.mlp<double>(place->layer);
    const RowVector<double> vector = parts[2] == "in"
        ? RowVector<double>(mlp.W_in.col(place->head).transpose())
        : RowVector<double>(mlp.W_out.row(place->head));
    return vector;
}

/// With the entry of largest magnitude positive.
double usualSign(const RowVector<double>& vector)
{
    Eigen::Index largest = 0;
    vector.cwiseAbs().maxCoeff(&largest);
    return vector(largest) < 0 ? -1 : 1;
}

Answer singularDirection(const std::string& text, const Circuits& circuits)
{
    const bool isTurned = text.starts_with('-');
    const std::vector<std::string> parts = partsOf(std::string_view(text).substr(isTurned ? 1 : 0));
    const auto head = parts.size() == 5 ? parseHeadId(parts[1]) : std::nullopt;
    int number = 0;
    const std::string last = head ? parts[4] : std::string();
    const auto end = std::from_chars(last.data(), last.data() + last.size(), number);
    const bool isNumber = end.ec == std::errc() && end.ptr == last.data() + last.size();
    if (!isNumber || (parts[2] != "ov" && parts[2] != "qk") || (parts[3] != "in" && parts[3] != "out"))
        return wrongForm(text, singularForm);
    const ModelConfig& config = circuits.config();
    if (!circuits.contains(*head)) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("There is no head {}: this model has layers 0 to {} with heads 0 to {}.",
                                 dottedHead(*head), config.nLayers - 1, config.nHeads - 1)};
    }
    const auto svd =
        singularDirections(circuits, parts[2] == "ov" ? CircuitKind::Ov : CircuitKind::Qk, *head);
    if (!svd)
        return svd.error();
    if (number < 1 || number > svd->S.size()) {
        return Error{ErrorCode::InvalidArgument,
                     fmt::format("There is no singular vector {} of {}: they are 1 to {}.", number,
                                 dottedHead(*head), svd->S.size())};
    }
    const RowVector<double> vector =
        svd->vectors(parts[3] == "in" ? VectorSide::First : VectorSide::Second).col(number - 1).transpose();
    return RowVector<double>(vector * (usualSign(vector) * (isTurned ? -1 : 1)));
}

Answer fileDirection(const std::string& text, int dModel)
{
    const auto numbers = readNpyVector(text);
    if (!numbers)
        return numbers.error();
    if (numbers->size() != static_cast<std::size_t>(dModel)) {
        return Error{
            ErrorCode::InvalidArgument,
            fmt::format(
                "The direction in '{}' has {} numbers, expected {}, the width of the residual stream.", text,
                numbers->size(), dModel)};
    }
    return RowVector<double>(Eigen::Map<const RowVector<double>>(numbers->data(), dModel));
}

Answer directionSourceNamed(const std::string& text, const Circuits& circuits, const Tokenizer* tokenizer)
{
    if (text.starts_with("neuron:"))
        return neuronDirection(text, circuits.weights());
    if (namesNoToken(text) && !text.ends_with(".npy"))
        return singularDirection(text, circuits);
    if (text.ends_with(".npy"))
        return fileDirection(text, circuits.config().dModel);
    constexpr std::string_view minus = " -- ";
    const std::size_t place = text.find(minus);
    auto x = tokenDirection(text.substr(0, place), circuits.weights(), tokenizer);
    if (!x || place == std::string::npos)
        return x;
    const auto other = tokenDirection(text.substr(place + minus.size()), circuits.weights(), tokenizer);
    if (!other)
        return other.error();
    return RowVector<double>(*x - *other);
}

} // namespace

bool namesNoToken(std::string_view text)
{
    return text.starts_with("neuron:") || text.starts_with("singular:") || text.starts_with("-singular:")
        || text.ends_with(".npy");
}

Result<std::vector<double>> readDirection(const std::string& text, const Circuits& circuits,
                                          const Tokenizer* tokenizer)
{
    const Answer found = directionSourceNamed(text, circuits, tokenizer);
    if (!found)
        return found.error();
    return std::vector<double>(found->begin(), found->end());
}

std::string singularName(const SingularName& of, const RowVector<double>& vector)
{
    return fmt::format("{}singular:{}:{}:{}:{}", usualSign(vector) < 0 ? "-" : "", dottedHead(of.head),
                       of.circuit == CircuitKind::Ov ? "ov" : "qk", of.isOut ? "out" : "in", of.index + 1);
}

} // namespace headwise

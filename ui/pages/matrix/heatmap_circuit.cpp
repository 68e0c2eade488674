#include "ui/pages/matrix/heatmap_circuit.h"

#include <QCoreApplication>
#include <QString>

#include <algorithm>
#include <functional>
#include <numeric>

namespace headwise::ui {

namespace {

using Order = CircuitPicture::Order;

AxisOrder coreOrder(Order order)
{
    switch (order) {
    case Order::ByNorm: return AxisOrder::ByNorm;
    case Order::ByVector: return AxisOrder::ByVector;
    case Order::ByCluster: return AxisOrder::ByCluster;
    default: return AxisOrder::ByIndex;
    }
}

void sortByName(std::vector<int>& tokens, const Tokenizer& tokenizer)
{
    std::vector<std::pair<QString, int>> named;
    named.reserve(tokens.size());
    for (const int token : tokens) {
        const bool isThere = tokenizer.hasToken(token);
        named.emplace_back(isThere ? QString::fromStdString(tokenizer.bytes(token)).trimmed().toCaseFolded()
                                   : QString(),
                           token);
    }
    // Tokens without letters and ids without a token come last.
    std::ranges::stable_sort(named, [](const auto& a, const auto& b) {
        return std::pair(a.first.isEmpty(), a) < std::pair(b.first.isEmpty(), b);
    });
    std::ranges::transform(named, tokens.begin(), &std::pair<QString, int>::second);
}

void sortByCount(std::vector<int>& tokens, const TokenCounts& counts)
{
    std::ranges::stable_sort(tokens, std::greater(), [&](int token) { return counts.of(token); });
}

/// Applies the orders that depend on the tokens alone, not on the matrix.
void sortTokens(CircuitPicture& picture)
{
    for (auto* tokens : {&picture.rows, &picture.columns}) {
        if (picture.order == Order::ByName && picture.tokenizer)
            sortByName(*tokens, *picture.tokenizer);
        if (picture.order == Order::ByCount && picture.counts)
            sortByCount(*tokens, *picture.counts);
    }
}

std::vector<int> permuted(const std::vector<int>& ids, const std::vector<int>& order)
{
    std::vector<int> out;
    out.reserve(order.size());
    for (const int place : order)
        out.push_back(ids[static_cast<std::size_t>(place)]);
    return out;
}

std::vector<int> allUpTo(Eigen::Index count)
{
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

Result<Matrix<float>> formed(const CircuitPicture& picture)
{
    if (picture.isDirect)
        return directPathBlock(*picture.circuits, *picture.tokens, picture.of.terms.biases, picture.rows,
                               picture.columns);
    if (isFull(picture.of.kind))
        return circuitBlock(*picture.circuits, picture.tokens.get(), picture.of, picture.rows,
                            picture.columns);
    return wholeCircuit(*picture.circuits, picture.of);
}

Result<ShownCircuit> tiled(const CircuitPicture& picture, const Task& task)
{
    auto factors = circuitFactors(*picture.circuits, *picture.tokens, picture.of, task);
    if (!factors)
        return factors.error();
    ShownCircuit shown{{}, nullptr, picture.rows, picture.columns};
    if (picture.order != Order::ByIndex) {
        if (coreOrder(picture.order) != AxisOrder::ByIndex) {
            const auto order = axisOrders(*factors, coreOrder(picture.order), picture.vector);
            if (!order)
                return order.error();
            shown.rows = order->rows; // all tokens: position and id are equal
            shown.columns = order->columns;
        }
        factors = FactoredMatrix<float>::create(factors->left()(shown.rows, Eigen::all),
                                                factors->right()(Eigen::all, shown.columns));
        if (!factors)
            return factors.error();
    }
    shown.statistics = entryStatistics(*factors);
    auto tiles = TiledCircuit::create(*std::move(factors),
                                      {.stop = task.stop, .onProgress = {}, .threads = task.threads});
    if (!tiles)
        return tiles.error();
    shown.tiles = *std::move(tiles);
    return shown;
}

} // namespace

QString valueTitle(const CircuitPicture& picture)
{
    const auto words = [](const char* english) {
        return QCoreApplication::translate("HeatmapPage", english);
    };
    if (!picture.isDirect && picture.of.kind == CircuitKind::Ov)
        return words("entry of W_V W_O");
    if (!picture.isDirect && picture.of.kind == CircuitKind::Qk)
        return words("entry of W_Q W_Kᵀ");
    const QString quantity = picture.isDirect    ? words("bigram logit")
        : picture.of.kind == CircuitKind::FullQk ? words("attention score")
                                                 : words("effect on the output's logit");
    switch (picture.isTiled ? RowForm::Raw : picture.form) {
    case RowForm::Raw: return words("%1 (logits)").arg(quantity);
    case RowForm::Centred: return words("%1 minus the row's mean (logits)").arg(quantity);
    case RowForm::ZScores: return words("%1, z-score in its row").arg(quantity);
    case RowForm::Softmax: return words("softmax of the row (probability)");
    }
    return quantity;
}

Result<ShownCircuit> shownCircuit(CircuitPicture picture, const Task& task)
{
    const bool isOfTokens = picture.isDirect || isFull(picture.of.kind);
    if (isOfTokens)
        sortTokens(picture);
    if (picture.isTiled)
        return tiled(picture, task);
    auto block = formed(picture);
    if (!block)
        return block.error();
    Matrix<float> matrix = std::move(block).value();
    if (isOfTokens) {
        matrix = inRowForm(matrix, picture.form);
    } else {
        picture.rows = allUpTo(matrix.rows());
        picture.columns = allUpTo(matrix.cols());
    }
    const EntryStatistics statistics = entryStatistics(matrix);
    if (coreOrder(picture.order) == AxisOrder::ByIndex)
        return ShownCircuit{std::move(matrix), nullptr, std::move(picture.rows), std::move(picture.columns),
                            statistics};
    const auto order = axisOrders(matrix, coreOrder(picture.order), picture.vector);
    if (!order)
        return order.error();
    return ShownCircuit{matrix(order->rows, order->columns), nullptr, permuted(picture.rows, order->rows),
                        permuted(picture.columns, order->columns), statistics};
}

} // namespace headwise::ui

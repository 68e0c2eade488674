#include "core/tokenizer/unigram.h"

#include "core/files/utf8.h"
#include "core/tokenizer/byte_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headwise {
namespace {

constexpr int unknownId = -1;
constexpr double unknownPenalty = 10;

} // namespace

Result<Unigram> Unigram::create(const TokenizerFile& file)
{
    Unigram unigram;
    unigram.m_sumsAreFloats = file.sumsAreFloats;
    double lowest = std::numeric_limits<double>::infinity();
    double highest = -lowest;
    for (const TokenizerFile::Entry& entry : file.vocabulary) {
        if (!std::isfinite(entry.score))
            return Error{ErrorCode::Corrupt,
                         "'" + file.path.string() + "': The score of '" + entry.text + "' is not a number."};
        if (file.unknownToken == entry.text && !unigram.m_unknown)
            unigram.m_unknown = entry.id;
        if (!entry.fromText || entry.text.empty())
            continue;
        lowest = std::min(lowest, entry.score);
        highest = std::max(highest, entry.score);
        unigram.m_pieces.push_back({entry.text, entry.id, entry.score});
        if (entry.whole)
            unigram.m_pieces.back().score = std::numeric_limits<double>::quiet_NaN();
    }
    for (Piece& piece : unigram.m_pieces)
        if (std::isnan(piece.score))
            piece.score = static_cast<double>(piece.text.size()) * highest - 0.1;
    unigram.m_unknownScore = (unigram.m_pieces.empty() ? 0 : lowest) - unknownPenalty;
    std::stable_sort(unigram.m_pieces.begin(), unigram.m_pieces.end(),
                     [](const Piece& a, const Piece& b) { return a.text < b.text; });
    if (file.byteFallback)
        unigram.m_byteTokens = byteTokenIds(file);
    return unigram;
}

/// Finds, for each position, the last piece of the best segmentation of the text up to it.
std::vector<Unigram::Step> Unigram::bestPath(std::string_view text) const
{
    std::vector<Step> steps(text.size() + 1);
    steps[0].reached = true;
    const auto reach = [&](std::size_t begin, std::size_t end, int id, double score) {
        const double sum = steps[begin].score + score;
        if (!steps[end].reached || sum > steps[end].score)
            steps[end] = {begin, id, m_sumsAreFloats ? double(static_cast<float>(sum)) : sum, true};
    };
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t character = utf8StepAt(text, begin).length;
        bool isKnown = false;
        // The pieces that begin with the text so far are a range of the sorted list, which narrows byte by byte.
        auto first = m_pieces.begin(), last = m_pieces.end();
        for (std::size_t depth = 0; first != last && begin + depth < text.size(); ++depth) {
            const auto byte = static_cast<unsigned char>(text[begin + depth]);
            const auto byteOf = [depth](const Piece& piece) {
                return depth < piece.text.size() ? static_cast<unsigned char>(piece.text[depth]) : -1;
            };
            first = std::partition_point(first, last, [&](const Piece& p) { return byteOf(p) < byte; });
            last = std::partition_point(first, last, [&](const Piece& p) { return byteOf(p) <= byte; });
            if (first == last || first->text.size() != depth + 1)
                continue;
            reach(begin, begin + depth + 1, first->id, first->score);
            isKnown = isKnown || depth + 1 == character;
        }
        if (!isKnown)
            reach(begin, begin + character, unknownId, m_unknownScore);
        begin += character;
    }
    return steps;
}

void Unigram::appendUnknown(std::string_view text, std::vector<int>& ids) const
{
    if (m_byteTokens.empty()) {
        if (m_unknown)
            ids.push_back(*m_unknown);
        return;
    }
    for (const char byte : text)
        ids.push_back(m_byteTokens[static_cast<unsigned char>(byte)]);
}

void Unigram::encode(std::string_view piece, std::vector<int>& ids) const
{
    const std::vector<Step> steps = bestPath(piece);
    std::vector<std::pair<std::size_t, std::size_t>> cuts; // from the back
    for (std::size_t end = piece.size(); end > 0; end = steps[end].begin)
        cuts.emplace_back(steps[end].begin, end);
    std::size_t unknownFrom = piece.size();
    for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
        const auto [begin, end] = *cut;
        if (steps[end].id == unknownId) {
            unknownFrom = std::min(unknownFrom, begin);
            continue;
        }
        if (unknownFrom < begin)
            appendUnknown(piece.substr(unknownFrom, begin - unknownFrom), ids);
        unknownFrom = piece.size();
        ids.push_back(steps[end].id);
    }
    if (unknownFrom < piece.size())
        appendUnknown(piece.substr(unknownFrom), ids);
}

} // namespace headwise

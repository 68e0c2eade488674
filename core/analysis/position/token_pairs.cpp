#include "core/analysis/position/token_pairs.h"

#include "core/analysis/inputs/token_counts.h"
#include "core/tokenizer/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace headwise {

Roc rocOf(const std::vector<double>& right, std::vector<double> wrong)
{
    std::vector<Weighted> once;
    once.reserve(right.size());
    for (const double score : right)
        once.push_back({score, 1});
    return weightedRoc(std::move(once), std::move(wrong));
}

Roc weightedRoc(std::vector<Weighted> right, std::vector<double> wrong)
{
    std::sort(right.begin(), right.end(),
              [](const Weighted& a, const Weighted& b) { return a.score > b.score; });
    std::sort(wrong.begin(), wrong.end());
    std::vector<double> weights{0}; // of the highest 0, 1, 2, …
    for (const Weighted& one : right)
        weights.push_back(weights.back() + one.weight);
    const double P = weights.back(), N = static_cast<double>(wrong.size());
    Roc roc{0, Eigen::VectorXd(static_cast<Eigen::Index>(rocPoints))};
    for (const Weighted& one : right) {
        const auto [low, high] = std::equal_range(wrong.begin(), wrong.end(), one.score);
        roc.area += one.weight
            * (static_cast<double>(low - wrong.begin()) + static_cast<double>(high - low) / 2) / (P * N);
    }
    for (std::size_t i = 0; i < rocPoints; ++i) {
        const std::size_t allowed = i * wrong.size() / (rocPoints - 1); // this many wrong ones may be above
        const auto end = allowed == wrong.size()
            ? right.end()
            : std::partition_point(right.begin(), right.end(),
                                   [limit = wrong[wrong.size() - 1 - allowed]](const Weighted& one) {
                                       return one.score > limit;
                                   });
        roc.curve(static_cast<Eigen::Index>(i)) = weights[static_cast<std::size_t>(end - right.begin())] / P;
    }
    return roc;
}

TokenPairs::TokenPairs(const Tokenizer& tokenizer, int dVocab, const std::vector<bool>& unused)
    : m_isUsed(static_cast<std::size_t>(dVocab))
{
    readTexts(tokenizer, dVocab, unused);
    for (std::size_t id = 0; id < m_texts.size(); ++id)
        m_isUsed[id] = !m_texts[id].empty();
    m_used = m_ids.size();
    for (const std::string& whole : m_texts) {
        for (std::size_t cut = 1; cut < whole.size(); ++cut) {
            const auto prefix = m_ids.find(whole.substr(0, cut));
            const auto suffix = m_ids.find(whole.substr(cut));
            if (prefix != m_ids.end() && suffix != m_ids.end())
                m_prefixes[suffix->second].push_back({prefix->second, 1});
        }
    }
    for (auto& [suffix, prefixes] : m_prefixes)
        std::sort(prefixes.begin(), prefixes.end(),
                  [](const Prefix& a, const Prefix& b) { return a.id < b.id; });
}

TokenPairs::TokenPairs(const BigramCounts& bigrams, const Tokenizer* tokenizer, int dVocab,
                       const std::vector<bool>& unused)
    : m_texts(static_cast<std::size_t>(dVocab))
    , m_isUsed(static_cast<std::size_t>(dVocab))
{
    if (tokenizer)
        readTexts(*tokenizer, dVocab, unused);
    for (std::size_t id = 0; id < m_isUsed.size(); ++id)
        m_isUsed[id] = id >= unused.size() || !unused[id];
    m_used = static_cast<std::size_t>(std::count(m_isUsed.begin(), m_isUsed.end(), true));
    const auto isUsed = [this, dVocab](int id) {
        return id < dVocab && m_isUsed[static_cast<std::size_t>(id)];
    };
    for (const int suffix : bigrams.seconds()) {
        if (!isUsed(suffix))
            continue;
        for (const BigramCounts::Prefix& prefix : bigrams.before(suffix))
            if (isUsed(prefix.token))
                m_prefixes[suffix].push_back({prefix.token, prefix.count});
    }
}

void TokenPairs::readTexts(const Tokenizer& tokenizer, int dVocab, const std::vector<bool>& unused)
{
    m_texts.assign(static_cast<std::size_t>(dVocab), {});
    for (int id = 0; id < dVocab; ++id) {
        const auto index = static_cast<std::size_t>(id);
        const bool isUsed = index >= unused.size() || !unused[index];
        if (!isUsed || !tokenizer.hasToken(id) || tokenizer.isSpecial(id))
            continue;
        std::string text = tokenizer.bytes(id);
        if (text.empty() || !m_ids.emplace(text, id).second) // of equal texts the lowest id
            continue;
        m_texts[index] = std::move(text);
    }
}

int TokenPairs::merged(int prefix, int suffix) const
{
    const auto first = static_cast<std::size_t>(prefix), second = static_cast<std::size_t>(suffix);
    if (first >= m_texts.size() || second >= m_texts.size() || m_texts[first].empty()
        || m_texts[second].empty())
        return -1;
    const auto found = m_ids.find(m_texts[first] + m_texts[second]);
    return found == m_ids.end() ? -1 : found->second;
}

std::vector<int> TokenPairs::someSuffixes(std::size_t count, std::uint64_t seed) const
{
    std::vector<int> ids;
    for (const auto& [suffix, prefixes] : m_prefixes)
        if (prefixes.size() < m_used)
            ids.push_back(suffix);
    std::mt19937_64 random(seed);
    const std::size_t taken = std::min(ids.size(), count);
    for (std::size_t i = 0; i < taken; ++i) // the first steps of a shuffle
        std::swap(ids[i], ids[i + random() % (ids.size() - i)]);
    ids.resize(taken);
    std::sort(ids.begin(), ids.end());
    return ids;
}

Roc TokenPairs::rocOf(int suffix, const Eigen::VectorXd& scores) const
{
    const std::vector<Prefix>& prefixes = m_prefixes.at(suffix);
    std::vector<Weighted> right;
    std::vector<double> wrong;
    auto next = prefixes.begin();
    for (std::size_t id = 0; id < m_isUsed.size(); ++id) {
        if (!m_isUsed[id])
            continue;
        const double score = scores(static_cast<Eigen::Index>(id));
        if (next != prefixes.end() && next->id == static_cast<int>(id))
            right.push_back({score, (next++)->weight});
        else
            wrong.push_back(score);
    }
    return weightedRoc(std::move(right), std::move(wrong));
}

double TokenPairs::randomDeviation(const std::vector<int>& suffixes) const
{
    double variance = 0;
    for (const int suffix : suffixes) {
        const std::vector<Prefix>& prefixes = m_prefixes.at(suffix);
        double sum = 0, squares = 0;
        for (const Prefix& prefix : prefixes) {
            sum += prefix.weight;
            squares += prefix.weight * prefix.weight;
        }
        const double N = static_cast<double>(m_used - prefixes.size());
        variance += (squares / (sum * sum) * (N + 1) + 1) / (12 * N);
    }
    return std::sqrt(variance) / static_cast<double>(suffixes.size());
}

} // namespace headwise

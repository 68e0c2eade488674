#include "core/analysis/position/token_pairs.h"

#include "core/io/tokenizer.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace headwise {

Roc rocOf(std::vector<double> right, std::vector<double> wrong)
{
    std::sort(right.begin(), right.end());
    std::sort(wrong.begin(), wrong.end());
    const double P = static_cast<double>(right.size()), N = static_cast<double>(wrong.size());
    Roc roc{0, Eigen::VectorXd(static_cast<Eigen::Index>(rocPoints))};
    for (const double score : right) {
        const auto [low, high] = std::equal_range(wrong.begin(), wrong.end(), score);
        roc.area +=
            (static_cast<double>(low - wrong.begin()) + static_cast<double>(high - low) / 2) / (P * N);
    }
    for (std::size_t i = 0; i < rocPoints; ++i) {
        const std::size_t allowed = i * wrong.size() / (rocPoints - 1); // this many wrong ones may be above
        const auto above = allowed == wrong.size()
            ? right.begin()
            : std::upper_bound(right.begin(), right.end(), wrong[wrong.size() - 1 - allowed]);
        roc.curve(static_cast<Eigen::Index>(i)) = static_cast<double>(right.end() - above) / P;
    }
    return roc;
}

TokenPairs::TokenPairs(const Tokenizer& tokenizer, int dVocab, const std::vector<bool>& unused)
    : m_texts(static_cast<std::size_t>(dVocab))
{
    for (int id = 0; id < dVocab; ++id) {
        const auto index = static_cast<std::size_t>(id);
        const bool isUsed = index >= unused.size() || !unused[index];
        if (!isUsed || !tokenizer.hasToken(id) || tokenizer.isSpecial(id))
            continue;
        std::string text = tokenizer.bytes(id);
        if (text.empty() || !m_ids.emplace(text, id).second) // of equal texts the lowest id
            continue;
        m_texts[index] = std::move(text);
        ++m_used;
    }
    for (const std::string& whole : m_texts) {
        for (std::size_t cut = 1; cut < whole.size(); ++cut) {
            const auto prefix = m_ids.find(whole.substr(0, cut));
            const auto suffix = m_ids.find(whole.substr(cut));
            if (prefix != m_ids.end() && suffix != m_ids.end())
                m_prefixes[suffix->second].push_back(prefix->second);
        }
    }
    for (auto& [suffix, prefixes] : m_prefixes)
        std::sort(prefixes.begin(), prefixes.end());
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
    const std::vector<int>& prefixes = m_prefixes.at(suffix);
    std::vector<double> right, wrong;
    for (std::size_t id = 0; id < m_texts.size(); ++id) {
        if (m_texts[id].empty())
            continue;
        const bool isRight = std::binary_search(prefixes.begin(), prefixes.end(), static_cast<int>(id));
        (isRight ? right : wrong).push_back(scores(static_cast<Eigen::Index>(id)));
    }
    return headwise::rocOf(std::move(right), std::move(wrong));
}

double TokenPairs::randomDeviation(const std::vector<int>& suffixes) const
{
    double variance = 0;
    for (const int suffix : suffixes) {
        const double P = static_cast<double>(m_prefixes.at(suffix).size());
        const double N = static_cast<double>(m_used) - P;
        variance += (P + N + 1) / (12 * P * N);
    }
    return std::sqrt(variance) / static_cast<double>(suffixes.size());
}

} // namespace headwise

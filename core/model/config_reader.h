#pragma once

#include "core/base/result.h"
#include "core/model/config.h"

#include <nlohmann/json_fwd.hpp>

#include <array>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headwise {

/// A short list of words, fit for a table of constants. As spellings of one key, the first that is given counts.
class Names {
public:
    constexpr Names() = default;
    constexpr Names(std::initializer_list<std::string_view> names)
    {
        for (const std::string_view name : names)
            m_names[m_count++] = name;
    }

    constexpr const std::string_view* begin() const { return m_names.data(); }
    constexpr const std::string_view* end() const { return m_names.data() + m_count; }
    constexpr bool empty() const { return m_count == 0; }
    constexpr std::string_view operator[](std::size_t i) const { return m_names[i]; }
    constexpr std::size_t size() const { return m_count; }

private:
    std::array<std::string_view, 8> m_names = {};
    std::size_t m_count = 0;
};

/// Reads the keys of one config file, remembers every fault, and at the end knows which keys nobody asked for.
///
/// A key that is absent or null has its default. Numbers may be written as strings, whole numbers as floats. Where a
/// key has several spellings the first that is given counts.
class ConfigReader {
public:
    ConfigReader(const nlohmann::json& config, std::string_view file);

    bool isGiven(std::string_view name) const;  ///< Present and not null.
    bool isAbsent(std::string_view name) const; ///< Not even null.
    /// A number from 1 on; without a default a missing key is a fault.
    int size(const Names& names, std::optional<int> standard = std::nullopt);
    std::optional<int>
    optionalSize(const Names& names); ///< A number from 1 on, or nothing: absent, null, 0 and −1.
    int count(std::string_view name, int standard);    ///< A number from 0 on.
    std::optional<int> optionalId(const Names& names); ///< A token id; of a list the first; −1 is nothing.
    double number(const Names& names, std::optional<double> standard);
    bool flag(const Names& names, bool standard);
    std::optional<bool> optionalFlag(std::string_view name); ///< Nothing: absent or null.
    std::string text(const Names& names, std::string_view standard);

    /// The key must be absent, null or have one of these values (JSON texts: "false", "1.0"); anything else
    /// changes the function and is refused, named with its value.
    void onlySupports(std::string_view name, const Names& values);
    void refuse(std::string_view name, std::string_view explanation);
    void contradiction(std::string sentence); ///< A fault in the values themselves.
    void note(std::string sentence) { m_notes.push_back(std::move(sentence)); } ///< A warning.
    void ignore(std::span<const std::string_view> names); ///< Keys that cannot change the function.
    /// Records a default that no getter knows of.
    void assume(std::string_view key, std::string value);
    /// Drops recorded defaults: of a part that the model lacks, or that the tensors themselves tell.
    void forget(const Names& keys);
    /// Returns the defaults that were taken for absent keys, in the order of reading.
    const std::vector<AssumedKey>& assumed() const { return m_assumed; }

    /// The model's activation by its name in Hugging Face's and TransformerLens' tables. Another name is a note and no fault, because
    /// only a forward pass needs the activation.
    Activation activation(const Names& names, std::string_view standard);
    /// The key under which activation() last found another name; empty: none.
    const std::string& unknownActivation() const { return m_unknownActivation; }

    /// \returns the notes, and a warning if there are keys that nobody read or ignored.
    /// Errors: Corrupt for contradictions and missing keys (all listed), Unsupported for refusals (all listed).
    Result<std::vector<std::string>> finish() const;

private:
    const nlohmann::json* find(const Names& names, std::string_view& used);
    void wrongKind(std::string_view name, const nlohmann::json& value, std::string_view expected);

    const nlohmann::json& m_config;
    std::string m_file;
    std::set<std::string, std::less<>> m_known;
    std::vector<std::string> m_missing;
    std::vector<std::string> m_contradictions;
    std::vector<std::string> m_refusals;
    std::vector<std::string> m_notes;
    std::vector<AssumedKey> m_assumed;
    std::string m_unknownActivation;
};

/// As a config.json writes it, with NaN and Infinity, and cut off where it is long.
std::string shownValue(const nlohmann::json& value);

/// "'a', 'b', 'c'", the first six and how many more there are.
std::string listed(const std::vector<std::string>& names, std::string_view separator = ", ");

/// More than any model has, and few enough that a list of all heads can be shown. Sessions are held to them too.
inline constexpr int mostLayers = 10'000;
inline constexpr int mostHeads = 1'000'000; ///< The heads of all layers together.
inline constexpr int mostTokens = 100'000'000;
inline constexpr double mostWeights = 0x1p50;

/// Sizes that fit each other and any file that could exist; checked before anything is computed from them.
/// Errors: Corrupt, naming the sizes.
Result<Done> checkSizes(const ModelConfig& config, std::string_view file);

/// 4 · d_model, the width of an MLP that no key gives; d_model itself if that is implausibly large.
int standardMlpWidth(int dModel);

} // namespace headwise

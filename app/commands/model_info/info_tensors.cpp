#include "app/commands/model_info/info_tensors.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

namespace headwise::app {

using nlohmann::ordered_json;

namespace {

/// Formats three significant digits in at most nine characters: "-0.0123", "1.2e+10".
std::string threeDigits(double value)
{
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << std::setprecision(3) << value;
    return std::isnan(value) ? "-" : text.str();
}

/// Formats "65.5 kB", by powers of 1000.
std::string bytesText(std::int64_t bytes)
{
    static constexpr std::array<std::string_view, 5> units{" B", " kB", " MB", " GB", " TB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < units.size(); ++unit)
        value /= 1000;
    return threeDigits(value) + std::string(units[unit]);
}

void printInfoTensorsRow(const std::string& name, const std::string& dtype, const std::string& shape,
                         const std::string& bytes, const std::array<std::string, 6>& numbers)
{
    if (!name.empty())
        std::cout << "  " << name << '\n';
    std::cout << "   " << std::left << std::setw(7) << dtype << ' ' << std::setw(13) << shape << ' '
              << std::right << std::setw(7) << bytes;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        std::cout << ' ' << std::setw(i < 4 ? 9 : 3) << numbers[i];
    std::cout << '\n';
}

void printIndented(const std::string& label, const std::string& value)
{
    std::cout << "  " << std::left << std::setw(18) << label << value << '\n';
}

} // namespace

Result<StatisticsOfAll> statisticsOfAll(const WeightMap& file, int bins, const Task& task)
{
    StatisticsOfAll all(file.tensors().size());
    std::vector<int> tensors;
    for (std::size_t i = 0; i < all.size(); ++i)
        tensors.push_back(static_cast<int>(i));
    const Result<Done> read = tensorStatistics(
        file, tensors, bins,
        [&](int tensor, const std::optional<TensorStatistics>& found) {
            all[static_cast<std::size_t>(tensor)] = found;
        },
        task);
    if (!read)
        return read.error();
    return all;
}

ordered_json tensorsJson(const WeightMap& file, const LoadReport* report, const StatisticsOfAll& statistics)
{
    ordered_json list = ordered_json::array();
    for (std::size_t i = 0; i < file.tensors().size(); ++i) {
        const StoredTensor& tensor = file.tensors()[i];
        ordered_json entry{{"name", tensor.name},
                           {"dtype", dtypeName(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"bytes", tensor.byteCount},
                           {"file", file.fileOf(static_cast<int>(i)).filename().string()}};
        if (report && report->uses[i].use.empty())
            entry["ignored"] = report->uses[i].whyIgnored;
        else if (report)
            entry["used_as"] = report->uses[i].use;
        if (const auto& s = statistics[i]) {
            entry.update({{"min", s->minimum},
                          {"max", s->maximum},
                          {"mean", s->mean},
                          {"std", s->deviation},
                          {"nan", s->nanCount},
                          {"inf", s->infinityCount},
                          {"zeros", s->zeroCount},
                          {"histogram", nullptr}});
            if (!s->histogram.counts.empty())
                entry["histogram"] = {
                    {"low", s->histogram.low}, {"high", s->histogram.high}, {"counts", s->histogram.counts}};
        }
        list.push_back(std::move(entry));
    }
    return list;
}

ordered_json reportJson(const ModelWeights& weights)
{
    const LoadReport report = loadReport(weights);
    ordered_json json{
        {"tensors_used", report.usedCount},     {"bytes_used", report.usedBytes},
        {"bytes_ignored", report.ignoredBytes}, {"ignored", ordered_json::array()},
        {"embeddings", report.embeddings},      {"config_against_tensors", ordered_json::array()}};
    for (const IgnoredTensors& group : report.ignored)
        json["ignored"].push_back({{"why", group.why}, {"bytes", group.bytes}, {"names", group.names}});
    for (const ConfigCheck& check : report.checks)
        json["config_against_tensors"].push_back({{"what", check.what},
                                                  {"config", check.config},
                                                  {"tensors", check.tensors},
                                                  {"agrees", check.agrees}});
    return json;
}

ordered_json normsJson(const std::vector<NormFactors>& norms)
{
    ordered_json list = ordered_json::array();
    for (const NormFactors& norm : norms)
        list.push_back({{"name", norm.name},
                        {"formula", norm.formula},
                        {"count", norm.count},
                        {"min", norm.minimum},
                        {"max", norm.maximum},
                        {"mean", norm.mean}});
    return list;
}

void printTensors(const WeightMap& file, const StatisticsOfAll& statistics)
{
    std::cout << "\nTensors\n";
    printInfoTensorsRow("", "dtype", "shape", "bytes", {"min", "max", "mean", "std", "NaN", "Inf"});
    for (std::size_t i = 0; i < file.tensors().size(); ++i) {
        const StoredTensor& tensor = file.tensors()[i];
        std::array<std::string, 6> numbers{"-", "-", "-", "-", "-", "-"};
        if (const auto& s = statistics[i])
            numbers = {threeDigits(s->minimum),     threeDigits(s->maximum),
                       threeDigits(s->mean),        threeDigits(s->deviation),
                       std::to_string(s->nanCount), std::to_string(s->infinityCount)};
        printInfoTensorsRow(tensor.name, std::string(dtypeName(tensor.dtype)), shapeText(tensor.shape),
                            bytesText(static_cast<std::int64_t>(tensor.byteCount)), numbers);
    }
}

void printReport(const ModelWeights& weights)
{
    constexpr std::size_t shown = 3;
    const LoadReport report = loadReport(weights);
    std::cout << "\nLoaded\n";
    printIndented("used",
                  std::to_string(report.usedCount) + " of " + std::to_string(report.uses.size())
                      + " tensors, " + bytesText(report.usedBytes));
    for (const IgnoredTensors& group : report.ignored) {
        printIndented("ignored",
                      std::to_string(group.names.size()) + ", " + bytesText(group.bytes) + ": " + group.why);
        for (std::size_t i = 0; i < std::min(shown, group.names.size()); ++i)
            printIndented("", group.names[i]);
        if (group.names.size() > shown)
            printIndented("", "… and " + std::to_string(group.names.size() - shown) + " more");
    }
    if (report.ignored.empty())
        printIndented("ignored", "nothing");
    printIndented("embeddings", report.embeddings);
    std::cout << "\nConfig against tensors\n";
    for (const ConfigCheck& check : report.checks)
        printIndented(check.what,
                      check.config.empty() ? check.tensors + "; the config does not say"
                                           : check.config + (check.agrees ? " = " : " ≠ ") + check.tensors);
}

void printNorms(const std::vector<NormFactors>& norms)
{
    if (norms.empty())
        return;
    std::cout << "\nNorm weights as they act\n";
    for (const NormFactors& norm : norms)
        printIndented(norm.name,
                      std::to_string(norm.count) + " × " + norm.formula + ": " + threeDigits(norm.minimum)
                          + " to " + threeDigits(norm.maximum) + ", mean " + threeDigits(norm.mean));
}

} // namespace headwise::app

#pragma once

#include "core/session/session_file.h"

#include <cmath>
#include <complex>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace headwise::test {

/// An array of rising numbers.
template <typename T>
ResultArray risingArray(std::string path, std::vector<std::size_t> shape,
                        const std::vector<std::string>& axes)
{
    ResultArray result;
    result.path = std::move(path);
    result.shape = std::move(shape);
    result.axes = axesNamed(axes);
    std::vector<T> values(
        std::accumulate(result.shape.begin(), result.shape.end(), std::size_t(1), std::multiplies<>()));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = T(static_cast<short>(i));
    result.values = std::move(values);
    result.definition = "the definition of " + result.path;
    return result;
}

/// A session in which every field has a value other than its default. 2 layers, 3 heads, d_head 5, d_model 7, 11 tokens.
inline Session fullSession()
{
    Session session;
    session.headwiseVersion = "0.0.9";
    session.created = "2025-01-02T03:04:05Z";
    session.model = {"toy", "gpt2", 2,  3,         3,       7,          5,
                     28,    11,     13, "learned", "LNPre", "a/folder", std::string(64, 'a')};
    session.processing = {true, false, true, true, false, false, false};
    session.processing.headChanges = {{.head = {1, 2}, .earlier = HeadId{0, 1}},
                                      {.head = {0, 0}, .withoutComponent = 3}};
    session.embedding = "effective";
    session.warnings = {"one", "zwei, drei"};
    for (int i = 0; i < 11; ++i) {
        session.tokens.push_back("␣t" + std::to_string(i));
        session.tokenBytes.push_back(std::string(1, char(i)) + "t");
    }
    ResultArray scores = risingArray<float>("scores/copying", {2, 3}, {"layer", "head"});
    scores.title = "Copying";
    scores.unit = "nats";
    scores.nullMean = 0.25;
    scores.nullDeviation = 0.125;
    scores.range = {-1.0, 1.0};
    scores.attributes = {{"embedding", std::string("raw")},
                         {"baseline", 0.1},
                         {"scaled", true},
                         {"list", std::vector<std::string>{"a", "b"}}};
    auto& arrays = session.results.arrays;
    arrays.push_back(
        risingArray<double>("spectra/qk/singular_values", {2, 3, 5}, {"layer", "head", "singular value"}));
    arrays.push_back(risingArray<float>("spectra/qk/frobenius_norm", {2, 3}, {"layer", "head"}));
    arrays.push_back(
        risingArray<std::complex<float>>("eigenvalues/ov", {2, 3, 5}, {"layer", "head", "eigenvalue"}));
    arrays.push_back(
        risingArray<std::complex<double>>("eigenvalues/qk", {2, 3, 5}, {"layer", "head", "eigenvalue"}));
    arrays.push_back(scores);
    arrays.push_back(risingArray<float>("composition/q", {2, 3, 2, 3}, {"l1", "h1", "l2", "h2"}));
    arrays.push_back(risingArray<float>("tables/full_ov/values", {2, 11, 1}, {"head", "token", "rank"}));
    arrays.push_back(risingArray<std::int32_t>("analyses/x/y", {0, 4}, {"row", "column"}));
    arrays.push_back(
        risingArray<float>("factors/qk/a", {2, 3, 7, 5}, {"layer", "head", "residual", "factor"}));
    arrays.push_back(risingArray<float>("embedding", {11, 7}, {"token", "residual"}));
    arrays.push_back(risingArray<float>("unembedding", {7, 11}, {"residual", "token"}));
    session.results.groupAttributes["tables/full_ov"]["heads"] = std::vector<std::string>{"0.1", "1.2"};
    session.notes = {{"0.1", "first\nsecond"}, {"1.2", ""}};
    session.bookmarks = {"1.2", "0.0"};
    session.configFile = "/models/config of another.json";
    session.namesFile = "/models/names of another.json";
    session.adapterBase = "/models/base of an adapter";
    session.adapterStrength = 0.25;
    session.overrides = {"act_fn=relu", "n_heads=12"};
    session.ignoredTensors = {"visual.*", "score.weight"};
    session.view = "{\"head\": \"0.1\"}";
    session.figures =
        R"({"composed":{"two":{"panels":[{"column":1,"row":1,"view":"copying"}],"version":1}},"version":1,"views":{"L1H2 OV":{"width":85}}})";
    ScreenPicture matrix;
    matrix.page = "matrix";
    matrix.title = "L1H2 OV, toy";
    matrix.head = "1.2";
    matrix.note = "Only the first 2 of 3 rows are saved.";
    matrix.isMatrix = true;
    matrix.rowAxis = "source token";
    matrix.columnAxis = "output token";
    matrix.columnNames = {"␣t0", "␣t1", "␣t4"};
    matrix.rowNames = {"␣t2", "␣t3"};
    matrix.values = {0, 0.5, -1, std::nan(""), 2, 3};
    ScreenPicture table;
    table.page = "tokens";
    table.title = "L1H2 Outputs";
    table.head = "1.2";
    table.columnNames = {"rank", "token", "value"};
    table.values = {1, std::nan(""), 0.1, 2, std::nan(""), std::nan("")};
    table.words = {"", "␣t2", "", "", "007", ""};
    ScreenPicture second = table;
    second.head = "";
    second.words.clear();
    session.screen = {matrix, table, second};
    return session;
}

/// Writes a good session with one fault from `damage`. \returns `path`, or nothing if it cannot be written
inline std::filesystem::path writeDamaged(const std::filesystem::path& path,
                                          const std::function<void(Session&)>& damage)
{
    Session session = fullSession();
    damage(session);
    return writeSession(path, session, Task{}) ? path : std::filesystem::path();
}

} // namespace headwise::test

#include "core/results/layer_null.h"
#include "tests/support/changed_toy.h"
#include "tests/support/every_input.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <array>
#include <cmath>

using namespace headwise;

namespace {

/// Returns a toy of one of the classes, with weights, sizes and a vocabulary of its own.
Circuits seededToy(unsigned seed)
{
    const auto classes = test::toyClasses();
    test::ToyOptions options = classes[(seed * 7) % classes.size()].second;
    options.seed = 100 + seed;
    if (seed % 3 == 0)
        options.dVocab = 41;
    if (seed % 3 == 1 && options.layout == test::ToyLayout::TransformerLens)
        options.dModel = 24;
    return test::toyCircuits(options);
}

std::vector<double> realNumbers(const ResultArray& array)
{
    std::vector<double> out;
    std::visit(
        [&](const auto& values) {
            for (const auto& value : values) {
                if constexpr (requires { value.imag(); }) {
                    out.push_back(value.real());
                    out.push_back(value.imag());
                } else {
                    out.push_back(static_cast<double>(value));
                }
            }
        },
        array.values);
    return out;
}

/// Arrays whose numbers are 0 where the weights are centred, so that rounding is all they have: means of logits, and
/// what OV writes into the direction that centring empties.
constexpr std::array zeros{"analyses/tables/full_ov_row_mean", "analyses/direct_path/row_mean",
                           "analyses/logit_attribution/null_head_mean",
                           "analyses/logit_attribution/null_component_mean", "analyses/bands/dark_writing"};

/// Returns the first number in which the two differ; empty if there is none.
std::string differenceOf(const ResultArray& single, const ResultArray& exact)
{
    const auto a = realNumbers(single), b = realNumbers(exact);
    double largest = std::ranges::find(zeros, exact.path) != zeros.end() ? 0.01 : 0;
    for (const double value : b)
        largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        const bool isSame = std::isfinite(b[i]) ? std::abs(a[i] - b[i]) <= 1e-4 * largest
                                                : a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
        if (!isSame)
            return "[" + std::to_string(i) + "]: " + std::to_string(a[i]) + " and " + std::to_string(b[i]);
    }
    return a.size() == b.size() ? "" : ": another shape";
}

} // namespace

/// Results in float32 and in float64.
class PrecisionTest : public QObject {
    Q_OBJECT

private slots:
    void everyAnalysisAgreesInBothPrecisions() { checkModels(1); }
    void everyAnalysisAgreesOnTenMoreModels() { checkModels(11); }
    void everyAnalysisAgreesOnTheLastTenModels() { checkModels(21); }

    /// 1e200 is finite, its square is not. A file with a NaN is another matter.
    void finiteWeightsThatOverflowAreNotCalledInfinite()
    {
        test::ChangedToy toy(test::bareAttention());
        toy.set("blocks.0.attn.W_Q", 1, 1e200 * toy.matrix("blocks.0.attn.W_Q", 1));
        Matrix<double> broken = toy.matrix("blocks.1.attn.W_K", 2);
        broken(0, 0) = std::nan("");
        toy.set("blocks.1.attn.W_K", 2, broken);
        const ResultSet results = test::analysed(toy.circuits(), {"spectra"}, test::inDouble());
        QCOMPARE(results.warnings.size(), std::size_t(2));
        QVERIFY2(results.warnings[0].find("a weight is NaN or infinite: L1H2.") != std::string::npos,
                 results.warnings[0].c_str());
        QVERIFY2(results.warnings[1].find("all of them finite, is too large: L0H1.") != std::string::npos,
                 results.warnings[1].c_str());
        QVERIFY(test::analysed(toy.circuits(), {"spectra"})
                    .warnings[1]
                    .ends_with("--precision f64 holds larger ones."));
    }

    /// Weights of 1e20 fit into float32, their products do not.
    void largeWeightsAreComputed()
    {
        test::ChangedToy toy(test::bareAttention());
        for (const char* name : {"W_Q", "W_K", "W_V", "W_O"})
            toy.set(test::ChangedToy::attn(0, name), 1,
                    1e20 * toy.matrix(test::ChangedToy::attn(0, name), 1));
        const Circuits circuits = toy.circuits();
        AnalysisOptions options = test::everyInput(circuits.config(), {{0, 1}, {1, 1}});
        const auto names = test::fittingAnalyses(circuits.config(), options);
        for (const Precision precision : {Precision::F32, Precision::F64}) {
            options.precision = precision;
            for (const std::string& warning : test::analysed(circuits, names, options).warnings)
                QVERIFY2(warning.find("NaN or infinite") == std::string::npos, warning.c_str());
        }
    }

    void drawnNullsSayHowManyDrawsTheyHave()
    {
        const Circuits circuits = test::toyCircuits({});
        const ResultSet results = test::analysed(
            circuits, {"symmetry", "degeneracy", "copying", "similarity", "spectra"}, test::inDouble());
        const auto attribute = [&](const char* path, const char* name) {
            return nullNumber(*results.find(path), name).value_or(-1);
        };
        for (const auto& [path, draws, isMeanKnown] : {std::tuple("analyses/symmetry/direction", 16.0, true),
                                                       {"analyses/symmetry/symmetric_norm", 16.0, false},
                                                       {"analyses/degeneracy/qk_single", 16.0, false},
                                                       {"scores/copying", 256.0, true},
                                                       {"analyses/similarity/cka_ov", 4.0, false},
                                                       {"spectra/qk/effective_rank", 32.0, false}}) {
            const double deviation = *results.find(path)->nullDeviation;
            QCOMPARE(attribute(path, "null_draws"), draws);
            QCOMPARE(attribute(path, "null_mean_error"), isMeanKnown ? 0.0 : deviation / std::sqrt(draws));
            QCOMPARE(attribute(path, "null_deviation_error"), deviation / std::sqrt(2 * (draws - 1)));
        }
        // A formula has no such error.
        QVERIFY(!nullNumber(*results.find("analyses/symmetry/symmetry"), "null_draws"));
    }

private:
    /// Compares every number and id of ten models. What float32 rounds may move a number by 1e-4 of the largest of its array.
    static void checkModels(unsigned first)
    {
        for (unsigned seed = first; seed < first + 10; ++seed) {
            const Circuits circuits = seededToy(seed);
            AnalysisOptions options = test::everyInput(circuits.config(), {{0, 0}, {1, 1}});
            const auto names = test::fittingAnalyses(circuits.config(), options);
            const ResultSet single = test::analysed(circuits, names, options);
            options.precision = Precision::F64;
            const ResultSet exact = test::analysed(circuits, names, options);
            QCOMPARE(single.arrays.size(), exact.arrays.size());
            for (const ResultArray& array : exact.arrays) {
                const ResultArray* rounded = single.find(array.path);
                QVERIFY2(rounded, array.path.c_str());
                const std::string difference = differenceOf(*rounded, array);
                QVERIFY2(difference.empty(),
                         ("seed " + std::to_string(seed) + ", " + array.path + difference).c_str());
            }
        }
    }
};

HEADWISE_TEST(PrecisionTest)
#include "precision_test.moc"

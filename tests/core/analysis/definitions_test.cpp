#include "tests/core/analysis/definitions/pairs.h"
#include "tests/core/analysis/definitions/positions.h"
#include "tests/core/analysis/definitions/prompts.h"
#include "tests/core/analysis/definitions/spectra.h"
#include "tests/core/analysis/definitions/tokens.h"
#include "tests/support/program.h"

#include <set>

using namespace headwise;
using namespace headwise::test::definitions;

namespace {

Numbers partsOf(const ResultArray& array)
{
    if (const auto* complex = std::get_if<std::vector<std::complex<double>>>(&array.values)) {
        Numbers parts;
        for (const auto& value : *complex) {
            parts.push_back(value.real());
            parts.push_back(value.imag());
        }
        return parts;
    }
    ResultSet one;
    one.arrays.push_back(array);
    return test::numbers(one, array.path);
}

} // namespace

/// Whoever reads an array's definition can compute it.
class DefinitionsTest : public QObject {
    Q_OBJECT

private slots:
    void anArrayOfEveryAnalysisIsWhatItsDefinitionSays()
    {
        test::ToyOptions toy; // square: 3 heads of 5 in 15 dimensions
        toy.dModel = 15, toy.dVocab = 29;
        toy.unembedBias = false;
        const Defined learned(toy), rotary(test::llamaOptions());
        std::set<std::string> analyses;
        for (const auto& group : {spectraDefinitions, pairDefinitions, tokenDefinitions, positionDefinitions,
                                  promptDefinitions}) {
            for (const Definition& each : group) {
                const auto owner = std::ranges::find_if(catalogue(), [&](const Analysis& analysis) {
                    return std::ranges::find(analysis.arrays, std::string(each.path), &ArraySpec::path)
                        != analysis.arrays.end();
                });
                QVERIFY2(owner != catalogue().end(), each.path);
                analyses.emplace(owner->id);
                const Defined& model = each.isOfRotary ? rotary : learned;
                const ResultArray* array = model.results.find(each.path);
                QVERIFY2(array, each.path);
                QVERIFY2(std::ranges::find(owner->arrays, array->path, &ArraySpec::path)->definition
                             == each.text,
                         each.path);
                QVERIFY2(isSame(partsOf(*array), each.numbers(model)), each.path);
            }
        }
        for (const Analysis& analysis : catalogue())
            QVERIFY2(analyses.contains(std::string(analysis.id)), analysis.id.data());
    }

    /// Centred weights leave the embedding without variance along (1, …, 1), where T stays 1.
    void theMetricIsWhatItsDefinitionSays()
    {
        test::ToyOptions toy;
        toy.dVocab = 29;
        const Circuits circuits = test::toyCircuits(toy);
        AnalysisOptions options = test::inDouble();
        options.inputs.metric = ResidualMetric::Embedding;
        const ResultSet results = test::analysed(circuits, {"symmetry"}, options);
        const ResultArray& array = *results.find("analyses/symmetry/symmetric_norm");
        QVERIFY2(
            array.definition.ends_with(
                "; the weights in the basis T = √(mean λ) Σ^(−1/2), where the embedding covariance Σ of the rows in use, of eigenvalues λ, is a multiple of 1; directions without variance stay as they are and do not count in the mean: λ ≤ d_model max(ε λ_max, 2^-52 mean ‖e‖²), ε = 2^-46, in f64 2^-52"),
            array.definition.c_str());
        const Dense E = circuits.weights().W_E<double>(0, 29);
        const Dense centred = E.rowwise() - E.colwise().mean();
        const test::DenseEigen eigen(centred.transpose() * centred / 29);
        const Eigen::VectorXd& lambda = eigen.eigenvalues();
        const double least = 7 * std::ldexp(1.0, -52) * std::max(lambda(6), E.squaredNorm() / 29);
        QVERIFY(lambda(0) <= least && lambda(1) > least);
        const double mean = lambda.tail(6).mean();
        Eigen::VectorXd scale = (lambda.array() / mean).max(0).sqrt();
        scale(0) = 1;
        const Dense inverse = eigen.eigenvectors() * scale.asDiagonal() * eigen.eigenvectors().transpose();
        const auto w = circuits.weights().head<double>({1, 1});
        const Dense M = inverse * w.W_Q * (inverse * w.W_K).transpose();
        QVERIFY(std::abs(partsOf(array)[4] - (M + M.transpose()).norm() / 2) < 1e-9 * M.norm());
    }

private:
    /// Compares the numbers that the definition gives. \param expected NaN: not compared
    static bool isSame(const Numbers& found, const Numbers& expected)
    {
        if (found.size() != expected.size()) {
            qWarning("%zu numbers, %zu by the definition", found.size(), expected.size());
            return false;
        }
        double largest = 0;
        std::size_t compared = 0;
        for (const double value : expected)
            largest = std::max(largest, std::isnan(value) ? 0 : std::abs(value));
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (std::isnan(expected[i]))
                continue;
            ++compared;
            if (!(std::abs(found[i] - expected[i]) <= 1e-7 * largest)) {
                qWarning("%zu: %.12g, by the definition %.12g", i, found[i], expected[i]);
                return false;
            }
        }
        return compared > 0;
    }
};

HEADWISE_TEST(DefinitionsTest)
#include "definitions_test.moc"

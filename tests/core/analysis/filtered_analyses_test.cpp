#include "core/analysis/inputs/token_filter.h"

#include "tests/support/every_input.h"
#include "tests/support/program.h"

#include <algorithm>
#include <set>

using namespace headwise;

namespace {

/// Compares two arrays; NaN equals NaN.
bool areSame(const ResultArray& a, const ResultArray& b)
{
    const auto isSameNumber = [](auto x, auto y) { return x == y || (x != x && y != y); };
    const auto isSame = [&](const auto& values) {
        const auto* others = std::get_if<std::decay_t<decltype(values)>>(&b.values);
        return others
            && std::equal(values.begin(), values.end(), others->begin(), others->end(), isSameNumber);
    };
    return a.shape == b.shape && std::visit(isSame, a.values);
}

/// Returns the paths of the arrays that change when tokens are left out.
std::set<std::string> changedBy(const std::string& name, const Circuits& circuits, AnalysisOptions options)
{
    const ResultSet whole = test::analysed(circuits, {name}, options);
    options.unusedTokens.resize(static_cast<std::size_t>(circuits.config().dVocab));
    for (std::size_t id = 8; id < options.unusedTokens.size(); id += 2)
        options.unusedTokens[id] = true;
    const ResultSet part = test::analysed(circuits, {name}, options);
    std::set<std::string> changed;
    for (const ResultArray& array : whole.arrays) {
        const ResultArray* other = part.find(array.path);
        if (!other || !areSame(array, *other))
            changed.insert(array.path);
    }
    return changed;
}

/// Learned positions, rotary ones, parallel blocks: every analysis applies to one of them.
std::vector<Circuits> models()
{
    test::ToyOptions rotary = test::llamaOptions();
    rotary.qkvBias = true;
    test::ToyOptions parallel;
    parallel.parallel = true;
    parallel.dModel = parallel.nHeads * parallel.dHead;
    return {test::toyCircuits({}), test::toyCircuits(rotary), test::toyCircuits(parallel)};
}

} // namespace

/// The analyses that a token filter changes are those the catalogue names.
class FilteredAnalysesTest : public QObject {
    Q_OBJECT

private slots:
    void theCatalogueKnowsWhatAFilterChanges()
    {
        std::set<std::string> ran, follow;
        for (const Circuits& circuits : models()) {
            const AnalysisOptions options = test::everyInput(circuits.config(), {{0, 0}, {1, 1}});
            for (const std::string& name : test::fittingAnalyses(circuits.config(), options)) {
                const std::set<std::string> changed = changedBy(name, circuits, options);
                ran.insert(name);
                if (!changed.empty())
                    follow.insert(name);
                for (const std::string& path : changed) {
                    ResultArray array;
                    array.path = path;
                    QVERIFY2(followsFilter(array), path.c_str());
                }
            }
        }
        for (const Analysis& analysis : catalogue()) {
            QVERIFY2(ran.contains(std::string(analysis.id)), analysis.id.data());
            QVERIFY2(analysis.followsFilter == follow.contains(std::string(analysis.id)), analysis.id.data());
        }
    }
};

HEADWISE_TEST(FilteredAnalysesTest)
#include "filtered_analyses_test.moc"

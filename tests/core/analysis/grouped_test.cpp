#include "core/runs/plan.h"
#include "tests/support/every_input.h"
#include "tests/support/program.h"
#include "tests/support/toy_classes.h"

#include <QTest>

#include <cstring>

using namespace headwise;
using test::ToyOptions;

namespace {

constexpr int group = 3; // 6 heads over 2

/// Repeats every block of `size` numbers `group` times.
std::vector<double> repeated(const std::vector<double>& values, std::size_t size)
{
    std::vector<double> out;
    for (std::size_t first = 0; first < values.size(); first += size)
        for (int copy = 0; copy < group; ++copy)
            out.insert(out.end(), values.begin() + static_cast<std::ptrdiff_t>(first),
                       values.begin() + static_cast<std::ptrdiff_t>(first + size));
    return out;
}

/// The grouped toy, and a toy with as many key/value heads as heads, in which every head has its group's keys and values.
struct Models {
    Circuits grouped, expanded;
};

Models bothModels(ToyOptions options, const ProcessingWish& wish)
{
    const QTemporaryDir temporary;
    const auto folder = std::filesystem::path(temporary.path().toStdString());
    options.nHeads = 2 * group;
    options.nKvHeads = 2;
    const auto stored = test::writeToyModel(folder / "grouped", options).tensors;
    ToyOptions own = options;
    own.nKvHeads = 0;
    auto tensors = test::writeToyModel(folder / "expanded", own).tensors;
    for (auto& [name, tensor] : tensors) {
        std::string from = name; // blocks.0.attn.W_K of the grouped one is blocks.0.attn._W_K
        const std::size_t at = from.find("attn.");
        for (const char* shared : {"attn.W_K", "attn.W_V", "attn.b_K", "attn.b_V"})
            if (from.find(shared) != std::string::npos)
                from.insert(at + 5, "_");
        const auto& source = stored.at(from);
        const bool isShared = tensor.values.size() != source.values.size();
        tensor.values = isShared ? repeated(source.values, source.values.size() / 2) : source.values;
    }
    test::writeSafetensors(folder / "expanded" / "model.safetensors", tensors, options.float64);
    return {test::circuitsOf(folder / "grouped", wish), test::circuitsOf(folder / "expanded", wish)};
}

/// Returns every analysis that both can run, except those about groups and about the matrices a merge removes.
std::vector<std::string> asked(const ModelConfig& config, const AnalysisOptions& options)
{
    std::vector<std::string> names = test::fittingAnalyses(config, options);
    std::erase_if(names, [](const std::string& name) { return name == "groups" || name == "skipless"; });
    return names;
}

/// True for arrays of a whole layer's keys or values side by side, which a grouped model has fewer of.
bool isOfAllKeys(const std::string& path)
{
    const auto begins = [&](const char* start) {
        return path.starts_with(start) && !path.ends_with("_head");
    };
    return begins("analyses/conditioning/W_K") || begins("analyses/conditioning/W_V");
}

/// Compares bit for bit; NaN equals NaN.
bool sameBits(const ResultArray& one, const ResultArray& other)
{
    ResultArray bare = one, otherBare = other;
    bare.values = otherBare.values = std::vector<float>();
    if (!(bare == otherBare) || one.values.index() != other.values.index())
        return false;
    return std::visit(
        [&](const auto& values) {
            const auto& others = std::get<std::decay_t<decltype(values)>>(other.values);
            return values.size() == others.size()
                && std::memcmp(values.data(), others.data(), values.size() * sizeof(values[0])) == 0;
        },
        one.values);
}

} // namespace

/// A model with shared key/value heads equals, bit for bit, the one that stores them once per head. No analysis may read
/// another group's keys or values, or treat them differently.
class GroupedTest : public QObject {
    Q_OBJECT

private slots:
    void aGroupedModelEqualsItsExpansionBitForBit_data()
    {
        QTest::addColumn<ToyOptions>("options");
        QTest::addColumn<bool>("isRaw");
        QTest::addColumn<bool>("isDouble");
        const ToyOptions learned; // LN, learned positions, every bias
        ToyOptions rotary = test::llamaOptions();
        rotary.layout = test::ToyLayout::TransformerLens;
        rotary.normalization = "RMS";
        rotary.positional = "rotary";
        rotary.gatedMlp = true;
        rotary.activation = "silu";
        ToyOptions wide = learned; // composition reads through factors that heads share
        wide.dModel = 32;
        wide.dHead = 4;
        QTest::newRow("wide, folded") << wide << false << false;
        QTest::newRow("LN, learned, folded") << learned << false << false;
        QTest::newRow("LN, learned, folded, float64") << learned << false << true;
        QTest::newRow("LN, learned, raw") << learned << true << false;
        QTest::newRow("RMS, rotary, folded") << rotary << false << false;
        QTest::newRow("Llama, folded") << test::llamaOptions() << false << false;
    }
    void aGroupedModelEqualsItsExpansionBitForBit()
    {
        QFETCH(ToyOptions, options);
        QFETCH(bool, isRaw);
        QFETCH(bool, isDouble);
        const Models both = bothModels(options, isRaw ? test::noProcessing() : ProcessingWish{});
        const ModelConfig& config = both.grouped.config();
        QCOMPARE(config.nKvHeads, 2);
        QCOMPARE(both.expanded.config().nKvHeads, 6);
        AnalysisOptions what = test::everyInput(config, {{0, 0}, {1, 4}});
        what.precision = isDouble ? Precision::F64 : Precision::F32;
        const std::vector<std::string> names = asked(config, what);
        QVERIFY(names.size() >= 35);
        const ResultSet one = test::analysed(both.grouped, names, what);
        const ResultSet other = test::analysed(both.expanded, names, what);
        QCOMPARE(one.arrays.size(), other.arrays.size());
        for (const Analysis* analysis : defaultAnalyses(config, what))
            QVERIFY(std::find(names.begin(), names.end(), analysis->id) != names.end());
        for (std::size_t i = 0; i < one.arrays.size(); ++i)
            QVERIFY2(isOfAllKeys(one.arrays[i].path) || sameBits(one.arrays[i], other.arrays[i]),
                     one.arrays[i].path.c_str());
        QVERIFY(one.groupAttributes == other.groupAttributes);
        QVERIFY(one.warnings == other.warnings);
    }

    /// The positive control: reading another group's keys is detected.
    void anotherGroupsKeysAreSeen()
    {
        const Models both = bothModels({}, {});
        const ResultSet results = test::analysed(both.grouped, {"spectra"});
        const auto sigma = test::numbers(results, "spectra/qk/singular_values");
        const auto right = both.grouped.weights().head<double>({0, 2});
        const auto wrong = both.grouped.weights().head<double>({0, 3});
        QVERIFY(right.W_K != wrong.W_K && right.W_K == both.grouped.weights().head<double>({0, 0}).W_K);
        const auto swapped =
            FactoredMatrix<double>::create(right.W_Q, wrong.W_K.transpose())->singularValues();
        QVERIFY(std::abs(sigma[2 * 5] - (*swapped)[0]) > 1e-3 * (*swapped)[0]);
    }
};

HEADWISE_TEST(GroupedTest)
#include "grouped_test.moc"

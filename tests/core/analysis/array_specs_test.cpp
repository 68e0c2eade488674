#include "core/analysis/comparison/head_match.h"
#include "core/analysis/comparison/model_comparison.h"
#include "tests/support/every_input.h"
#include "tests/support/program.h"

#include <QFile>

#include <array>
#include <set>

using namespace headwise;

namespace {

constexpr const char* formatFile = HEADWISE_TEST_DATA "/../../core/session/FORMAT.md";
constexpr const char* tableBegins = "<!-- arrays of the analyses: begin, written by array_specs_test -->\n";
constexpr const char* tableEnd = "<!-- arrays of the analyses: end -->\n";

const ArraySpec* specOf(const std::string& path)
{
    for (const Analysis& analysis : catalogue()) {
        const auto found = std::ranges::find(analysis.arrays, path, &ArraySpec::path);
        if (found != analysis.arrays.end())
            return &*found;
    }
    return nullptr;
}

NumberType typeOf(const ResultArray& array)
{
    switch (array.values.index()) {
    case 2: return NumberType::Whole;
    case 3:
    case 4: return NumberType::Complex;
    default: return NumberType::Real;
    }
}

std::string cell(std::string text)
{
    for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
        text.replace(at, 1, "\\|");
    return text;
}

std::string rowOf(const ArraySpec& spec)
{
    static constexpr std::array types{"f32", "complex64", "i32", "f64"};
    std::string axes;
    for (const ArrayAxis& axis : spec.axes)
        axes += (axes.empty() ? "" : ", ") + axis.name();
    return "| `/" + spec.path + "` | " + types.at(static_cast<std::size_t>(spec.type)) + " [" + axes + "] | "
        + spec.unit + " | " + cell(spec.definition) + " | " + spec.condition + " |\n";
}

std::string tableOf(const std::string& title, const std::vector<ArraySpec>& specs)
{
    std::string text = "\n" + title
        + "\n\n| array | type and axes | unit | definition | where |\n| --- | --- | --- | --- | --- |\n";
    for (const ArraySpec& spec : specs)
        text += rowOf(spec);
    return text;
}

/// Returns the section of FORMAT.md: a table for each analysis, then those of `compare`.
std::string tables()
{
    std::string text;
    for (const Analysis& analysis : catalogue())
        text += tableOf("**" + std::string(analysis.title) + "** (`" + std::string(analysis.id) + "`)",
                        analysis.arrays);
    text += tableOf("**Two checkpoints of one architecture** (`headwise compare`)", comparisonArrays());
    text += tableOf("**Heads of any two models** (`headwise compare --match`)", matchArrays());
    return text + "\n";
}

} // namespace

/// Every array keeps the contract of its analysis, and the documents say the same.
class ArraySpecsTest : public QObject {
    Q_OBJECT

private slots:
    /// A picture's words say "full QK", not "full_qk" as paths do.
    void titlesCallCircuitsAsPapersDo()
    {
        for (const Analysis& analysis : catalogue())
            for (const ArraySpec& spec : analysis.arrays)
                QVERIFY2(spec.title.find("full_") == std::string::npos && !spec.title.ends_with(" qk")
                             && !spec.title.ends_with(" ov"),
                         spec.title.c_str());
    }

    void pathsAreUnique()
    {
        std::set<std::string> paths;
        for (const Analysis& analysis : catalogue()) {
            QVERIFY2(!analysis.arrays.empty(), analysis.id.data());
            for (const ArraySpec& spec : analysis.arrays) {
                QVERIFY2(paths.insert(spec.path).second, spec.path.c_str());
                QVERIFY2(!spec.title.empty() && !spec.definition.empty() && !spec.axes.empty(),
                         spec.path.c_str());
            }
        }
    }

    void arraysKeepTheirContracts()
    {
        for (const auto& [circuits, results] : test::everyArray()) {
            for (const ResultArray& array : results.arrays) {
                const ArraySpec* spec = specOf(array.path);
                QVERIFY2(spec, array.path.c_str());
                QVERIFY2(array.axes == spec->axes && array.unit == spec->unit, array.path.c_str());
                QVERIFY2(spec->type == NumberType::Double
                             ? std::holds_alternative<std::vector<double>>(array.values)
                             : typeOf(array) == spec->type,
                         array.path.c_str());
            }
        }
    }

    /// A model whose results have an array of an analysis has all of them that have no condition; each of the others is in the
    /// results of one model. Few arrays need a model that is not among these.
    void contractsAreOfArraysThatExist()
    {
        std::string missing;
        for (const Analysis& analysis : catalogue()) {
            for (const ArraySpec& spec : analysis.arrays) {
                int there = 0, absent = 0;
                for (const auto& model : test::everyArray()) {
                    const auto has = [&](const ArraySpec& each) {
                        return model.second.find(each.path) != nullptr;
                    };
                    if (has(spec))
                        ++there;
                    else if (std::ranges::any_of(analysis.arrays, has))
                        ++absent;
                }
                if (there == 0 || (absent > 0 && spec.condition.empty()))
                    missing += spec.path + " (" + spec.condition + ")\n";
            }
        }
        QVERIFY2(missing.empty(), missing.c_str());
    }

    /// HEADWISE_WRITE_FORMAT=1 writes the section anew.
    void formatSaysTheSame()
    {
        QFile file(formatFile);
        QVERIFY2(file.open(QIODevice::ReadOnly), formatFile);
        const QByteArray text = file.readAll();
        file.close();
        const auto begin = text.indexOf(tableBegins), end = text.indexOf(tableEnd);
        QVERIFY2(begin >= 0 && end > begin, "FORMAT.md has no section for the arrays of the analyses");
        const auto first = begin + static_cast<qsizetype>(std::strlen(tableBegins));
        const QByteArray wanted = QByteArray::fromStdString(tables());
        if (qEnvironmentVariableIsSet("HEADWISE_WRITE_FORMAT")) {
            QVERIFY2(file.open(QIODevice::WriteOnly | QIODevice::Truncate), formatFile);
            file.write(text.left(first) + wanted + text.mid(end));
            return;
        }
        QVERIFY2(
            text.mid(first, end - first) == wanted,
            "FORMAT.md differs from the contracts; HEADWISE_WRITE_FORMAT=1 tests/run -R array_specs_test writes it anew");
    }
};

HEADWISE_TEST(ArraySpecsTest)
#include "array_specs_test.moc"

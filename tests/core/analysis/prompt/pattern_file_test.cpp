#include "core/analysis/prompt/pattern_file.h"

#include "core/checkpoint/npy.h"
#include "core/files/hdf5.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <cstring>
#include <fstream>

using namespace headwise;
using namespace headwise::test;

class PatternFileTest : public QObject {
    Q_OBJECT

private:
    // Two layers of three heads on five tokens, layer 1 selected: swapping any two sizes is detected.
    static constexpr PatternSizes sizes{2, 3, 5, 1};

    QTemporaryDir m_temporary;

    std::filesystem::path path(const char* name) const
    {
        return std::filesystem::path(m_temporary.path().toStdString()) / name;
    }

    /// The value at each index, all different.
    static float planted(std::int64_t layer, std::int64_t head, std::int64_t query, std::int64_t key)
    {
        return static_cast<float>(((layer * 3 + head) * 5 + query) * 5 + key) / 256;
    }
    static std::vector<float> layersOf(std::int64_t from, std::int64_t to)
    {
        std::vector<float> values;
        for (std::int64_t layer = from; layer < to; ++layer)
            for (int head = 0; head < 3; ++head)
                for (int query = 0; query < 5; ++query)
                    for (int key = 0; key < 5; ++key)
                        values.push_back(planted(layer, head, query, key));
        return values;
    }
    std::filesystem::path written(const std::vector<std::int64_t>& shape,
                                  const std::vector<float>& values) const
    {
        std::string bytes = npyHeader("<f4", shape);
        const std::size_t begin = bytes.size();
        bytes.resize(begin + values.size() * sizeof(float));
        std::memcpy(bytes.data() + begin, values.data(), values.size() * sizeof(float));
        std::ofstream(path("x.npy"), std::ios::binary) << bytes;
        return path("x.npy");
    }
    static bool isPlanted(const PatternFile& file, int layer)
    {
        for (int head = 0; head < 3; ++head)
            for (int query = 0; query < 5; ++query)
                for (int key = 0; key < 5; ++key)
                    if (file.patterns[static_cast<std::size_t>(layer)][static_cast<std::size_t>(head)](query,
                                                                                                       key)
                        != planted(layer, head, query, key))
                        return false;
        return true;
    }

private slots:
    void readsAllLayersOfANumpyFile()
    {
        const auto file = readPatternFile(written({2, 3, 5, 5}, layersOf(0, 2)), sizes, Task{});
        QVERIFY(isOk(file));
        QCOMPARE(file->patterns.size(), std::size_t{2});
        QVERIFY(isPlanted(*file, 0) && isPlanted(*file, 1));
        QCOMPARE(file->source, std::string("x.npy"));
    }

    void oneLayerIsThatWhichIsSelected()
    {
        for (const auto& shape : std::vector<std::vector<std::int64_t>>{{3, 5, 5}, {1, 3, 5, 5}}) {
            const auto file = readPatternFile(written(shape, layersOf(1, 2)), sizes, Task{});
            QVERIFY(isOk(file));
            QVERIFY(isPlanted(*file, 1));
            QVERIFY(file->patterns[0][2].array().isNaN().all()); // nothing is known of it
        }
    }

    void numbersByColumnsAreTheSame()
    {
        std::vector<float> values(75);
        for (int head = 0; head < 3; ++head)
            for (int query = 0; query < 5; ++query)
                for (int key = 0; key < 5; ++key)
                    values[static_cast<std::size_t>(head + 3 * (query + 5 * key))] =
                        planted(1, head, query, key);
        const auto written = this->written({3, 5, 5}, values);
        std::fstream file(written, std::ios::binary | std::ios::in | std::ios::out);
        std::string header(128, '\0');
        file.read(header.data(), 128);
        const auto order = header.find("False");
        QVERIFY(order != std::string::npos);
        file.seekp(static_cast<std::streamoff>(order));
        file.write("True ", 5);
        file.close();
        const auto read = readPatternFile(written, sizes, Task{});
        QVERIFY(isOk(read));
        QVERIFY(isPlanted(*read, 1));
    }

    void takesTheFittingDatasetOfAnHdf5File()
    {
        auto writer = Hdf5Writer::create(path("run.h5"));
        QVERIFY(isOk(writer));
        const std::vector<float> other(6), all = layersOf(0, 2);
        auto made = *std::move(writer);
        QVERIFY(isOk(made.writeNumbers<float>("first", {6}, other, Task{})));
        QVERIFY(isOk(made.writeText("words", "none")));
        QVERIFY(isOk(made.writeNumbers<float>("run/attention", {2, 3, 5, 5}, all, Task{})));
        QVERIFY(isOk(made.close()));
        const auto file = readPatternFile(path("run.h5"), sizes, Task{});
        QVERIFY(isOk(file));
        QVERIFY(isPlanted(*file, 0) && isPlanted(*file, 1));
        QCOMPARE(file->source, std::string("run.h5/run/attention"));
        QVERIFY(failsWith(readPatternFile(path("run.h5"), {2, 3, 6, 0}, Task{}), ErrorCode::Unsupported,
                          "No dataset of"));
    }

    void refusesWhatIsNoAttentionOfThePrompt()
    {
        const auto refused = [&](const std::vector<std::int64_t>& shape, std::vector<float> values,
                                 ErrorCode code, const char* words) {
            return failsWith(readPatternFile(written(shape, values), sizes, Task{}), code, words);
        };
        QVERIFY(refused({3, 5, 4}, std::vector<float>(60), ErrorCode::Unsupported,
                        "[3, 5, 4], expected [2, 3, 5, 5]"));
        QVERIFY(refused({3, 2, 5, 5}, std::vector<float>(150), ErrorCode::Unsupported, "[3, 2, 5, 5]"));
        std::vector<float> values = layersOf(1, 2);
        values[25 + 5 * 3 + 2] = NAN;
        QVERIFY(refused({3, 5, 5}, values, ErrorCode::Corrupt, "1.1 from query 3 to key 2 is nan"));
        values[25 + 5 * 3 + 2] = -4;
        QVERIFY(refused({3, 5, 5}, values, ErrorCode::Corrupt, "is -4; it must be between 0 and 1"));
        values[25 + 5 * 3 + 2] = 1.0005F; // rounded in half precision
        QVERIFY(isOk(readPatternFile(written({3, 5, 5}, values), sizes, Task{})));
        QVERIFY(failsWith(readPatternFile(path("absent.npy"), sizes, Task{}), ErrorCode::NotFound, "absent"));
    }

    void aSessionsArrayHoldsThePatterns()
    {
        PatternFile imported;
        imported.source = "attention.npy";
        for (int layer = 0; layer < 2; ++layer) {
            auto& heads = imported.patterns.emplace_back();
            for (int head = 0; head < 3; ++head)
                heads.push_back(
                    Eigen::MatrixXf::NullaryExpr(4, 4, [&](Eigen::Index row, Eigen::Index column) {
                        return static_cast<float>(((layer * 3 + head) * 4 + row) * 4 + column) / 96;
                    }));
        }
        const ResultArray array = patternArray(imported, {"a", "b", "c", "d"});
        QCOMPARE(array.shape, (std::vector<std::size_t>{2, 3, 4, 4}));
        const auto& values = std::get<std::vector<float>>(array.values);
        for (std::size_t i = 0; i < values.size(); ++i)
            QCOMPARE(values[i], static_cast<float>(i) / 96); // the last axis, the keys, runs fastest
        const auto back = patternsIn(array, {2, 3, 4, 0});
        QVERIFY(isOk(back));
        QVERIFY(back->patterns == imported.patterns);
        QCOMPARE(back->source, imported.source);
        QVERIFY(failsWith(patternsIn(array, {2, 3, 5, 0}), ErrorCode::Corrupt, "has shape"));
    }
};

HEADWISE_TEST(PatternFileTest)
#include "pattern_file_test.moc"

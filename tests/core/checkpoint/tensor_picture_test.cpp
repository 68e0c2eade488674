#include "core/checkpoint/tensor_picture.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/zip_writer.h"

#include <QTemporaryDir>

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

using namespace headwise;
using test::littleEndian;
namespace fs = std::filesystem;

class TensorPictureTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_temporary;

    WeightMap stored(const std::vector<std::int64_t>& shape, const std::vector<float>& numbers,
                     const char* dtype = "F32")
    {
        const std::size_t bytes = numbers.size() * sizeof(float);
        const nlohmann::json header{
            {"t", {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {0, bytes}}}}};
        const std::string text = header.dump();
        const fs::path file = fs::path(m_temporary.path().toStdString()) / "t.safetensors";
        std::ofstream(file, std::ios::binary)
            << littleEndian(text.size(), 8) << text
            << std::string(reinterpret_cast<const char*>(numbers.data()), bytes);
        return WeightMap::open(file).value();
    }

    static std::vector<float> seeded(std::size_t count)
    {
        std::mt19937 engine(3);
        std::normal_distribution<float> normal;
        std::vector<float> numbers(count);
        for (float& number : numbers)
            number = normal(engine);
        return numbers;
    }

private slots:
    void isTheMatrixItselfWhereThatIsSmall()
    {
        const auto picture =
            tensorPicture(stored({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), 0, 64, {});
        QVERIFY(test::isOk(picture));
        const Eigen::MatrixXf expected =
            (Eigen::MatrixXf(4, 3) << 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12).finished();
        QVERIFY(picture->cells == expected);
        QCOMPARE(picture->rowsPerCell, 1);
        QCOMPARE(picture->columnsPerCell, 1);
    }

    void showsVectorsScalarsAndNothing()
    {
        const auto vector = tensorPicture(stored({3}, {1, 2, 3}), 0, 64, {});
        QVERIFY(vector && vector->cells == Eigen::RowVector3f(1, 2, 3));
        const auto scalar = tensorPicture(stored({}, {5}), 0, 64, {});
        QVERIFY(scalar && scalar->cells.size() == 1 && scalar->cells(0, 0) == 5);
        for (const auto& shape : {std::vector<std::int64_t>{0, 3}, {3, 0}, {0}}) {
            const auto empty = tensorPicture(stored(shape, {}), 0, 64, {});
            QVERIFY(empty && empty->cells.size() == 0);
        }
    }

    /// Compared with reading every entry of every cell.
    void showsTheStrongestEntryOfEachCell()
    {
        constexpr std::int64_t rows = 701, columns = 1013, limit = 50;
        std::vector<float> numbers = seeded(rows * columns);
        numbers[0] = std::nanf("");
        numbers[columns - 1] = INFINITY;
        const auto picture = tensorPicture(stored({rows, columns}, numbers), 0, limit, {});
        QVERIFY(test::isOk(picture));
        QCOMPARE(picture->rows, rows);
        QCOMPARE(picture->columns, columns);
        QCOMPARE(picture->rowsPerCell, 15);    // ⌈701 / 50⌉
        QCOMPARE(picture->columnsPerCell, 21); // ⌈1013 / 50⌉
        QCOMPARE(picture->cells.rows(), 47);
        QCOMPARE(picture->cells.cols(), 49);
        QVERIFY(std::isnan(picture->cells(0, 0)));
        QVERIFY(std::isinf(picture->cells(0, 48)));
        for (Eigen::Index r = 0; r < picture->cells.rows(); ++r)
            for (Eigen::Index c = r == 0 ? 1 : 0; c < picture->cells.cols() - (r == 0 ? 1 : 0); ++c) {
                float strongest = 0;
                for (std::int64_t y = r * 15; y < std::min<std::int64_t>(rows, r * 15 + 15); ++y)
                    for (std::int64_t x = c * 21; x < std::min<std::int64_t>(columns, c * 21 + 21); ++x) {
                        const float entry = numbers[static_cast<std::size_t>(y * columns + x)];
                        strongest = std::abs(entry) > std::abs(strongest) ? entry : strongest;
                    }
                QCOMPARE(picture->cells(r, c), strongest);
            }
    }

    void refusesWhatItCannotDecodeAndStopsWhenAsked()
    {
        QVERIFY(test::failsWith(tensorPicture(stored({8}, {1, 2}, "F8_E8M0"), 0, 64, {}),
                                ErrorCode::Unsupported, "'t'"));
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(test::failsWith(
            tensorPicture(stored({2}, {1, 2}), 0, 64, Task{.stop = stop.get_token(), .onProgress = {}}),
            ErrorCode::Cancelled, ""));
    }
};

HEADWISE_TEST(TensorPictureTest)
#include "tensor_picture_test.moc"

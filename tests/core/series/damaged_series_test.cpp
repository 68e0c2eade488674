#include "core/series/series_record.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"
#include "tests/support/session_mutants.h"

#include <QTemporaryDir>
#include <QTest>

#include <hdf5.h>

#include <cmath>
#include <functional>
#include <random>

using namespace headwise;
using namespace headwise::test;

namespace {

namespace fs = std::filesystem;

/// Two steps of a model of two layers with three heads.
SeriesRecord smallSeries()
{
    SeriesRecord record;
    for (const int step : {1, 2}) {
        ResultArray scores;
        scores.path = "scores/copying";
        scores.shape = {2, 3};
        scores.values = std::vector<float>(6, 0.5F);
        scores.axes = {Axis::Layer, Axis::Head};
        ResultArray spectra = scores;
        spectra.path = "spectra/ov/singular_values";
        spectra.shape = {2, 3, 4};
        spectra.values = std::vector<float>(24, 0.5F);
        spectra.axes = {Axis::Layer, Axis::Head, Axis::SingularValue};
        record.entries.push_back({.step = step,
                                  .name = "step" + std::to_string(step),
                                  .files = {},
                                  .previous = {},
                                  .problem = {},
                                  .arrays = {scores, spectra}});
    }
    record.changes = {{.head = {1, 2},
                       .score = "copying",
                       .before = 0,
                       .after = 1,
                       .valueBefore = 0,
                       .valueAfter = 1,
                       .evidence = 1,
                       .text = "between steps 1 and 2 L1H2 became a copying head (0.00 to 1.00)"}};
    record.frame.model.name = record.frame.model.architecture = "toy";
    record.frame.model.nLayers = 2;
    record.frame.model.nHeads = record.frame.model.nKvHeads = 3;
    record.frame.model.dModel = record.frame.model.dVocab = 8;
    record.frame.model.dHead = 4;
    return record;
}

/// Puts another dataset of zeros in the place of one. \param type that of its numbers in the file
void replaceIn(hid_t file, const char* path, hid_t type, std::vector<hsize_t> shape)
{
    H5Ldelete(file, path, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(int(shape.size()), shape.data(), nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const std::vector<hsize_t> chunk(shape.size(), 1);
    H5Pset_chunk(properties, int(chunk.size()), chunk.data()); // a huge array stores nothing
    H5Dclose(H5Dcreate2(file, path, type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Pclose(properties), H5Sclose(space);
}

void fill(hid_t file, const char* path, const std::vector<float>& values)
{
    const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(dataset);
}

bool isOneSentence(const Error& error)
{
    return error.message.size() > 10 && error.message.ends_with('.')
        && error.message.find('\n') == std::string::npos;
}

} // namespace

/// Files of series that are damaged, by chance or on purpose.
class DamagedSeriesTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        const auto written = writeSeriesRecord(path("whole.h5"), smallSeries(), Task{});
        QVERIFY(isOk(written));
        QVERIFY(isOk(readSeries(path("whole.h5"))));
    }

    void aTruncatedFileIsOneSentence()
    {
        const FileBytes whole = bytesOf(path("whole.h5"));
        for (std::size_t part = 0; part < 16; ++part) {
            store(path("truncated.h5"),
                  {whole.begin(), whole.begin() + std::ptrdiff_t(whole.size() * part / 16)});
            const auto read = readSeries(path("truncated.h5"));
            QVERIFY(!read);
            QVERIFY2(isOneSentence(read.error()), read.error().message.c_str());
        }
    }

    void aChangedByteNeverCrashes()
    {
        const FileBytes whole = bytesOf(path("whole.h5"));
        std::mt19937 random(23);
        for (int i = 0; i < 24; ++i) {
            FileBytes mutant = whole;
            for (int changes = 0; changes < 1 + i % 4; ++changes)
                mutant[random() % mutant.size()] = static_cast<unsigned char>(random());
            store(path("mutant.h5"), mutant);
            if (const auto read = readSeries(path("mutant.h5")); !read)
                QVERIFY2(isOneSentence(read.error()), read.error().message.c_str());
            if (const auto read = readHeadSpectra(path("mutant.h5"), "ov", {1, 2}, 2); !read)
                QVERIFY2(isOneSentence(read.error()), read.error().message.c_str());
        }
    }

    void arraysThatContradictEachOtherAreRefused_data()
    {
        using Change = std::function<void(hid_t)>;
        QTest::addColumn<Change>("change");
        const auto row = [](const char* name, Change change) { QTest::newRow(name) << std::move(change); };
        const auto replaced = [](const char* what, hid_t type, std::vector<hsize_t> shape) -> Change {
            return [=](hid_t file) { replaceIn(file, what, type, shape); };
        };
        row("more steps than scores", [](hid_t file) {
            replaceIn(file, "steps", H5T_STD_I32LE, {3});
            fill(file, "steps", {1, 2, 3});
        });
        row("steps that are NaN", [](hid_t file) {
            replaceIn(file, "steps", H5T_IEEE_F32LE, {2});
            fill(file, "steps", {NAN, NAN});
        });
        row("equal steps", replaced("steps", H5T_STD_I32LE, {2}));
        row("no step", replaced("steps", H5T_STD_I32LE, {0}));
        row("a trillion steps", replaced("steps", H5T_STD_I32LE, {1'000'000'000'000}));
        row("steps in two dimensions", replaced("steps", H5T_STD_I32LE, {2, 1}));
        row("scores of one step", replaced("scores/copying", H5T_IEEE_F32LE, {1, 2, 3}));
        row("scores of many heads", replaced("scores/copying", H5T_IEEE_F32LE, {2, 2, 1'000'000'000}));
        row("scores in double", replaced("scores/copying", H5T_IEEE_F64LE, {2, 2, 3}));
        row("scores without heads", replaced("scores/copying", H5T_IEEE_F32LE, {2}));
        row("no scores", [](hid_t file) { H5Ldelete(file, "scores/copying", H5P_DEFAULT); });
        row("numbers for names", replaced("members/names", H5T_STD_I32LE, {2}));
        row("one path too few", replaced("members/paths", H5T_STD_I32LE, {1}));
        row("no names", [](hid_t file) { H5Ldelete(file, "members/names", H5P_DEFAULT); });
        row("changes of different lengths", replaced("changes/layer", H5T_STD_I32LE, {2}));
        row("a change at no step", replaced("changes/after_step", H5T_STD_I32LE, {1}));
        row("a change of no head", [](hid_t file) {
            replaceIn(file, "changes/head", H5T_STD_I32LE, {1});
            fill(file, "changes/head", {-1});
        });
        row("no model", [](hid_t file) { H5Ldelete(file, "model", H5P_DEFAULT); });
    }

    void arraysThatContradictEachOtherAreRefused()
    {
        QFETCH(std::function<void(hid_t)>, change);
        const fs::path file = path("changed.h5");
        fs::copy_file(path("whole.h5"), file, fs::copy_options::overwrite_existing);
        const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
        QVERIFY(id >= 0);
        change(id);
        H5Fclose(id);
        const auto read = readSeries(file);
        QVERIFY(!read);
        QVERIFY2(isOneSentence(read.error()), read.error().message.c_str());
        QVERIFY2(read.error().message.find("changed.h5") != std::string::npos, read.error().message.c_str());
    }

    /// They are read when a head is looked at.
    void spectraOfAnotherShapeAreRefused()
    {
        const std::vector<std::vector<hsize_t>> shapes{
            {2, 2, 3}, {2, 2, 3, 0}, {3, 2, 3, 4}, {2, 1, 1, 4}, {2, 2, 3, 1'000'000'000'000}, {4}};
        for (const std::vector<hsize_t>& shape : shapes) {
            const fs::path file = path("spectra.h5");
            fs::copy_file(path("whole.h5"), file, fs::copy_options::overwrite_existing);
            const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
            replaceIn(id, "spectra/ov/singular_values", H5T_IEEE_F32LE, shape);
            H5Fclose(id);
            QVERIFY(isOk(readSeries(file)));
            const auto read = readHeadSpectra(file, "ov", {1, 2}, 2);
            QVERIFY(!read);
            QVERIFY2(isOneSentence(read.error()), read.error().message.c_str());
        }
    }

private:
    fs::path path(const char* name) const { return fs::path(m_folder.path().toStdString()) / name; }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(DamagedSeriesTest)
#include "damaged_series_test.moc"

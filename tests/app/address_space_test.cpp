#include "tests/support/command.h"

#include "core/results/table_file.h"
#include "core/session/session_file.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <tuple>
#include <vector>

#include <sys/resource.h>

using namespace headwise;
using namespace headwise::test;

namespace {

std::function<void()> addressSpaceOf(int megabytes)
{
    return [=] {
        const auto bytes = static_cast<rlim_t>(megabytes) << 20;
        const rlimit limit{bytes, bytes};
        setrlimit(RLIMIT_AS, &limit);
    };
}

struct SparseTensor {
    std::string name;
    std::int64_t rows = 0, cols = 1;
    bool isHole = false; ///< Zeros that take no room on the disk.

    std::string shape() const
    {
        return cols == 1 ? std::to_string(rows) : std::to_string(rows) + "," + std::to_string(cols);
    }
};

/// Three layers of GPT-2 with few numbers in their heads and many zeros in their MLPs.
std::vector<SparseTensor> sparseTensors(std::int64_t d, std::int64_t inner)
{
    std::vector<SparseTensor> list{{"wte.weight", 50, d}, {"wpe.weight", 8, d}};
    for (int layer = 0; layer < 3; ++layer) {
        const std::string block = "h." + std::to_string(layer) + ".";
        for (const auto& [name, in, out, isHole] : {std::tuple("attn.c_attn", d, 3 * d, false),
                                                    {"attn.c_proj", d, d, false},
                                                    {"mlp.c_fc", d, inner, true},
                                                    {"mlp.c_proj", inner, d, true}}) {
            list.push_back({block + name + ".weight", in, out, isHole});
            list.push_back({block + name + ".bias", out, 1, isHole});
        }
        for (const char* const norm : {"ln_1", "ln_2"}) {
            list.push_back({block + norm + ".weight", d});
            list.push_back({block + norm + ".bias", d});
        }
    }
    list.push_back({"ln_f.weight", d});
    list.push_back({"ln_f.bias", d});
    return list;
}

/// Writes a model of 2.4 GB that takes some kilobytes of the disk.
void writeSparseModel(const std::filesystem::path& folder)
{
    constexpr std::int64_t d = 16, inner = 6250000;
    std::ofstream config(folder / "config.json");
    config
        << R"({"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"n_layer":3,"n_head":2,"n_embd":16,)";
    config << R"("n_inner":6250000,"n_positions":8,"vocab_size":50,"layer_norm_epsilon":1e-5})";
    config.close();
    const std::vector<SparseTensor> list = sparseTensors(d, inner);
    std::string header;
    std::int64_t end = 0;
    for (const SparseTensor& tensor : list) {
        const std::int64_t begin = end;
        end += 4 * tensor.rows * tensor.cols;
        header += (header.empty() ? "{\"" : ",\"") + tensor.name + "\":{\"dtype\":\"F32\",\"shape\":["
            + tensor.shape() + "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end)
            + "]}";
    }
    header += "}";
    const std::uint64_t length = header.size();
    const std::filesystem::path path = folder / "model.safetensors";
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&length), sizeof length);
    file << header;
    for (const SparseTensor& tensor : list) {
        if (tensor.isHole) {
            file.seekp(4 * tensor.rows * tensor.cols, std::ios::cur);
            continue;
        }
        for (std::int64_t i = 0; i < tensor.rows * tensor.cols; ++i) {
            const auto number = static_cast<float>(std::sin(static_cast<double>(i * i + tensor.rows)));
            file.write(reinterpret_cast<const char*>(&number), sizeof number);
        }
    }
    file.close();
    std::filesystem::resize_file(path, 8 + header.size() + static_cast<std::uintmax_t>(end));
}

} // namespace

/// `headwise analyze` with a limited address space.
class AddressSpaceTest : public QObject {
    Q_OBJECT

private slots:
    void everyLimitEndsWithAnAnswerOrASentence_data()
    {
        QTest::addColumn<int>("megabytes");
        for (const int megabytes :
             {100, 200, 300, 350, 400, 450, 500, 550, 600, 700, 800, 1000, 1300, 1700, 2500, 4000})
            QTest::addRow("%d MB", megabytes) << megabytes;
    }
    void everyLimitEndsWithAnAnswerOrASentence()
    {
        QFETCH(int, megabytes);
        QTemporaryDir folder;
        const QString session = folder.filePath("s.h5");
        const CommandRun run =
            runHeadwise({"analyze", HEADWISE_DEMO_MODEL, "-o", session, "--analyses", "spectra,composition"},
                        folder.path(), {}, addressSpaceOf(megabytes));
        if (run.exitCode == 127) { // the loader has no space for the libraries, so no line of ours runs
            QVERIFY2(run.err.contains("error while loading shared libraries") && megabytes <= 300, run.err);
            return;
        }
        QVERIFY2(run.exitCode == 0 || run.exitCode == 4,
                 run.err + QByteArray::number(run.exitCode)); // -1: it hangs
        QCOMPARE(QFile::exists(session), run.exitCode == 0);
        if (run.exitCode == 4) {
            QCOMPARE(run.err.count('\n'), 1);
            QVERIFY2(run.err.contains("memory") || run.err.contains("address space"), run.err);
        }
        if (megabytes >= 2500)
            QCOMPARE(run.exitCode, 0); // with enough space it is not refused
    }

    void aModelThreeTimesLargerThanTheLimitGivesTheSameNumbers()
    {
        const QTemporaryDir folder;
        writeSparseModel(folder.path().toStdString());
        const auto analysed = [&](const QString& name, const std::function<void()>& inChild) {
            const QString session = folder.filePath(name);
            const CommandRun run = runHeadwise({"analyze", folder.path(), "-o", session, "--threads", "1"},
                                               folder.path(), {}, inChild);
            const auto read = readSession(session.toStdString(), {});
            if (run.exitCode != 0 || !read)
                qWarning("%s", run.err.constData());
            return read ? read->results : ResultSet{};
        };
        const ResultSet whole = analysed("whole.h5", {});
        const ResultSet limited = analysed("limited.h5", addressSpaceOf(800));
        QVERIFY(whole.arrays.size() > 20);
        QCOMPARE(limited.arrays.size(), whole.arrays.size());
        for (std::size_t i = 0; i < whole.arrays.size(); ++i) {
            QCOMPARE(limited.arrays[i].path, whole.arrays[i].path);
            QVERIFY2(npyBytes(limited.arrays[i].shape, limited.arrays[i].values)
                         == npyBytes(whole.arrays[i].shape, whole.arrays[i].values),
                     whole.arrays[i].path.c_str());
        }
    }
};

HEADWISE_TEST(AddressSpaceTest)
#include "address_space_test.moc"

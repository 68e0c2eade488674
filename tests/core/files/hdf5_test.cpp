#include "core/files/hdf5.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <cmath>
#include <csignal>
#include <fcntl.h>
#include <limits>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace headwise;
using namespace headwise::test;

namespace {

using Bits = std::vector<std::size_t>;

/// Runs a script with the system's python and h5py, which shares only the library with our reader.
QByteArray python(const QString& script, const std::filesystem::path& file)
{
    QProcess process;
    process.start("/usr/bin/python3",
                  {"-c", "import h5py, numpy, sys\nf = h5py.File(sys.argv[1], 'r')\n" + script,
                   QString::fromStdString(file.string())});
    if (!process.waitForFinished() || process.exitCode() != 0)
        return "failed: " + process.readAllStandardError();
    return process.readAllStandardOutput().trimmed();
}

Hdf5Writer created(const std::filesystem::path& path)
{
    return Hdf5Writer::create(path).value();
}

bool hasH5py()
{
    return QProcess::execute("/usr/bin/python3", {"-c", "import h5py"}) == 0;
}

} // namespace

class Hdf5Test : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;
    std::filesystem::path file(const char* name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

    /// One of everything.
    std::filesystem::path writeSample(const char* name)
    {
        const std::filesystem::path path = file(name);
        Hdf5Writer writer = created(path);
        const std::vector<float> floats{1.5f, -0.0f, std::nanf(""), 4, 5, 6};
        const std::vector<std::complex<float>> complexes{{1, -2}, {3, 4}};
        const std::vector<std::complex<double>> wide{{1e300, -2}};
        const std::vector<std::int32_t> integers{-7, 8};
        const std::vector<double> doubles{0.1};
        const std::vector<std::string> texts{"␣the", "", "日本"};
        const std::vector<std::string> rows{std::string("\xff\x00x", 3), ""};
        const Task task;
        bool ok = isOk(writer.writeNumbers<float>("b/floats", {2, 3}, floats, task));
        ok &= isOk(writer.writeNumbers<std::complex<float>>("b/complexes", {2}, complexes, task));
        ok &= isOk(writer.writeNumbers<std::complex<double>>("a/wide", {1}, wide, task));
        ok &= isOk(writer.writeNumbers<std::int32_t>("a/integers", {2}, integers, task));
        ok &= isOk(writer.writeNumbers<double>("a/scalar", {}, doubles, task));
        ok &= isOk(writer.writeNumbers<float>("a/empty", {0, 4}, {}, task));
        ok &= isOk(writer.writeTexts("texts", texts));
        ok &= isOk(writer.writeTexts("no_texts", {}));
        ok &= isOk(writer.writeText("text", "{\"x\": \"é\"}"));
        ok &= isOk(writer.writeBytes("bytes", rows));
        ok &= isOk(writer.setAttribute("", "format", std::string("ü")));
        ok &= isOk(writer.setAttribute("", "empty", std::string()));
        ok &= isOk(writer.setAttribute("a", "yes", true));
        ok &= isOk(writer.setAttribute("a", "no", false));
        ok &= isOk(writer.setAttribute("a", "count", std::int64_t(3)));
        ok &= isOk(writer.setAttribute("b/floats", "scale", 0.1));
        ok &= isOk(writer.setAttribute("b/floats", "axes", std::vector<std::string>{"row", "column"}));
        ok &= isOk(writer.setAttribute("b/floats", "none", std::vector<std::string>{}));
        return ok && isOk(writer.close()) ? path : std::filesystem::path();
    }

private slots:
    void everythingComesBackAsItWasWritten()
    {
        const auto reader = Hdf5Reader::open(writeSample("round.h5"));
        QVERIFY(isOk(reader));
        const auto floats = reader->readArray("/b/floats");
        QVERIFY(isOk(floats));
        QCOMPARE(floats->shape, (Bits{2, 3}));
        const auto& values = std::get<std::vector<float>>(floats->values);
        QCOMPARE(values[0], 1.5f);
        QVERIFY(std::signbit(values[1]));
        QVERIFY(std::isnan(values[2]));
        QCOMPARE(values[5], 6.0f);
        QCOMPARE(std::get<std::vector<std::complex<float>>>(reader->readArray("b/complexes")->values)[1],
                 std::complex<float>(3, 4));
        QCOMPARE(std::get<std::vector<std::complex<double>>>(reader->readArray("a/wide")->values)[0],
                 std::complex<double>(1e300, -2));
        QCOMPARE(std::get<std::vector<std::int32_t>>(reader->readArray("a/integers")->values)[0], -7);
        QCOMPARE(std::get<std::vector<double>>(reader->readArray("a/scalar")->values)[0], 0.1);
        QCOMPARE(reader->readArray("a/scalar")->shape, Bits{});
        QCOMPARE(reader->readArray("a/empty")->shape, (Bits{0, 4}));
        QCOMPARE(*reader->readTexts("texts"), (std::vector<std::string>{"␣the", "", "日本"}));
        QCOMPARE(reader->readTexts("no_texts")->size(), std::size_t(0));
        QCOMPARE(reader->readTexts("text")->at(0), std::string("{\"x\": \"é\"}"));
        QCOMPARE(*reader->readBytes("bytes"), (std::vector<std::string>{std::string("\xff\x00x", 3), ""}));
        QCOMPARE(*reader->attributes(""),
                 (Hdf5Attributes{{"format", std::string("ü")}, {"empty", std::string()}}));
        QCOMPARE(*reader->attributes("a"),
                 (Hdf5Attributes{{"yes", true}, {"no", false}, {"count", std::int64_t(3)}}));
        QCOMPARE(*reader->attributes("b/floats"),
                 (Hdf5Attributes{{"scale", 0.1},
                                 {"axes", std::vector<std::string>{"row", "column"}},
                                 {"none", std::vector<std::string>{}}}));
    }

    void groupsAreListedInTheOrderTheyWereWritten()
    {
        const auto reader = Hdf5Reader::open(writeSample("order.h5"));
        QVERIFY(isOk(reader));
        QCOMPARE(*reader->entries(""),
                 (std::vector<Hdf5Entry>{{"b", Hdf5Kind::Group},
                                         {"a", Hdf5Kind::Group},
                                         {"texts", Hdf5Kind::Texts},
                                         {"no_texts", Hdf5Kind::Texts},
                                         {"text", Hdf5Kind::Texts},
                                         {"bytes", Hdf5Kind::Bytes}}));
        QCOMPARE(reader->entries("a")->size(), std::size_t(4));
        QVERIFY(reader->has("a/wide") && !reader->has("a/narrow") && !reader->has("c/wide"));
        QVERIFY(failsWith(reader->readArray("a/narrow"), ErrorCode::NotFound, "a/narrow"));
        QVERIFY(failsWith(reader->readArray("texts"), ErrorCode::Unsupported, "texts"));
    }

    void h5pyReadsEveryTypeWithoutHelp()
    {
        if (!hasH5py())
            QSKIP("python3-h5py is not installed");
        const auto path = writeSample("h5py.h5");
        QCOMPARE(
            python(
                "print(f['b/floats'].dtype, f['b/complexes'].dtype, f['a/wide'].dtype, f['a/integers'].dtype, f['a/scalar'].dtype, f['b/floats'].compression, f['b/floats'].shuffle)",
                path),
            QByteArray("float32 complex64 complex128 int32 float64 gzip True"));
        QCOMPARE(
            python(
                "print(repr(f.attrs['format']), repr(f['a'].attrs['yes']), repr(f['a'].attrs['count']), list(f['b/floats'].attrs['axes']), f['b/complexes'][1])",
                path),
            QByteArray("'ü' True 3 ['row', 'column'] (3+4j)"));
        QCOMPARE(
            python(
                "print(list(f['texts'].asstr()), f['text'].asstr()[()], list(f['bytes'][0]), f['bytes'].dtype.metadata['vlen'], f['bytes'][1].shape)",
                path),
            QByteArray("['␣the', '', '日本'] {\"x\": \"é\"} [255, 0, 120] uint8 (0,)"));
    }

    void largeArraysAreChunkedBelowOneMebibyteAndComeBack()
    {
        std::vector<float> values(3 * 700 * 2000);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(i % 10007);
        const auto path = file("large.h5");
        Hdf5Writer writer = created(path);
        QVERIFY(isOk(writer.writeNumbers<float>("x", {3, 700, 2000}, values, Task{})));
        QVERIFY(isOk(writer.close()));
        QVERIFY(std::get<std::vector<float>>(Hdf5Reader::open(path)->readArray("x")->values) == values);
        if (hasH5py())
            QCOMPARE(python("print(f['x'].chunks)", path), QByteArray("(1, 131, 2000)"));
    }

    void aBlockIsReadAlone()
    {
        std::vector<std::int32_t> values(4 * 3 * 5);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<std::int32_t>(i);
        const auto path = file("block.h5");
        Hdf5Writer writer = created(path);
        QVERIFY(isOk(writer.writeNumbers<std::int32_t>("x", {4, 3, 5}, values, Task{})));
        QVERIFY(isOk(writer.close()));
        const auto reader = Hdf5Reader::open(path);
        const auto block = reader->readBlock("x", {{1, 2, 0}, {2, 1, 0}});
        QVERIFY(isOk(block));
        QVERIFY((block->shape == std::vector<std::size_t>{2, 1, 5}));
        QVERIFY((std::get<std::vector<std::int32_t>>(block->values)
                 == std::vector<std::int32_t>{25, 26, 27, 28, 29, 40, 41, 42, 43, 44}));
        for (const Hdf5Block& outside : {Hdf5Block{{5, 0, 0}, {0, 0, 0}},
                                         {{0, 2, 0}, {1, 2, 1}},
                                         {{0, 0, 0}, {1, 1, std::numeric_limits<std::size_t>::max()}},
                                         {{0, 0}, {1, 1}}})
            QVERIFY(failsWith(reader->readBlock("x", outside), ErrorCode::Corrupt, "[4, 3, 5]"));
        QVERIFY(failsWith(reader->readBlock("y", {{0}, {0}}), ErrorCode::NotFound, "'y'"));
        QVERIFY(isOk(reader->readArray("x"))); // the process goes on answering
    }

    void cancellingStopsAnArray()
    {
        std::stop_source source;
        source.request_stop();
        Hdf5Writer writer = created(file("cancelled.h5"));
        const std::vector<float> values(4);
        QVERIFY(failsWith(writer.writeNumbers<float>("x", {4}, values, Task{source.get_token(), {}, 0}),
                          ErrorCode::Cancelled, ""));
    }

    void refusesWhatHdf5CannotHold()
    {
        Hdf5Writer writer = created(file("refused.h5"));
        QVERIFY(
            failsWith(writer.writeText("note", std::string("a\0b", 3)), ErrorCode::InvalidArgument, "note"));
        QVERIFY(failsWith(writer.writeNumbers<float>("x", {2}, std::vector<float>(3), Task{}),
                          ErrorCode::InvalidArgument, "3 values"));
        QVERIFY(failsWith(Hdf5Writer::create(file("missing") / "x.h5"), ErrorCode::Io, "No such file"));
    }

    void refusesWhatIsNotHdf5()
    {
        QFile text(QString::fromStdString(file("text.h5").string()));
        QVERIFY(text.open(QIODevice::WriteOnly) && text.write("not at all") > 0);
        text.close();
        QVERIFY(failsWith(Hdf5Reader::open(file("text.h5")), ErrorCode::Corrupt, "not an HDF5 file"));
        QVERIFY(failsWith(Hdf5Reader::open(file("absent.h5")), ErrorCode::NotFound, "absent.h5"));
        QVERIFY(failsWith(Hdf5Reader::open(file("")), ErrorCode::Corrupt, "not a file"));
        QVERIFY(!isHdf5(file("text.h5")) && !isHdf5(file("absent.h5")) && isHdf5(writeSample("is.h5")));
    }

    void refusesATruncatedFile()
    {
        const auto path = writeSample("truncated.h5");
        std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
        QVERIFY(failsWith(Hdf5Reader::open(path), ErrorCode::Corrupt, "truncated"));
    }

    /// A file that claims 2^50 values must be refused before memory is asked for them.
    void refusesAShapeTheBytesCannotFill()
    {
        if (!hasH5py())
            QSKIP("python3-h5py is not installed");
        const auto path = file("bomb.h5");
        QProcess::execute(
            "/usr/bin/python3",
            {"-c",
             "import h5py, sys\nf = h5py.File(sys.argv[1], 'w')\n"
             "f.create_dataset('x', shape=(1 << 50,), dtype='f4', chunks=(1024,))\n"
             "f.create_dataset('y', shape=(4,), dtype='f4', chunks=(4,), compression='lzf')\n"
             "f.create_dataset('s', shape=(1 << 40,), dtype=h5py.string_dtype(), chunks=(8,))\n"
             "f['out'] = h5py.ExternalLink('/etc/passwd', '/x')\n"
             "f['soft'] = h5py.SoftLink('/y')\n"
             "f.create_dataset('e', shape=(4,), dtype='f4', external=[('/etc/passwd', 0, 16)])\n"
             "f['g/h/i'] = 1.0; f['g/self'] = f['g']\n",
             QString::fromStdString(path.string())});
        const auto reader = Hdf5Reader::open(path);
        QVERIFY(isOk(reader));
        QVERIFY(failsWith(reader->readArray("x"), ErrorCode::Corrupt, "[1125899906842624]"));
        QVERIFY(failsWith(reader->readArray("y"), ErrorCode::Unsupported, "filter"));
        QVERIFY(failsWith(reader->readTexts("s"), ErrorCode::Corrupt, "stored"));
        QVERIFY(failsWith(reader->readArray("e"), ErrorCode::Unsupported, "another file"));
        QVERIFY(failsWith(reader->readArray("out"), ErrorCode::NotFound, "out"));
        QVERIFY(failsWith(reader->readArray("soft"), ErrorCode::NotFound, "soft"));
    }

    /// Runs in a child with a limit on file sizes, which to the library is a full disk.
    void aFullDiskIsAnErrorAndNotACrash()
    {
        for (const rlim_t limit : {rlim_t(100), rlim_t(3000), rlim_t(40000), rlim_t(200000)}) {
            const pid_t child = fork();
            if (child == 0) {
                signal(SIGXFSZ, SIG_IGN);
                const rlimit size{limit, limit};
                setrlimit(RLIMIT_FSIZE, &size);
                std::vector<double> noise(50000);
                for (std::size_t i = 0; i < noise.size(); ++i)
                    noise[i] = std::sin(double(i * i));
                Result<Hdf5Writer> made = Hdf5Writer::create(file("full.h5"));
                bool failed = !made;
                if (made) {
                    Hdf5Writer writer = std::move(made).value();
                    failed |= !writer.writeNumbers<double>("x", {noise.size()}, noise, Task{});
                    failed |= !writer.writeTexts("t", std::vector<std::string>(1000, "twenty bytes of text"));
                    failed |= !writer.close();
                }
                exit(failed ? 42 : 1); // through the library's own handlers
            }
            int status = 0;
            waitpid(child, &status, 0);
            QVERIFY2(WIFEXITED(status) && WEXITSTATUS(status) == 42, qPrintable(QString::number(status)));
        }
    }
};

HEADWISE_TEST(Hdf5Test)
#include "hdf5_test.moc"

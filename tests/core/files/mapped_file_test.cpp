#include "core/files/mapped_file.h"

#include "tests/support/address_space_limit.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTemporaryDir>

#include <fstream>

using namespace headwise;
namespace fs = std::filesystem;

class MappedFileTest : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<QTemporaryDir> m_temporary;
    fs::path m_path;

    static std::string textAt(const MappedFile& file, std::size_t first, std::size_t count)
    {
        std::string text(count, '?');
        file.read(first, std::as_writable_bytes(std::span(text)));
        return text;
    }

private slots:
    void init()
    {
        m_temporary = std::make_unique<QTemporaryDir>();
        m_path = fs::path(m_temporary->path().toStdString()) / "a.bin";
        std::ofstream(m_path) << std::string(100'000, 'x');
    }

    void holdsTheBytesOfTheFile()
    {
        const auto file = MappedFile::open(m_path);
        QVERIFY(test::isOk(file));
        QCOMPARE(file->bytes().size(), std::size_t{100'000});
        QVERIFY(file->bytes().front() == std::byte{'x'} && file->bytes().back() == std::byte{'x'});
        std::ofstream(m_path).close();
        const auto empty = MappedFile::open(m_path);
        QVERIFY(test::isOk(empty));
        QVERIFY(empty->bytes().empty() && empty->isIntact());
    }

    void isMoved()
    {
        auto first = MappedFile::open(m_path);
        QVERIFY(test::isOk(first));
        MappedFile second = std::move(first).value();
        QCOMPARE(second.bytes().size(), std::size_t{100'000});
        auto third = MappedFile::open(m_path);
        QVERIFY(test::isOk(third));
        second = std::move(third).value();
        QVERIFY(second.bytes().back() == std::byte{'x'} && second.isIntact());
    }

    void survivesThatTheFileIsReplacedOrRemoved()
    {
        const auto file = MappedFile::open(m_path);
        QVERIFY(test::isOk(file));
        std::ofstream(m_path.string() + ".new") << "short";
        fs::rename(m_path.string() + ".new", m_path);
        QVERIFY(file->bytes().back() == std::byte{'x'});
        fs::remove(m_path);
        QVERIFY(file->bytes()[50'000] == std::byte{'x'} && file->isIntact());
    }

    void survivesThatTheFileIsShortenedInPlace()
    {
        const auto file = MappedFile::open(m_path);
        const auto other = MappedFile::open(m_path);
        QVERIFY(test::isOk(file) && test::isOk(other));
        QVERIFY(file->isIntact() && other->isIntact());
        fs::resize_file(m_path, 10);
        QVERIFY(file->bytes()[5] == std::byte{'x'});
        QVERIFY(file->bytes()[50'000] == std::byte{0} && file->bytes().back() == std::byte{0});
        QVERIFY(!file->isIntact() && !other->isIntact());
        fs::remove(m_path);
        QVERIFY(!file->isIntact()); // missing bytes were accessed
        std::ofstream(m_path) << "new";
        QVERIFY(MappedFile::open(m_path)->isIntact()); // the table entry is reused
    }

    void noticesThatTheFileIsWrittenInto()
    {
        const auto file = MappedFile::open(m_path);
        QVERIFY(test::isOk(file) && file->isIntact());
        fs::last_write_time(m_path, fs::last_write_time(m_path) - std::chrono::hours(1));
        QVERIFY(!file->isIntact());
    }

    void isReadInPiecesWhereTheAddressSpaceIsShort()
    {
        constexpr std::size_t size = std::size_t(1) << 30;
        fs::resize_file(m_path, size); // a hole takes no room on the disk
        std::fstream(m_path, std::ios::in | std::ios::out).seekp(size / 2) << "middle";
        const test::AddressSpaceLimit limit(std::size_t(1) << 29);
        QVERIFY(test::failsWith(MappedFile::open(m_path), ErrorCode::Io, "1024 MiB"));
        auto opened = MappedFile::open(m_path, Mapping::HeadIfShort);
        QVERIFY(test::isOk(opened));
        const MappedFile file = std::move(opened).value();
        QVERIFY(!file.isWhole() && file.size() == size && file.bytes().size() < size / 8);
        QCOMPARE(textAt(file, size / 2 - 1, 8), std::string("\0middle\0", 8));
        QCOMPARE(textAt(file, 0, 3), std::string("xxx"));
        QVERIFY(file.isIntact());
        fs::resize_file(m_path, size / 2 + 3);
        QCOMPARE(textAt(file, size / 2, 6), std::string("mid\0\0\0", 6));
        fs::remove(m_path);
        QVERIFY(!file.isIntact()); // missing bytes were read
    }

    void aSmallFileIsMappedWholeUnderALimit()
    {
        const test::AddressSpaceLimit limit(std::size_t(1) << 29);
        const auto file = MappedFile::open(m_path, Mapping::HeadIfShort);
        QVERIFY(test::isOk(file) && file->isWhole());
        QCOMPARE(textAt(*file, 99'998, 2), std::string("xx"));
    }
};

HEADWISE_TEST(MappedFileTest)
#include "mapped_file_test.moc"

#include "core/files/hdf5_wire.h"

#include "tests/support/program.h"

#include <QTest>

#include <limits>
#include <random>

using namespace headwise;
using namespace headwise::hdf5;

/// Answers from a process that may be controlled by a hostile file.
class Hdf5WireTest : public QObject {
    Q_OBJECT

private:
    static std::vector<std::string> answers()
    {
        const std::vector<Hdf5Entry> entries{{"a", Hdf5Kind::Group}, {"", Hdf5Kind::Other}};
        const Hdf5Attributes attributes{{"text", std::string("ü")},
                                        {"number", 0.5},
                                        {"flag", true},
                                        {"texts", std::vector<std::string>{"x", ""}},
                                        {"integer", std::int64_t(-3)}};
        return {encoded(Error{ErrorCode::Corrupt, "It is damaged."}),
                encoded(true),
                encoded(NumbersHeader{4, {2, 3}, 6, 96}),
                encoded(entries),
                encoded(attributes),
                encoded(std::vector<std::string>{"one", "", "three"})};
    }

    static int decodedAsAnything(std::string_view bytes)
    {
        return int(decodedError(bytes).has_value()) + int(decodedFlag(bytes).has_value())
            + int(decodedNumbers(bytes).has_value()) + int(decodedEntries(bytes).has_value())
            + int(decodedAttributes(bytes).has_value()) + int(decodedRows(bytes).has_value());
    }

private slots:
    void answersComeBack()
    {
        QCOMPARE(decodedError(answers()[0])->message, std::string("It is damaged."));
        QVERIFY(decodedError(answers()[0])->code == ErrorCode::Corrupt);
        QCOMPARE(*decodedFlag(answers()[1]), true);
        QVERIFY((*decodedNumbers(answers()[2]) == NumbersHeader{4, {2, 3}, 6, 96}));
        QCOMPARE(decodedEntries(answers()[3])->size(), std::size_t(2));
        QCOMPARE(decodedEntries(answers()[3])->front(), (Hdf5Entry{"a", Hdf5Kind::Group}));
        QCOMPARE(decodedAttributes(answers()[4])->size(), std::size_t(5));
        QCOMPARE(std::get<std::int64_t>(decodedAttributes(answers()[4])->at("integer")), std::int64_t(-3));
        QCOMPARE(*decodedRows(answers()[5]), (std::vector<std::string>{"one", "", "three"}));
    }

    void aShortOrLongAnswerIsRefused()
    {
        const std::vector<std::string> all = answers();
        const auto decodes = [](std::size_t i, const std::string& bytes) {
            switch (i) {
            case 0: return decodedError(bytes).has_value();
            case 1: return decodedFlag(bytes).has_value();
            case 2: return decodedNumbers(bytes).has_value();
            case 3: return decodedEntries(bytes).has_value();
            case 4: return decodedAttributes(bytes).has_value();
            default: return decodedRows(bytes).has_value();
            }
        };
        for (std::size_t i = 0; i < all.size(); ++i) {
            QVERIFY(decodes(i, all[i]));
            for (std::size_t size = 0; size < all[i].size(); ++size)
                QVERIFY(!decodes(i, all[i].substr(0, size)));
            QVERIFY(!decodes(i, all[i] + '\0'));
        }
    }

    void countsTheBytesCannotHoldAreRefused()
    {
        for (const std::uint64_t count : {std::uint64_t(2), std::uint64_t(1) << 40, ~std::uint64_t(0)}) {
            const std::string bytes(reinterpret_cast<const char*>(&count), sizeof count);
            QVERIFY(!decodedRows(bytes) && !decodedEntries(bytes) && !decodedAttributes(bytes));
        }
        const std::size_t large = std::size_t(1) << 33;
        QVERIFY(!decodedNumbers(encoded(NumbersHeader{0, {large, large}, 0, 0})));
        QVERIFY(!decodedNumbers(encoded(NumbersHeader{4, {large, large / 8}, 0, 0})));
        QVERIFY(!decodedNumbers(encoded(NumbersHeader{5, {1}, 1, 4})));
        QVERIFY(!decodedNumbers(encoded(NumbersHeader{0, std::vector<std::size_t>(maxRank + 1, 1), 1, 4})));
    }

    void noiseIsNeverBelievedTooMuch()
    {
        std::mt19937 random(5);
        int decodedSomehow = 0;
        for (int i = 0; i < 20'000; ++i) {
            std::string bytes = answers()[random() % 6];
            for (int k = 0; k < 3; ++k)
                bytes[random() % bytes.size()] = static_cast<char>(random());
            decodedSomehow += decodedAsAnything(bytes) > 0;
        }
        QVERIFY(decodedSomehow > 0 && decodedSomehow < 20'000);
    }
};

HEADWISE_TEST(Hdf5WireTest)
#include "hdf5_wire_test.moc"

#include "core/base/result.h"

#include "tests/support/matchers.h"
#include "tests/support/program.h"

using namespace headwise;

class ResultTest : public QObject {
    Q_OBJECT

private slots:
    void holdsAValueOrAnError()
    {
        const Result<int> good = 7;
        QVERIFY(good);
        QCOMPARE(*good, 7);
        const Result<int> bad = Error{ErrorCode::Corrupt, "Tensor 'a' is too short."};
        QVERIFY(test::failsWith(bad, ErrorCode::Corrupt, "'a'"));
    }

    void movesItsValueOut()
    {
        Result<std::vector<int>> result = std::vector{1, 2, 3};
        const std::vector<int> taken = std::move(result).value();
        QCOMPARE(taken.size(), std::size_t{3});
    }

    void quotesNoMoreOfAFileThanAPersonReads()
    {
        const std::string name(300, 'x'), whole(200, 'x');
        const auto said = [](const std::string& sentence) {
            return Result<int>(Error{ErrorCode::Corrupt, sentence}).error().message;
        };
        QCOMPARE(said("Tensor '" + whole + "' is missing."), "Tensor '" + whole + "' is missing.");
        QCOMPARE(said("Tensor '" + name + "' is missing from '/a'."),
                 "Tensor '" + whole + "…' is missing from '/a'.");
        const std::string path = "/" + std::string(600, 'p');
        QCOMPARE(said("File '" + path + "' is empty."), "File '" + path + "' is empty.");
        const std::string wide = "\xe2\x82\xac"; // three bytes, of which none stands alone
        std::string euros;
        for (int i = 0; i < 100; ++i)
            euros += wide;
        QCOMPARE(said("'" + euros + "'"), "'" + euros.substr(0, 198) + "…'");
        QCOMPARE_LT(said("There is " + std::string(4'750'000, 'y')).size(), std::size_t(4100));
    }
};

HEADWISE_TEST(ResultTest)
#include "result_test.moc"

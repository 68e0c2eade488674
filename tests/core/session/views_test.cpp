#include "core/results/table_file.h"
#include "core/session/picture_numbers.h"
#include "core/session/session_file.h"
#include "core/session/view_names.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

#include <algorithm>

using namespace headwise;
using namespace headwise::test;

/// On the fixture: 2 layers, 3 heads, d_head 5, 11 tokens, tables of L1H2 with k = 2.
class ViewsTest : public QObject {
    Q_OBJECT

private:
    Session m_session;

    /// The numbers of a view that is there.
    PictureNumbers numbers(std::string_view name, std::optional<HeadId> head) const
    {
        const Result<View> view = viewOf(m_session, name, head);
        return view ? numbersOf(m_session, view->picture, head).value() : PictureNumbers{};
    }

private slots:
    void initTestCase()
    {
        Result<Session> read = readSession(testData("session-v1.h5"), Task{});
        QVERIFY(isOk(read));
        m_session = std::move(read).value();
    }

    void aScoreIsAGridOfHeads()
    {
        const Result<View> view = viewOf(m_session, "copying", std::nullopt);
        QVERIFY(isOk(view));
        QVERIFY(view->picture.kind == Picture::Kind::HeadGrid && view->picture.signedColors);
        QCOMPARE(view->picture.arrays, std::vector<std::string>{"scores/copying"});
        QCOMPARE(view->picture.title, std::string("Copying"));
        const PictureNumbers data = numbers("copying", std::nullopt);
        QCOMPARE(data.shape, (std::vector<std::size_t>{2, 3}));
        QCOMPARE(delimitedText(data.table, Delimiter::Comma),
                 std::string("layer,0,1,2\r\n0,0.5,-1,nan\r\n1,0,1,0.25\r\n"));
    }

    void compositionIsAPictureOfPairs()
    {
        const Result<View> view = viewOf(m_session, "composition_q", std::nullopt);
        QVERIFY(isOk(view));
        QVERIFY(view->picture.kind == Picture::Kind::HeadPairs);
        const PictureNumbers data = numbers("composition_q", std::nullopt);
        QCOMPARE(data.shape, (std::vector<std::size_t>{6, 6}));
        QCOMPARE(data.table.rows[1][0], std::string("L0H1"));
        QCOMPARE(data.table.columns[6], std::string("L1H2"));
        QCOMPARE(std::get<std::vector<double>>(data.values)[1 * 6 + 5], 5.0 / 8); // numpy: [0, 1, 1, 2]
    }

    void aSpectrumIsOneColumnPerCircuit()
    {
        const Result<View> view = viewOf(m_session, "spectrum", HeadId{1, 0});
        QVERIFY(isOk(view));
        QVERIFY(view->picture.kind == Picture::Kind::Lines && view->picture.logY);
        QCOMPARE(view->picture.title, std::string("L1H0 singular values"));
        const PictureNumbers data = numbers("spectrum", HeadId{1, 0});
        QCOMPARE(data.table.columns, (std::vector<std::string>{"index", "qk"}));
        QVERIFY((std::get<std::vector<float>>(data.values) == std::vector<float>{14, 13, 12, 11, 10}));
    }

    void eigenvaluesHaveTwoColumnsInTheTable()
    {
        const Result<View> view = viewOf(m_session, "eigenvalues", HeadId{0, 0});
        QVERIFY(isOk(view));
        QVERIFY(view->picture.kind == Picture::Kind::Points);
        const PictureNumbers data = numbers("eigenvalues", HeadId{0, 0});
        QCOMPARE(data.table.columns,
                 (std::vector<std::string>{"index", "full_ov_real", "full_ov_imaginary"}));
        QCOMPARE(data.table.rows[1], (std::vector<std::string>{"1", "28", "13"}));
    }

    void aTokenTableNamesItsTokens()
    {
        const Result<View> view = viewOf(m_session, "tokens-ov", HeadId{1, 2});
        QVERIFY(isOk(view));
        QVERIFY(view->picture.kind == Picture::Kind::Table);
        const PictureNumbers data = numbers("tokens-ov", HeadId{1, 2});
        QCOMPARE(data.shape, (std::vector<std::size_t>{11, 2}));
        QCOMPARE(data.table.rows.size(), std::size_t(22));
        QCOMPARE(data.table.rows[2],
                 (std::vector<std::string>{"row", "1", "⏎", "top", "1", "2", "<0xFF>", "-2"}));
    }

    void anyArrayIsAViewByItsPath()
    {
        const Result<View> line = viewOf(m_session, "/analyses/later/thing", std::nullopt);
        QVERIFY(isOk(line));
        QCOMPARE(line->dimensions, std::size_t(1));
        QCOMPARE(delimitedText(numbers("/analyses/later/thing", std::nullopt).table, Delimiter::Comma),
                 std::string("item,value\r\n0,0\r\n1,1\r\n2,2\r\n"));
        const Result<View> whole = viewOf(m_session, "spectra/qk/singular_values", std::nullopt);
        QVERIFY(isOk(whole));
        QCOMPARE(whole->dimensions, std::size_t(3));
        QCOMPARE(numbers("spectra/qk/singular_values", std::nullopt).table.rows.size(), std::size_t(30));
        const Result<View> ofHead = viewOf(m_session, "spectra/qk/singular_values", HeadId{0, 1});
        QVERIFY(isOk(ofHead));
        QVERIFY(ofHead->picture.kind == Picture::Kind::Lines && ofHead->dimensions == 1);
    }

    /// The same arrays have one name, whoever draws them.
    void picturesKnowTheirNames()
    {
        for (const ViewDescription& described : viewsOf(m_session)) {
            const auto head = described.ofHead ? std::optional(HeadId{1, 2}) : std::nullopt;
            const Result<View> view = viewOf(m_session, described.name, head);
            QVERIFY2(isOk(view), described.name.c_str());
            const std::string name = viewNameOf(view->picture);
            QVERIFY2(name == described.name
                         || viewOf(m_session, name, head)->picture.arrays == view->picture.arrays,
                     described.name.c_str());
        }
        QCOMPARE(viewNameOf({.kind = Picture::Kind::HeadGrid, .title = {}, .arrays = {"a", "b"}}),
                 std::string());
    }

    /// A name leads to one picture, on whatever page.
    void everyPictureOfAPageHasAName()
    {
        for (const PagePictures& page : pagesOfPictures())
            for (const Picture& picture : page.pictures) {
                const std::string name = viewNameOf(picture);
                QVERIFY2(!name.empty(), picture.title.c_str());
                if (name.find(pageColon) == std::string::npos)
                    continue;
                const std::string other = name.substr(0, name.find(pageColon));
                const auto found = pagePicture(other, name.substr(other.size() + pageColon.size()));
                QVERIFY2(isOk(found) && found->kind == picture.kind && found->arrays == picture.arrays,
                         name.c_str());
            }
    }

    void everyViewThatIsListedCanBeHad()
    {
        const std::vector<ViewDescription> list = viewsOf(m_session);
        QVERIFY(list.size() > m_session.results.arrays.size());
        for (const ViewDescription& view : list) {
            const auto head = view.ofHead ? std::optional(HeadId{1, 2}) : std::nullopt;
            const Result<View> found = viewOf(m_session, view.name, head);
            QVERIFY2(isOk(found), view.name.c_str());
            QCOMPARE(found->name, view.name);
            QVERIFY(!found->picture.title.empty());
            QVERIFY(found->isOfPage || !numbers(view.name, head).table.columns.empty());
        }
        const auto isListed = [&](std::string_view name) {
            return std::ranges::count(list, name, &ViewDescription::name) == 1;
        };
        QVERIFY(isListed("composition: Strongest pairs, Q-composition"));
        QVERIFY(!isListed("skipless: Savings from removing a pair"));                      // not computed
        QVERIFY(!isListed("pattern_scores: Matching and copying, coloured by induction")); // lacks two arrays
    }

    void provenanceSaysWhatWasDoneToTheWeights()
    {
        const auto provenance = viewOf(m_session, "eigenvalues", HeadId{1, 0})->provenance;
        const auto value = [&](const std::string& key) {
            for (const auto& [name, text] : provenance)
                if (name == key)
                    return text;
            return std::string();
        };
        QCOMPARE(value("weights"),
                 std::string("processed: fold-layer-norm, center-writing-weights, center-unembed"));
        QCOMPARE(value("embedding"), std::string("raw"));
        QCOMPARE(value("head"), std::string("L1H0"));
        QCOMPARE(value("model"), std::string("toy"));
        QCOMPARE(viewOf(m_session, "eigenvalues", HeadId{1, 0})->subtitle,
                 std::string("toy, processed weights, raw embedding"));
        QCOMPARE(viewOf(m_session, "spectrum", HeadId{1, 0})->subtitle,
                 std::string("toy, processed weights"));
    }

    /// A session in memory was not checked as one from a file is.
    void anArrayOfOtherSizesThanTheModelHasNoHeads()
    {
        Session forged = m_session;
        for (ResultArray& array : forged.results.arrays)
            if (array.path == "tables/full_ov/ids")
                array.axes = {Axis::Layer, Axis::Head,
                              Axis::Rank}; // [1, 11, 2], and the head asked for is L1H2
        QVERIFY(failsWith(viewOf(forged, "tables/full_ov/ids", HeadId{1, 2}), ErrorCode::InvalidArgument,
                          "every head"));
        QVERIFY(isOk(viewOf(forged, "tables/full_ov/ids", std::nullopt)));
    }

    /// A panel of a figure also takes the pictures of an analysis's page.
    void aPanelTakesAPictureOfAnAnalysis()
    {
        const Result<View> pairs =
            viewOf(m_session, "composition: Strongest pairs, Q-composition", std::nullopt);
        QVERIFY(isOk(pairs));
        QVERIFY(pairs->picture.kind == Picture::Kind::Diagram && !pairs->head);
        const Result<View> lines =
            viewOf(m_session, "spectra: Singular values of QK and OV, selected head", HeadId{1, 2});
        QVERIFY(isOk(lines));
        QVERIFY(lines->picture.kind == Picture::Kind::Lines && lines->picture.title.starts_with("L1H2 "));
        QVERIFY(viewOf(m_session, "copying", std::nullopt)->name == "copying");
        const auto refused = [this](const char* name, std::optional<HeadId> head, ErrorCode code,
                                    const char* part) {
            return failsWith(viewOf(m_session, name, head), code, part);
        };
        QVERIFY(refused("spectra: Singular values of QK and OV on a log axis, selected head", std::nullopt,
                        ErrorCode::InvalidArgument, "--head"));
        QVERIFY(refused("composition: Strongest pairs, Q-composition", HeadId{0, 0},
                        ErrorCode::InvalidArgument, "every head"));
        QVERIFY(refused("composition: Weakest pairs", std::nullopt, ErrorCode::InvalidArgument,
                        "it has 'Q-composition'"));
        QVERIFY(refused("alchemy: Gold", std::nullopt, ErrorCode::InvalidArgument, "list-analyses"));
        QVERIFY(refused("skipless: Savings from removing a pair", std::nullopt, ErrorCode::NotFound,
                        "--analyses skipless"));
    }

    void refusesWhatIsNotThere()
    {
        QVERIFY(failsWith(viewOf(m_session, "nonsense", std::nullopt), ErrorCode::InvalidArgument, "--list"));
        QVERIFY(
            failsWith(viewOf(m_session, "analyses/no/such", std::nullopt), ErrorCode::NotFound, "--list"));
        QVERIFY(
            failsWith(viewOf(m_session, "matching", std::nullopt), ErrorCode::NotFound, "headwise analyze"));
        QVERIFY(
            failsWith(viewOf(m_session, "norm-ov", std::nullopt), ErrorCode::NotFound, "--analyses spectra"));
        QVERIFY(failsWith(viewOf(m_session, "tokens-qk", HeadId{1, 2}), ErrorCode::NotFound,
                          "--analyses tables"));
        QVERIFY(failsWith(viewOf(m_session, "tokens-ov", HeadId{0, 0}), ErrorCode::NotFound, "--heads 0.0"));
        QVERIFY(failsWith(viewOf(m_session, "spectrum", std::nullopt), ErrorCode::InvalidArgument, "--head"));
        QVERIFY(
            failsWith(viewOf(m_session, "copying", HeadId{0, 0}), ErrorCode::InvalidArgument, "every head"));
        QVERIFY(
            failsWith(viewOf(m_session, "spectrum", HeadId{2, 0}), ErrorCode::InvalidArgument, "0.0 to 1.2"));
    }
};

HEADWISE_TEST(ViewsTest)
#include "views_test.moc"

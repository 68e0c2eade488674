#include "core/session/session_file.h"
#include "core/session/views.h"
#include "tests/support/matchers.h"
#include "tests/support/program.h"

#include <QTest>

using namespace headwise;
using namespace headwise::test;

/// On the fixture: 2 layers, 3 heads, d_head 5, 11 tokens, tables of L1H2 with k = 2.
class ViewsTest : public QObject {
    Q_OBJECT

private:
    Session m_session;

private slots:
    void initTestCase()
    {
        Result<Session> read = readSession(testData("session-v1.h5"), Task{});
        QVERIFY(isOk(read));
        m_session = std::move(read).value();
    }

    void aScoreIsAHeatmapOfLayersAndHeads()
    {
        const Result<ViewData> view = viewData(m_session, "copying", std::nullopt);
        QVERIFY(isOk(view));
        QVERIFY(view->kind == ViewKind::Heatmap);
        QCOMPARE(view->shape, (std::vector<std::size_t>{2, 3}));
        QVERIFY((view->rowAxis == "layer") && (view->columnAxis == "head"));
        QCOMPARE(view->valueName, std::string("Copying"));
        QCOMPARE(delimitedText(view->table, Delimiter::Comma),
                 std::string("layer,0,1,2\r\n0,0.5,-1,nan\r\n1,0,1,0.25\r\n"));
        QVERIFY(view->range.has_value());
    }

    void compositionIsAHeatmapOfHeadsAndHeads()
    {
        const Result<ViewData> view = viewData(m_session, "composition_q", std::nullopt);
        QVERIFY(isOk(view));
        QCOMPARE(view->shape, (std::vector<std::size_t>{6, 6}));
        QCOMPARE(view->rowLabels[1], std::string("L0H1"));
        QCOMPARE(view->columnLabels[5], std::string("L1H2"));
        QCOMPARE(std::get<std::vector<double>>(view->values)[1 * 6 + 5], 5.0 / 8); // numpy: [0, 1, 1, 2]
    }

    void aSpectrumIsOneColumnPerCircuit()
    {
        const Result<ViewData> view = viewData(m_session, "spectrum", HeadId{1, 0});
        QVERIFY(isOk(view));
        QVERIFY(view->kind == ViewKind::Lines);
        QCOMPARE(view->columnLabels, std::vector<std::string>{"qk"});
        QVERIFY((std::get<std::vector<float>>(view->values) == std::vector<float>{14, 13, 12, 11, 10}));
        QCOMPARE(view->title, std::string("L1H0 singular values"));
    }

    void eigenvaluesHaveTwoColumnsInTheTable()
    {
        const Result<ViewData> view = viewData(m_session, "eigenvalues", HeadId{0, 0});
        QVERIFY(isOk(view));
        QVERIFY(view->kind == ViewKind::Points);
        QCOMPARE(view->table.columns,
                 (std::vector<std::string>{"index", "full_ov_real", "full_ov_imaginary"}));
        QCOMPARE(view->table.rows[1], (std::vector<std::string>{"1", "28", "13"}));
    }

    void aTokenTableNamesItsTokens()
    {
        const Result<ViewData> view = viewData(m_session, "tokens-ov", HeadId{1, 2});
        QVERIFY(isOk(view));
        QVERIFY(view->kind == ViewKind::TokenTable);
        QCOMPARE(view->shape, (std::vector<std::size_t>{11, 2}));
        QCOMPARE(view->table.rows.size(), std::size_t(22));
        QCOMPARE(view->table.rows[2],
                 (std::vector<std::string>{"row", "1", "⏎", "top", "1", "2", "<0xFF>", "-2"}));
    }

    void anyArrayIsAViewByItsPath()
    {
        const Result<ViewData> line = viewData(m_session, "/analyses/later/thing", std::nullopt);
        QVERIFY(isOk(line));
        QVERIFY(line->kind == ViewKind::Lines);
        QCOMPARE(delimitedText(line->table, Delimiter::Comma),
                 std::string("item,value\r\n0,0\r\n1,1\r\n2,2\r\n"));
        const Result<ViewData> whole = viewData(m_session, "spectra/qk/singular_values", std::nullopt);
        QVERIFY(isOk(whole));
        QVERIFY(whole->kind == ViewKind::Numbers);
        QCOMPARE(whole->table.rows.size(), std::size_t(30));
        QVERIFY(isOk(viewData(m_session, "spectra/qk/singular_values", HeadId{0, 1})));
    }

    void everyViewThatIsListedCanBeHad()
    {
        const std::vector<ViewDescription> list = viewsOf(m_session);
        QVERIFY(list.size() > m_session.results.arrays.size());
        for (const ViewDescription& view : list) {
            const auto head = view.ofHead ? std::optional(HeadId{1, 2}) : std::nullopt;
            const Result<ViewData> data = viewData(m_session, view.name, head);
            QVERIFY2(isOk(data), view.name.c_str());
            QCOMPARE(data->name, view.name);
            QVERIFY(!data->table.columns.empty() && !data->title.empty());
        }
    }

    void provenanceSaysWhatWasDoneToTheWeights()
    {
        const auto provenance = viewData(m_session, "eigenvalues", HeadId{1, 0})->provenance;
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
        QCOMPARE(viewData(m_session, "eigenvalues", HeadId{1, 0})->subtitle,
                 std::string("toy, processed weights, raw embedding"));
        QCOMPARE(viewData(m_session, "spectrum", HeadId{1, 0})->subtitle,
                 std::string("toy, processed weights"));
    }

    /// A session in memory was not checked as one from a file is.
    void anArrayOfOtherSizesThanTheModelHasNoHeads()
    {
        Session forged = m_session;
        for (ResultArray& array : forged.results.arrays)
            if (array.path == "tables/full_ov/ids")
                array.axes = {"layer", "head", "rank"}; // [1, 11, 2], and the head asked for is L1H2
        QVERIFY(failsWith(viewData(forged, "tables/full_ov/ids", HeadId{1, 2}), ErrorCode::InvalidArgument,
                          "every head"));
        QVERIFY(isOk(viewData(forged, "tables/full_ov/ids", std::nullopt)));
    }

    void refusesWhatIsNotThere()
    {
        QVERIFY(
            failsWith(viewData(m_session, "nonsense", std::nullopt), ErrorCode::InvalidArgument, "--list"));
        QVERIFY(
            failsWith(viewData(m_session, "analyses/no/such", std::nullopt), ErrorCode::NotFound, "--list"));
        QVERIFY(failsWith(viewData(m_session, "matching", std::nullopt), ErrorCode::NotFound,
                          "headwise analyze"));
        QVERIFY(failsWith(viewData(m_session, "norm-ov", std::nullopt), ErrorCode::NotFound,
                          "--analyses spectra"));
        QVERIFY(failsWith(viewData(m_session, "tokens-qk", HeadId{1, 2}), ErrorCode::NotFound,
                          "--analyses tables"));
        QVERIFY(
            failsWith(viewData(m_session, "tokens-ov", HeadId{0, 0}), ErrorCode::NotFound, "--heads 0.0"));
        QVERIFY(
            failsWith(viewData(m_session, "spectrum", std::nullopt), ErrorCode::InvalidArgument, "--head"));
        QVERIFY(failsWith(viewData(m_session, "copying", HeadId{0, 0}), ErrorCode::InvalidArgument,
                          "every head"));
        QVERIFY(
            failsWith(viewData(m_session, "spectrum", HeadId{2, 0}), ErrorCode::InvalidArgument, "2 layers"));
    }
};

HEADWISE_TEST(ViewsTest)
#include "views_test.moc"

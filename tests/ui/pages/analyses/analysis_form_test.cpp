#include "ui/pages/analyses/analysis_form.h"

#include "core/analysis/inputs/direction_source.h"
#include "tests/support/matchers.h"
#include "tests/support/opened_page.h"
#include "tests/support/program.h"
#include "tests/support/toy_model.h"
#include "ui/pages/analyses/analysis_list.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;
using test::OpenedPage;

/// The input fields of an analysis.
class AnalysisFormTest : public QObject {
    Q_OBJECT

private:
    QTemporaryDir m_folder;

    std::filesystem::path toy(const test::ToyOptions& options) const
    {
        const auto path = std::filesystem::path(m_folder.path().toStdString()) / QTest::currentTestFunction();
        test::writeToyModel(path, options);
        return path;
    }

private slots:
    // Two tokens with rotary positions: the selected one is the query, the one in the field the key.
    void aKeyTokenIsAskedAbout()
    {
        OpenedPage<AnalysisForm> opened(toy(test::llamaOptions()));
        Workspace& workspace = opened.workspace;
        AnalysisForm& form = opened.page;
        workspace.selection()->setToken(3);
        form.setNeeds(*findAnalysis("rotary"));
        auto* field = opened.find<QLineEdit>(QStringLiteral("Key token"));
        QVERIFY(field->isVisible());
        QTest::keyClicks(field, QStringLiteral("#7"));
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(workspace.runs()->inputs().keyToken, std::optional(7));
        workspace.runs()->runAnalysis("rotary");
        QTRY_VERIFY(workspace.model()->results()->find("analyses/rotary/token_to_key_score"));
        const ResultArray* kernel = workspace.model()->results()->find("analyses/rotary/token_to_key_score");
        QCOMPARE(std::get<double>(kernel->attributes.at("token")), 3.0);
        QCOMPARE(std::get<double>(kernel->attributes.at("key_token")), 7.0);
        // also in results that the window computes
        QCOMPARE(std::get<double>(kernel->attributes.at("seed")), 0.0);
        field->selectAll();
        QTest::keyClicks(field, QStringLiteral("#99"));
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(!workspace.runs()->inputs().keyToken);
        const auto labels = form.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->isVisible() && label->text().contains(QStringLiteral("'#99' is not one token"));
        }));
        form.setNeeds(*findAnalysis("copying"));
        QVERIFY(!field->isVisible());
    }

    void theIdsOfACycleAreAskedFor()
    {
        OpenedPage<AnalysisForm> opened(toy({}));
        Workspace& workspace = opened.workspace;
        AnalysisForm& form = opened.page;
        const Analysis& fourier = *findAnalysis("fourier");
        form.setNeeds(fourier);
        auto* field = opened.find<QLineEdit>(QStringLiteral("Cycle of ids"));
        QVERIFY(field && field->isVisible());
        const auto type = [&](const char* ids) {
            field->selectAll();
            QTest::keyClicks(field, QLatin1String(ids));
            QTest::keyClick(field, Qt::Key_Return);
        };
        type("2-6, 9");
        QCOMPARE(workspace.runs()->inputs().cycle, (std::vector<int>{2, 3, 4, 5, 6, 9}));
        workspace.runs()->runAnalysis("fourier");
        const auto shares = [&] {
            return workspace.model()->results()->find("analyses/fourier/embedding_shares");
        };
        QTRY_VERIFY(shares());
        QCOMPARE(std::get<std::string>(shares()->attributes.at("cycle")), std::string("2-6,9"));
        const AnalysisInputs with = *workspace.runs()->inputsOf("fourier");
        QVERIFY(!areAboutOthers(fourier, with, workspace.runs()->inputs(), true));
        type("0-5");
        QVERIFY(areAboutOthers(fourier, with, workspace.runs()->inputs(), true));
        type("0-50");
        QVERIFY(whyNotNow(fourier, workspace).contains(QStringLiteral("id 50")));
        type("seven");
        QVERIFY(workspace.runs()->inputs().cycle.empty());
        const auto labels = form.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->isVisible()
                && label->text().contains(QStringLiteral("has 'seven' in place of an id"));
        }));
        form.setNeeds(*findAnalysis("copying"));
        QVERIFY(!field->isVisible());
    }

    /// A neuron or a singular vector instead of two tokens; a job reads it.
    void aDirectionIsANeuronOrASingularVector()
    {
        OpenedPage<AnalysisForm> opened(toy({}));
        Workspace& workspace = opened.workspace;
        AnalysisForm& form = opened.page;
        form.setNeeds(*findAnalysis("direction_card"));
        for (const char* name : {"neuron:1.2:out", "singular:0.1:qk:in:2"}) {
            form.setDirection(QLatin1String(name));
            const auto known = readDirection(name, *workspace.model()->circuits(), nullptr);
            QVERIFY(test::isOk(known));
            QTRY_VERIFY(workspace.runs()->inputs().direction == *known);
            QCOMPARE(workspace.runs()->inputs().directionName, std::string(name));
        }
        form.setDirection(QStringLiteral("neuron:9.2:out"));
        const auto says = [&] {
            const auto labels = form.findChildren<QLabel*>();
            return std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
                return label->isVisible() && label->text().contains(QStringLiteral("There is no neuron 9.2"));
            });
        };
        QTRY_VERIFY(says());
        QVERIFY(workspace.runs()->inputs().direction.empty());
        form.setDirection(QStringLiteral("#3"));
        const RowVector<double> row = workspace.model()->circuits()->weights().W_E<double>(3, 1).row(0);
        QVERIFY(workspace.runs()->inputs().direction == std::vector<double>(row.begin(), row.end()));
        QCOMPARE(workspace.runs()->inputs().directionName, std::string("#3"));
    }

    /// Analyses that compare norms offer a metric; the choice stays for the next of them.
    void lengthsAreMeasuredAsChosen()
    {
        OpenedPage<AnalysisForm> opened(toy({}));
        Workspace& workspace = opened.workspace;
        AnalysisForm& form = opened.page;
        const auto composition = [&]() -> const ResultArray* {
            return workspace.model()->results() ? workspace.model()->results()->find("composition/k")
                                                : nullptr;
        };
        QTRY_VERIFY(composition());
        QVERIFY(!composition()->attributes.contains("metric"));
        const auto as = composition()->values;
        form.setNeeds(*findAnalysis("composition"));
        auto* lengths = opened.find<QComboBox>(QStringLiteral("Metric of the residual stream"));
        QVERIFY(lengths->isVisible());
        QVERIFY(lengths->whatsThis().contains(QStringLiteral("covariance")));
        QTest::keyClick(lengths, Qt::Key_Down);
        QCOMPARE(workspace.runs()->inputs().metric, ResidualMetric::Embedding);
        workspace.runs()->runAnalysis("composition");
        QTRY_VERIFY(composition()->attributes.contains("metric"));
        QVERIFY(composition()->values != as);
        form.setNeeds(*findAnalysis("copying"));
        QVERIFY(!lengths->isVisible());
        QCOMPARE(workspace.runs()->inputs().metric, ResidualMetric::Embedding);
    }

    /// Results stay current when an input changes that their analysis does not use.
    void onlyUsedInputsMakeResultsStale()
    {
        AnalysisInputs relations, marked;
        relations.relations.resize(1);
        marked.previousTokenHeads = {{0, 0}};
        for (const Analysis& analysis : catalogue()) {
            const bool isAboutWords = analysis.id == "relations" || analysis.id == "token_card";
            QCOMPARE(areAboutOthers(analysis, {}, relations, false), isAboutWords);
            QCOMPARE(areAboutOthers(analysis, {}, marked, false), analysis.id == "induction");
        }
    }
};

HEADWISE_TEST(AnalysisFormTest)
#include "analysis_form_test.moc"

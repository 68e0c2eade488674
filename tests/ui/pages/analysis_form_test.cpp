#include "ui/pages/analysis_form.h"

#include "tests/support/matchers.h"
#include "tests/support/toy_model.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;

/// The fields that say what an analysis is about.
class AnalysisFormTest : public QObject {
    Q_OBJECT

private slots:
    // Two tokens under rotary positions: the selected one asks, the one in the field is asked about.
    void aKeyTokenIsAskedAbout()
    {
        constexpr int patience = 60000; // ms, under a loaded machine
        const QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "toy";
        test::writeToyModel(path, test::llamaOptions());
        Workspace workspace;
        AnalysisForm form(&workspace);
        form.show();
        workspace.openModel({path, {}, {}});
        QTRY_VERIFY_WITH_TIMEOUT(workspace.circuits(), patience);
        workspace.setToken(3);
        form.setNeeds(*findAnalysis("rotary"));
        QLineEdit* field = nullptr;
        for (QLineEdit* edit : form.findChildren<QLineEdit*>())
            if (edit->accessibleName() == QLatin1String("Key token"))
                field = edit;
        QVERIFY(field && field->isVisible());
        QTest::keyClicks(field, QStringLiteral("#7"));
        QTest::keyClick(field, Qt::Key_Return);
        QCOMPARE(workspace.inputs().keyToken, std::optional(7));
        workspace.runAnalysis("rotary");
        QTRY_VERIFY_WITH_TIMEOUT(workspace.results()->find("analyses/rotary/token_to_key_score"), patience);
        const ResultArray* kernel = workspace.results()->find("analyses/rotary/token_to_key_score");
        QCOMPARE(std::get<double>(kernel->attributes.at("token")), 3.0);
        QCOMPARE(std::get<double>(kernel->attributes.at("key_token")), 7.0);
        QCOMPARE(std::get<double>(kernel->attributes.at("seed")), 0.0); // of what the window computes too
        field->selectAll();
        QTest::keyClicks(field, QStringLiteral("#99"));
        QTest::keyClick(field, Qt::Key_Return);
        QVERIFY(!workspace.inputs().keyToken);
        const auto labels = form.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->isVisible() && label->text().contains(QStringLiteral("'#99' is not one token"));
        }));
        form.setNeeds(*findAnalysis("copying"));
        QVERIFY(!field->isVisible());
    }

    /// Analyses that compare norms are asked how long things are; the choice stays for the next of them.
    void lengthsAreMeasuredAsChosen()
    {
        constexpr int patience = 60000; // ms, under a loaded machine
        const QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "toy";
        test::writeToyModel(path);
        Workspace workspace;
        AnalysisForm form(&workspace);
        form.show();
        workspace.openModel({path, {}, {}});
        const auto composition = [&]() -> const ResultArray* {
            return workspace.results() ? workspace.results()->find("composition/k") : nullptr;
        };
        QTRY_VERIFY_WITH_TIMEOUT(composition(), patience);
        QVERIFY(!composition()->attributes.contains("metric"));
        const auto as = composition()->values;
        form.setNeeds(*findAnalysis("composition"));
        QComboBox* lengths = nullptr;
        for (auto* box : form.findChildren<QComboBox*>())
            if (box->accessibleName() == QLatin1String("Lengths in the residual stream"))
                lengths = box;
        QVERIFY(lengths && lengths->isVisible());
        QVERIFY(lengths->whatsThis().contains(QStringLiteral("covariance")));
        QTest::keyClick(lengths, Qt::Key_Down);
        QCOMPARE(workspace.inputs().metric, ResidualMetric::Embedding);
        workspace.runAnalysis("composition");
        QTRY_VERIFY_WITH_TIMEOUT(composition()->attributes.contains("metric"), patience);
        QVERIFY(composition()->values != as);
        form.setNeeds(*findAnalysis("copying"));
        QVERIFY(!lengths->isVisible());
        QCOMPARE(workspace.inputs().metric, ResidualMetric::Embedding);
    }
};

QTEST_MAIN(AnalysisFormTest)
#include "analysis_form_test.moc"

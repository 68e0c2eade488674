#include "ui/pages/export_dialog.h"

#include "ui/theme.h"
#include "ui/views/heatmap_view.h"

#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace headwise;
using namespace headwise::ui;

class ExportDialogTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeMode::Light);
        m_view.setMatrix(std::make_shared<Eigen::MatrixXf>(Eigen::MatrixXf::Identity(3, 3)));
        m_view.setFigureTitle(QStringLiteral("L1H2 OV"));
    }

    void remembersWhatItWasGiven()
    {
        FigureSettings settings{.format = FigureFormat::Svg, .width = 100, .height = 50, .dpi = 150};
        settings.style.title = false;
        const ExportDialog dialog(&m_view, settings, QStringLiteral("fig"));
        QVERIFY(dialog.settings() == settings);
    }

    void aPresetSetsSizeAndFont()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        QCOMPARE(figurePresets()[0].width, 85.0);
        QCOMPARE(figurePresets()[1].width, 178.0);
        dialog.applyPreset(2);
        QCOMPARE(dialog.settings().width, 254.0);
        QCOMPARE(dialog.settings().height, 142.9);
        QCOMPARE(dialog.settings().style.fontSize, 16.0);
    }

    void theControlsChangeTheSettings()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        const bool title = dialog.settings().style.title;
        for (QCheckBox* box : dialog.findChildren<QCheckBox*>())
            if (box->text() == QStringLiteral("Title"))
                box->click();
        QCOMPARE(dialog.settings().style.title, !title);
    }

    void thePreviewIsTheFigure()
    {
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        dialog.show();
        QVERIFY(QTest::qWaitForWindowExposed(&dialog));
        const auto hasPreview = [&dialog] {
            for (const QLabel* label : dialog.findChildren<QLabel*>()) {
                const QImage image = label->pixmap().toImage();
                for (int y = 0; y < image.height(); ++y)
                    for (int x = 0; x < image.width(); ++x)
                        if (image.pixel(x, y) == colorOf(1, ColorScale{}))
                            return true;
            }
            return false;
        };
        QTRY_VERIFY(hasPreview());
    }

    void writesTheFileOrSaysWhyNot()
    {
        QTemporaryDir directory;
        ExportDialog dialog(&m_view, {}, QStringLiteral("fig"));
        QSignalSpy exported(&dialog, &ExportDialog::exported);
        QVERIFY(!dialog.exportTo(directory.filePath(QStringLiteral("no/such/fig.pdf"))));
        bool said = false;
        for (const QLabel* label : dialog.findChildren<QLabel*>())
            said = said || label->text().contains(QStringLiteral("no/such/fig.pdf"));
        QVERIFY(said);
        QCOMPARE(exported.count(), 0);
        const QString fileName = directory.filePath(QStringLiteral("fig.pdf"));
        QVERIFY(dialog.exportTo(fileName));
        QVERIFY(QFile::exists(fileName));
        QCOMPARE(exported.count(), 1);
    }

private:
    HeatmapView m_view;
};

QTEST_MAIN(ExportDialogTest)
#include "export_dialog_test.moc"

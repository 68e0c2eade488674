// An adapter in the window: with its base open, and without.

#include "tests/support/program.h"
#include "tests/support/toy_adapter.h"
#include "tests/support/window_driver.h"
#include "ui/document/compared_model.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QTemporaryDir>
#include <QUrl>

#include <algorithm>

using namespace headwise;
using namespace headwise::ui;
using test::WindowDriver;

class AdapterWindowTest : public QObject {
    Q_OBJECT

private slots:
    void initTestCase()
    {
        test::beginWithOwnSettings(m_folder);
        const test::ToyModel base = test::writeToyModel(path("base"), test::llamaOptions());
        test::writeAdapter(path("adapter"), test::ToyAdapter{{"model.layers.0.self_attn.q_proj"}}, base);
    }

    void droppedOnItsBaseItIsTheSecondModel()
    {
        WindowDriver driver;
        driver.window.openPath(QString::fromStdString(path("base").string()));
        OpenModel* model = driver.workspace().model();
        QTRY_VERIFY(model->hasModel() && model->circuits());
        QMimeData dropped;
        dropped.setUrls({QUrl::fromLocalFile(QString::fromStdString(path("adapter").string()))});
        QDragEnterEvent enter({10, 10}, Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&driver.window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop({10, 10}, Qt::CopyAction, &dropped, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&driver.window, &drop);
        const ComparedModel* newer = ComparedModel::of(&driver.workspace());
        QTRY_COMPARE(newer->name(), QStringLiteral("base + adapter"));
        QVERIFY(model->results()->find("comparison/qk/relative_change"));
        QCOMPARE(model->card().name, std::string("base"));
    }

    void aloneItAsksForItsBase()
    {
        WindowDriver driver;
        driver.window.show();
        driver.window.openPath(QString::fromStdString(path("adapter").string()));
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        auto* box = driver.window.findChild<QMessageBox*>();
        QCOMPARE(box->icon(), QMessageBox::NoIcon); // the toolkit's is of another style
        QVERIFY2(box->text().contains(QStringLiteral("does not say which model it changes")),
                 qPrintable(box->text()));
        QVERIFY2(!box->text().contains(QStringLiteral("--")), qPrintable(box->text()));
        bool hasButton = false;
        for (const QAbstractButton* button : box->buttons())
            hasButton = hasButton || button->text() == QStringLiteral("Open base…");
        QVERIFY(hasButton);
        ModelSource complete{path("adapter"), std::nullopt, {}};
        complete.base = path("base");
        box->button(QMessageBox::Cancel)->click();
        QVERIFY(!driver.workspace().model()->isOpen());
        driver.workspace().opener()->openModel(complete); // as the button does with its answer
        QTRY_VERIFY(driver.workspace().model()->isOpen());
        QCOMPARE(driver.workspace().model()->card().name, std::string("base + adapter"));
    }

    /// The message names the tensor, and its button leads to the base that fits.
    void onAnotherBaseItAsksForItsOwn()
    {
        WindowDriver driver;
        driver.window.show();
        test::writeToyModel(path("stranger"), test::gpt2Options());
        ModelSource wrong{path("adapter"), std::nullopt, {}};
        wrong.base = path("stranger");
        driver.workspace().opener()->openModel(wrong);
        QTRY_VERIFY(driver.window.findChild<QMessageBox*>());
        auto* box = driver.window.findChild<QMessageBox*>();
        QVERIFY2(
            box->text().contains(QStringLiteral("model.layers.0.self_attn.q_proj.weight', which the base")),
            qPrintable(box->text()));
        QVERIFY2(!box->text().contains(QStringLiteral("--")), qPrintable(box->text()));
        const QList<QAbstractButton*> buttons = box->buttons();
        QVERIFY(std::ranges::any_of(buttons, [](const QAbstractButton* button) {
            return button->text() == QStringLiteral("Open base…");
        }));
        box->button(QMessageBox::Cancel)->click();
        QVERIFY(!driver.workspace().model()->isOpen());
    }

private:
    std::filesystem::path path(const char* name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

    QTemporaryDir m_folder;
};

HEADWISE_TEST(AdapterWindowTest)
#include "adapter_window_test.moc"

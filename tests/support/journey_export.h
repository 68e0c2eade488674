#pragma once

#include "tests/support/delimited_table.h"
#include "tests/support/journey.h"

#include <QClipboard>
#include <QComboBox>
#include <QFile>
#include <QLineEdit>
#include <QMenu>

// Steps through the dialog that exports a figure, and the file it writes.

namespace headwise::test {

/// If Ctrl+E shows a menu, takes its first picture.
inline void takeFirstOfMenu()
{
    auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
    QVERIFY2(menu, "no menu of pictures");
    QTest::keyClick(menu, Qt::Key_Down);
    QTest::keyClick(menu, Qt::Key_Return);
}

inline QByteArray contents(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Types into a list until `words` is current.
inline void choose(QComboBox* list, const QString& words)
{
    list->setFocus();
    QTest::keyClicks(list, words);
    QVERIFY2(list->currentText().startsWith(words), qPrintable(list->currentText()));
}

/// Writes the open dialog's figure to `path`.
inline void exportTo(Journey& journey, const QString& path)
{
    journey.click(QStringLiteral("Export figure"));
    // The dialog restores its suggested name while it reads the folder.
    journey.waitFor(
        [&] {
            auto* name = qobject_cast<QLineEdit*>(QApplication::focusWidget());
            if (name && name->window()->windowTitle() == QStringLiteral("Export figure")
                && name->text() != path) {
                QGuiApplication::clipboard()->setText(path);
                QTest::keyClick(name, Qt::Key_A, Qt::ControlModifier);
                QTest::keyClick(name, Qt::Key_V, Qt::ControlModifier);
                if (name->text() == path)
                    QTest::keyClick(name, Qt::Key_Return);
            }
            return QFile::exists(path) && !QApplication::activeModalWidget();
        },
        path);
    journey.window()->activateWindow(); // as a window manager does
    QVERIFY(QTest::qWaitForWindowActive(journey.window()));
}

/// A CSV with its header.
inline Table readTable(const QString& path)
{
    const auto table = readDelimited(contents(path).toStdString(), Delimiter::Comma);
    return table ? *table : Table{};
}

} // namespace headwise::test

#pragma once

#include <QDialog>
#include <QLabel>
#include <QPushButton>
#include <QTest>

#include <algorithm>

namespace headwise::test {

/// Clicks the button with these words; fails the test if there is none.
inline void press(const QDialog& dialog, const QString& words)
{
    for (QPushButton* button : dialog.findChildren<QPushButton*>())
        if (button->text() == words)
            return button->click();
    QFAIL(qPrintable(words));
}

/// Tells whether a label of the dialog contains these words.
inline bool says(const QDialog& dialog, const QString& words)
{
    return std::ranges::any_of(dialog.findChildren<QLabel*>(),
                               [&words](const QLabel* label) { return label->text().contains(words); });
}

} // namespace headwise::test

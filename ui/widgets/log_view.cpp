#include "ui/widgets/log_view.h"

#include "core/base/log.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QApplication>
#include <QPointer>

namespace headwise::ui {

LogView::LogView(QWidget* parent)
    : QPlainTextEdit(parent)
{
    setReadOnly(true);
    setAccessibleName(tr("Log"));
    setMaximumBlockCount(1000);
    setFont(tokenFont());
    setFrameShape(QFrame::NoFrame);
    // The sink outlives the window; the guarded pointer is only read on the window's own thread.
    logTo([view = QPointer<LogView>(this), app = QPointer<QObject>(qApp)](std::string_view /*level*/,
                                                                          std::string_view line) {
        const QString shown = text(line).trimmed();
        if (app)
            QMetaObject::invokeMethod(
                app,
                [view, shown] {
                    if (view)
                        view->appendPlainText(shown);
                },
                Qt::QueuedConnection);
    });
}

} // namespace headwise::ui

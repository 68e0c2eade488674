#pragma once

#include <QLabel>

#include <algorithm>

namespace headwise::ui {

/// A label that wraps its text and is never lower than the text at its width. A plain QLabel takes one line as its least height, so that
/// a full page would cover the other lines.
class WrappedLabel : public QLabel {
public:
    explicit WrappedLabel(QWidget* parent = nullptr)
        : QLabel(parent)
    {
        setWordWrap(true);
    }

    QSize minimumSizeHint() const override
    {
        const QSize least = QLabel::minimumSizeHint();
        return {least.width(), std::max(least.height(), heightForWidth(width()))};
    }

protected:
    void resizeEvent(QResizeEvent* event) override
    {
        QLabel::resizeEvent(event);
        updateGeometry();
    }
};

} // namespace headwise::ui

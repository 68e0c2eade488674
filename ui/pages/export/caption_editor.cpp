#include "ui/pages/export/caption_editor.h"

#include "ui/base/icons.h"

#include <QClipboard>
#include <QFontMetrics>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalBlocker>

namespace headwise::ui {

namespace {

FigureStyle styleWith(FigureEdits edits)
{
    FigureStyle style;
    style.edits = std::move(edits);
    return style;
}

} // namespace

CaptionEditor::CaptionEditor(const FigureSource* source, const FigureEdits& edits, QWidget* parent)
    : QWidget(parent)
    , m_source(source)
    , m_caption(new QPlainTextEdit(this))
{
    m_caption->setAccessibleName(tr("Caption"));
    m_caption->setToolTip(
        tr("Caption for the paper; it also goes into the file's metadata and into LaTeX tables"));
    m_caption->setTabChangesFocus(true);
    m_caption->setFixedHeight(4 * m_caption->fontMetrics().lineSpacing() + 12);
    auto* buttons = new QVBoxLayout;
    const auto addButton = [&](const QString& words, const auto& pressed) {
        auto* button = new QPushButton(words, this);
        button->setAutoDefault(false);
        connect(button, &QPushButton::clicked, this, pressed);
        buttons->addWidget(button);
        return button;
    };
    const auto copy = [this](const QString& words, const QString& said) {
        QGuiApplication::clipboard()->setText(words);
        emit copied(said);
    };
    addButton(tr("Copy caption"), [this, copy] {
        copy(m_caption->toPlainText(), tr("Copied the caption."));
    })->setIcon(icon("copy"));
    QStringList facts;
    for (const auto& [name, value] : m_source->provenance())
        facts << name + QStringLiteral(": ") + value;
    addButton(tr("Copy provenance"), [copy, lines = facts.join(u'\n')] {
        copy(lines, tr("Copied what is needed to reproduce the figure."));
    })->setIcon(icon("copy"));
    addButton(tr("Automatic caption"), [this] {
        m_caption->selectAll();
        m_caption->insertPlainText(automaticCaption());
    })->setToolTip(tr("Restores the automatic caption; Ctrl+Z brings yours back"));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(12);
    row->addWidget(m_caption, 1);
    row->addLayout(buttons);
    showCaption(edits);
    connect(m_caption, &QPlainTextEdit::textChanged, this, &CaptionEditor::edited);
}

QString CaptionEditor::automaticCaption() const
{
    FigureStyle style = styleWith(m_edits);
    style.edits.caption.clear();
    return figureCaption(*m_source, style);
}

void CaptionEditor::showCaption(const FigureEdits& edits)
{
    m_edits = edits;
    const QString words = figureCaption(*m_source, styleWith(edits));
    if (m_caption->toPlainText() == words)
        return;
    const QSignalBlocker quiet(m_caption);
    m_caption->setPlaceholderText(automaticCaption());
    m_caption->setPlainText(words);
}

std::string CaptionEditor::caption() const
{
    const QString words = m_caption->toPlainText().trimmed();
    return words == automaticCaption() ? std::string() : words.toStdString();
}

} // namespace headwise::ui

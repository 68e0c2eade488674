// The words of the figure and the presets in the export dialog.

#include "ui/base/icons.h"
#include "ui/pages/export/edits_editor.h"
#include "ui/pages/export/export_dialog.h"
#include "ui/pages/export/preset_menu.h"

#include <QClipboard>
#include <QComboBox>
#include <QFontMetrics>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSignalBlocker>

namespace headwise::ui {

QWidget* ExportDialog::createCaption()
{
    auto* box = new QWidget(this);
    m_caption = new QPlainTextEdit(box);
    m_caption->setAccessibleName(tr("Caption"));
    m_caption->setToolTip(
        tr("Caption for the paper; it also goes into the file's metadata and into LaTeX tables"));
    m_caption->setTabChangesFocus(true);
    m_caption->setFixedHeight(4 * m_caption->fontMetrics().lineSpacing() + 12);
    auto* buttons = new QVBoxLayout;
    const auto addButton = [&](const QString& words, const auto& pressed) {
        auto* button = new QPushButton(words, box);
        button->setAutoDefault(false);
        connect(button, &QPushButton::clicked, this, pressed);
        buttons->addWidget(button);
        return button;
    };
    const auto copy = [this](const QString& words, const QString& said) {
        QGuiApplication::clipboard()->setText(words);
        say(said, false);
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
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(12);
    row->addWidget(m_caption, 1);
    row->addLayout(buttons);
    showCaption();
    return box;
}

QString ExportDialog::automaticCaption() const
{
    FigureStyle automatic = m_settings.style;
    automatic.edits.caption.clear();
    return figureCaption(*m_source, automatic);
}

void ExportDialog::showCaption()
{
    const QString words = figureCaption(*m_source, m_settings.style);
    if (m_caption->toPlainText() == words)
        return;
    const QSignalBlocker quiet(m_caption);
    m_caption->setPlaceholderText(automaticCaption());
    m_caption->setPlainText(words);
}

void ExportDialog::readCaption()
{
    const QString words = m_caption->toPlainText().trimmed();
    m_settings.style.edits.caption = words == automaticCaption() ? std::string() : words.toStdString();
    noteChange();
}

void ExportDialog::readEdits()
{
    const std::string caption = m_settings.style.edits.caption;
    m_settings.style.edits = m_edits->edits();
    m_settings.style.edits.caption = caption;
    showCaption();
    m_previewTimer.start();
    noteChange();
}

void ExportDialog::fillPresets()
{
    m_preset->clear();
    for (const QString& name : m_presets.names())
        m_preset->addItem(
            tr("%1, %2 mm").arg(FigurePresets::titleOf(name)).arg(m_presets.settingsOf(name, {}).width));
    m_preset->addItem(tr("Custom"));
}

void ExportDialog::setPresets(const FigurePresets& presets)
{
    m_presets = presets;
    m_presetName = m_presets.nameFor(remembered(), m_presets.current());
    fillPresets();
    m_isRestoring = true; // Nothing to take back.
    readControls();
    m_isRestoring = false;
    m_shown = state();
}

FigurePresets ExportDialog::presets() const
{
    FigurePresets kept = m_presets;
    kept.remember(m_presetName, remembered());
    return kept;
}

} // namespace headwise::ui

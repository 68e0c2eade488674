#include "ui/pages/export/edits_editor.h"

#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QCheckBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPushButton>
#include <QSet>
#include <QSignalBlocker>

#include <algorithm>
#include <utility>

namespace headwise::ui {

namespace {

/// Replaces the words so that Undo brings the old ones back.
void replaceWords(QLineEdit* edit, const QString& words)
{
    edit->selectAll();
    edit->insert(words);
}

std::string changedWords(const QLineEdit* edit, const QString& automatic)
{
    const QString words = edit->text().trimmed();
    return words == automatic ? std::string() : words.toStdString();
}

} // namespace

EditsEditor::EditsEditor(const FigureSource& source, const FigureEdits& edits, QWidget* parent)
    : QWidget(parent)
    , m_automaticTitle(source.figureTitle())
    , m_parts(source.parts())
    , m_title(new QLineEdit(this))
    , m_valueTitle(new QLineEdit(this))
    , m_series(new QListWidget(this))
    , m_labels(new QLineEdit(this))
    , m_unknown(new QLabel(this))
    , m_selection(new QCheckBox(tr("Mark the selection"), this))
{
    auto* form = new QFormLayout(this);
    form->setHorizontalSpacing(12);
    form->setVerticalSpacing(8);
    addWords(form);
    addSeries(form);
    addPoints(form);
    m_selection->setToolTip(tr("Draws the ring around the selected cell, point or head as in the window"));
    form->addRow(QString(), m_selection);
    form->setRowVisible(m_selection, m_parts.hasSelection);
    setEdits(edits);
    for (QLineEdit* words : {m_title, m_valueTitle, m_labels})
        connect(words, &QLineEdit::textChanged, this, &EditsEditor::edited);
    connect(m_selection, &QCheckBox::toggled, this, &EditsEditor::edited);
    connect(m_series, &QListWidget::itemChanged, this, &EditsEditor::edited);
    // A drag takes the row out and puts it in; the list is whole afterwards.
    connect(m_series->model(), &QAbstractItemModel::rowsMoved, this, &EditsEditor::edited,
            Qt::QueuedConnection);
    connect(m_series->model(), &QAbstractItemModel::rowsRemoved, this, &EditsEditor::edited,
            Qt::QueuedConnection);
}

void EditsEditor::addWords(QFormLayout* form)
{
    m_title->setPlaceholderText(m_automaticTitle);
    m_title->setAccessibleName(tr("Title of the figure"));
    m_title->setToolTip(tr("W_V is set with a subscript, and T^{pp} with a superscript"));
    m_valueTitle->setPlaceholderText(m_parts.valueTitle);
    m_valueTitle->setAccessibleName(tr("Label of the colour bar"));
    m_valueTitle->setToolTip(tr("Name and unit of the numbers, beside the colour bar"));
    auto* reset = new QPushButton(tr("Automatic words"), this);
    reset->setAutoDefault(false);
    reset->setToolTip(tr("Restores the automatic title and label; Ctrl+Z brings yours back"));
    connect(reset, &QPushButton::clicked, this, &EditsEditor::setAutomatic);
    form->addRow(tr("Title"), m_title);
    form->addRow(tr("Bar label"), m_valueTitle);
    form->setRowVisible(m_valueTitle, !m_parts.valueTitle.isEmpty());
    form->addRow(QString(), reset);
}

void EditsEditor::setEdits(const FigureEdits& edits)
{
    const QSignalBlocker quiet(this);
    const auto show = [](QLineEdit* field, const QString& words) {
        if (field->text() == words)
            return; // The cursor stays.
        field->setText(words);
        field->setCursorPosition(0);
    };
    show(m_title, edits.title.empty() ? m_automaticTitle : text(edits.title));
    show(m_valueTitle, edits.valueTitle.empty() ? m_parts.valueTitle : text(edits.valueTitle));
    QStringList labels;
    for (const std::string& label : edits.labels)
        labels << text(label);
    if (labels != chosenLabels())
        show(m_labels, labels.join(QStringLiteral("; ")));
    m_selection->setChecked(edits.selection);
    showSeries(edits);
}

void EditsEditor::showSeries(const FigureEdits& edits)
{
    QStringList order;
    QSet<QString> hidden;
    for (const FigureSeriesChoice& choice : edits.series) {
        const QString name = text(choice.name);
        if (m_parts.series.contains(name))
            order << name;
        if (!choice.shown)
            hidden.insert(name);
    }
    for (const QString& name : std::as_const(m_parts.series))
        if (!order.contains(name))
            order << name;
    const int current = m_series->currentRow();
    m_series->clear();
    for (const QString& name : std::as_const(order)) {
        auto* item = new QListWidgetItem(name, m_series);
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable
                       | Qt::ItemIsDragEnabled);
        item->setCheckState(hidden.contains(name) ? Qt::Unchecked : Qt::Checked);
    }
    m_series->setCurrentRow(current);
}

void EditsEditor::addSeries(QFormLayout* form)
{
    m_series->setDragDropMode(QAbstractItemView::InternalMove);
    m_series->setAccessibleName(tr("Series of the figure"));
    m_series->setToolTip(
        tr("Untick a series to hide it, drag it to change the order; the exported numbers keep all"));
    auto* field = new QWidget(this);
    auto* row = new QHBoxLayout(field);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(m_series, 1);
    auto* steps = new QVBoxLayout;
    for (const auto& [words, rows] : {std::pair(tr("Move up"), -1), std::pair(tr("Move down"), 1)}) {
        auto* button = new QPushButton(words, field);
        button->setAutoDefault(false);
        connect(button, &QPushButton::clicked, this, [this, by = rows] { moveSeries(by); });
        steps->addWidget(button);
    }
    steps->addStretch();
    row->addLayout(steps);
    form->addRow(tr("Series"), field);
    form->setRowVisible(field, m_parts.series.size() > 1);
}

void EditsEditor::addPoints(QFormLayout* form)
{
    m_labels->setAccessibleName(tr("Points to label"));
    m_labels->setPlaceholderText(tr("As in the window"));
    m_labels->setToolTip(tr("Names of points, with a semicolon between them"));
    m_unknown->setWordWrap(true);
    m_unknown->setTextFormat(Qt::PlainText);
    makeSecondary(m_unknown);
    m_unknown->hide();
    connect(m_labels, &QLineEdit::textChanged, this, &EditsEditor::checkLabels);
    form->addRow(tr("Point labels"), m_labels);
    form->setRowVisible(m_labels, !m_parts.points.isEmpty());
    form->addRow(QString(), m_unknown);
}

QStringList EditsEditor::chosenLabels() const
{
    QStringList labels;
    for (const QString& label : m_labels->text().split(u';'))
        if (const QString name = label.trimmed(); !name.isEmpty())
            labels << name;
    return labels;
}

void EditsEditor::checkLabels()
{
    QStringList unknown;
    for (const QString& label : chosenLabels())
        if (!m_parts.points.contains(label))
            unknown << label;
    m_unknown->setText(tr("No point is called %1.").arg(unknown.join(QStringLiteral("; "))));
    m_unknown->setVisible(!unknown.isEmpty() && !m_parts.points.isEmpty());
}

FigureEdits EditsEditor::edits() const
{
    FigureEdits edits{.title = changedWords(m_title, m_automaticTitle),
                      .valueTitle = changedWords(m_valueTitle, m_parts.valueTitle),
                      .selection = m_selection->isChecked()};
    QStringList order;
    for (int i = 0; i < m_series->count(); ++i) {
        const QListWidgetItem* item = m_series->item(i);
        order << item->text();
        edits.series.push_back({item->text().toStdString(), item->checkState() == Qt::Checked});
    }
    const bool areAllShown = std::ranges::all_of(edits.series, &FigureSeriesChoice::shown);
    if (areAllShown && order == m_parts.series)
        edits.series.clear();
    for (const QString& label : chosenLabels())
        if (m_parts.points.contains(label))
            edits.labels.push_back(label.toStdString());
    return edits;
}

void EditsEditor::setAutomatic()
{
    replaceWords(m_title, m_automaticTitle);
    replaceWords(m_valueTitle, m_parts.valueTitle);
}

void EditsEditor::moveSeries(int rows)
{
    const int from = m_series->currentRow(), to = from + rows;
    if (from < 0 || to < 0 || to >= m_series->count())
        return;
    QListWidgetItem* moved = m_series->takeItem(from);
    m_series->insertItem(to, moved);
    m_series->setCurrentRow(to);
    emit edited();
}

} // namespace headwise::ui

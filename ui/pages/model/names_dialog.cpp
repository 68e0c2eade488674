#include "ui/pages/model/names_dialog.h"

#include "core/files/file_write.h"
#include "core/model/names/names_library.h"
#include "core/model/names/names_proposal.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QComboBox>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QTableWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <span>

namespace headwise::ui {

namespace {

enum NamesColumn { TensorsColumn, ShapeColumn, PartColumn, AxesColumn, NamesColumnCount };

constexpr QLatin1String notAWeight("-"), unknownPart("?");

/// The roles of a row as one text: "blocks.{layer}.attn.W_Q + blocks.{layer}.attn.W_K".
QString rolesText(const QJsonValue& is)
{
    QStringList names;
    for (const QJsonValue& name : is.isArray() ? is.toArray() : QJsonArray{is})
        names << name.toString();
    return names.join(QStringLiteral(" + "));
}

QJsonValue rolesValue(const QString& joined)
{
    const QStringList names = joined.split(QStringLiteral(" + "));
    return names.size() == 1 ? QJsonValue(names.front()) : QJsonValue(QJsonArray::fromStringList(names));
}

/// Returns the first tensor that a pattern is about; null if there is none.
const StoredTensor* firstOf(const WeightMap& file, const QString& pattern)
{
    const std::string name = pattern.toStdString();
    const auto found =
        std::find_if(file.tensors().begin(), file.tensors().end(),
                     [&](const StoredTensor& tensor) { return matchName(name, tensor.name).has_value(); });
    return found == file.tensors().end() ? nullptr : &*found;
}

/// Returns the pattern as --ignore takes it, with * for the numbers.
QString ignoredPattern(QString pattern)
{
    return pattern.replace(QStringLiteral("{layer}"), QStringLiteral("*"))
        .replace(QStringLiteral("{head}"), QStringLiteral("*"));
}

} // namespace

NamesDialog::NamesDialog(const ModelSource& source, std::shared_ptr<const WeightMap> file, QWidget* parent)
    : QDialog(parent)
    , m_source(source)
    , m_file(std::move(file))
    , m_table(new QTableWidget(0, NamesColumnCount, this))
    , m_state(new QLabel(this))
    , m_save(new QPushButton(tr("&Save and open"), this))
{
    setWindowTitle(tr("Describe %1").arg(text(source.path.filename().string())));
    resize(900, 640);
    m_proposal = QJsonDocument::fromJson(QByteArray::fromStdString(proposeNames(*m_file).map)).object();
    m_table->setHorizontalHeaderLabels({tr("Tensors"), tr("Shape"), tr("Part"), tr("Axes")});
    m_table->setAccessibleName(tr("Tensors and their parts of the transformer"));
    m_table->setShowGrid(false);
    m_table->verticalHeader()->hide();
    m_table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    for (const QJsonValue& row : m_proposal[QLatin1String("tensors")].toArray())
        addRow(row.toObject());
    m_table->resizeColumnsToContents();
    m_table->horizontalHeader()->setStretchLastSection(true);
    m_state->setWordWrap(true);
    m_state->setTextFormat(Qt::PlainText);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_save->setDefault(true);
    buttons->addButton(m_save, QDialogButtonBox::ActionRole);
    connect(m_save, &QPushButton::clicked, this, &NamesDialog::save);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(12);
    layout->addWidget(m_table);
    layout->addWidget(m_state);
    layout->addWidget(buttons);
    showState();
}

void NamesDialog::addRow(const QJsonObject& row)
{
    const QString name = row[QLatin1String("name")].toString();
    const QString roles = rolesText(row[QLatin1String("is")]);
    const StoredTensor* first = firstOf(*m_file, name);
    const int at = m_table->rowCount();
    m_table->insertRow(at);
    const QStringList words{name, first ? text(shapeText(first->shape)) : QString()};
    for (int column = 0; column < words.size(); ++column) {
        auto* item = new QTableWidgetItem(words[column]);
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
        item->setToolTip(row[QLatin1String("comment")].toString());
        m_table->setItem(at, column, item);
    }
    auto* part = new QComboBox(m_table);
    part->setAccessibleName(tr("Part of %1").arg(name));
    part->addItem(tr("Choose…"), QString(unknownPart));
    part->addItem(tr("Not a weight"), QString(notAWeight));
    for (const NamedRole& role : namedRoles())
        part->addItem(text(role.name), text(role.name));
    if (part->findData(roles) < 0)
        part->addItem(roles, roles); // several parts in one tensor
    part->setCurrentIndex(part->findData(roles));
    auto* axes = new QComboBox(m_table);
    axes->setAccessibleName(tr("Axes of %1").arg(name));
    axes->setEditable(true);
    axes->addItems({QString(), QStringLiteral("transposed"), QStringLiteral("heads, d_model, d_head"),
                    QStringLiteral("heads, d_head, d_model"), QStringLiteral("d_model, heads, d_head"),
                    QStringLiteral("heads*parts*d_head, d_model")});
    axes->setCurrentText(row[QLatin1String("axes")].toString());
    m_table->setCellWidget(at, PartColumn, part);
    m_table->setCellWidget(at, AxesColumn, axes);
    m_parts << part;
    m_axes << axes;
    connect(part, &QComboBox::currentIndexChanged, this, &NamesDialog::showState);
    connect(axes, &QComboBox::currentTextChanged, this, &NamesDialog::showState);
}

std::string NamesDialog::map() const
{
    QJsonObject map = m_proposal;
    QJsonArray rows, ignored = map[QLatin1String("ignore")].toArray();
    for (int at = 0; at < m_parts.size(); ++at) {
        const QString name = m_table->item(at, TensorsColumn)->text();
        const QString roles = m_parts[at]->currentData().toString();
        if (roles == notAWeight) {
            ignored.append(ignoredPattern(name));
            continue;
        }
        QJsonObject row{{QStringLiteral("name"), name}, {QStringLiteral("is"), rolesValue(roles)}};
        if (const QString axes = m_axes[at]->currentText().trimmed(); !axes.isEmpty())
            row[QLatin1String("axes")] = axes;
        rows.append(row);
    }
    map[QLatin1String("tensors")] = rows;
    map[QLatin1String("ignore")] = ignored;
    return QJsonDocument(map).toJson().toStdString();
}

QString NamesDialog::doubts() const
{
    constexpr int shown = 4;
    const QJsonArray proposed = m_proposal[QLatin1String("tensors")].toArray();
    QStringList list;
    for (int at = 0; at < m_parts.size(); ++at) {
        const QJsonObject row = proposed[at].toObject();
        const QString doubt = row[QLatin1String("comment")].toString(),
                      part = m_parts[at]->currentData().toString();
        const bool isAsProposed = part == rolesText(row[QLatin1String("is")])
            && m_axes[at]->currentText() == row[QLatin1String("axes")].toString();
        if (!doubt.isEmpty() && isAsProposed && part != unknownPart)
            list << row[QLatin1String("name")].toString() + u' ' + doubt;
    }
    const qsizetype more = list.size() - shown;
    const QString text = list.mid(0, shown).join(QStringLiteral("; "));
    return more > 0 ? tr("%1; and %2 more").arg(text).arg(more) : text;
}

void NamesDialog::showState()
{
    const Result<Done> reads = tryNamesMap(map(), tr("this description").toStdString(), *m_file);
    const QString problem = reads ? QString() : text(reads.error());
    QStringList open; // rows without a part
    for (int at = 0; at < m_parts.size(); ++at)
        if (m_parts[at]->currentData().toString() == unknownPart)
            open << m_table->item(at, TensorsColumn)->text();
    m_state->setText(
        reads ? tr("Every tensor has its part. If a size is still unknown, the next dialog asks for it.")
            : open.isEmpty()
            ? problem
            : tr("Choose a part for %1, or “Not a weight”.").arg(open.join(QStringLiteral(", "))));
    if (const QString guesses = doubts(); reads && !guesses.isEmpty())
        m_state->setText(m_state->text() + u'\n' + tr("Guesses to check: %1.").arg(guesses));
    m_save->setEnabled(reads.has_value());
    const ThemeColors& colors = themeColors(palette());
    for (int at = 0; at < m_parts.size(); ++at) {
        QTableWidgetItem* item = m_table->item(at, TensorsColumn);
        const StoredTensor* first = firstOf(*m_file, item->text());
        const bool isNamed = problem.contains(u'\'' + item->text() + u'\'')
            || (first && problem.contains(u'\'' + text(first->name) + u'\''));
        item->setForeground(open.contains(item->text()) ? colors.warning
                                : isNamed               ? colors.bad
                                                        : colors.good);
    }
}

void NamesDialog::save()
{
    const std::string json = map();
    const std::span<const char> bytes(json.data(), json.size());
    std::error_code code;
    const bool isFolder = std::filesystem::is_directory(m_source.path, code);
    const std::filesystem::path beside =
        (isFolder ? m_source.path : m_source.path.parent_path()) / namesFileName;
    Result<Done> written = replaceFile(beside, bytes);
    if (const std::filesystem::path own = userNamesFile(*m_file); !written && !own.empty()) {
        std::filesystem::create_directories(own.parent_path(), code); // the writing says if that failed
        written = replaceFile(own, bytes);
    }
    if (written)
        accept();
    else
        m_state->setText(text(written.error()));
}

} // namespace headwise::ui

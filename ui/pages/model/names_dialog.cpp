#include "ui/pages/model/names_dialog.h"

#include "core/files/file_write.h"
#include "core/model/names/names_library.h"
#include "core/model/names/names_proposal.h"
#include "ui/base/text.h"
#include "ui/pages/model/names_choice.h"
#include "ui/pages/model/names_table.h"
#include "ui/pages/model/names_tree.h"
#include "ui/pages/model/names_trial.h"

#include <QDialogButtonBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QJsonArray>
#include <QJsonDocument>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSplitter>
#include <QVBoxLayout>

#include <algorithm>
#include <span>

namespace headwise::ui {

namespace {

/// Returns the pattern as --ignore takes it, with * for the numbers.
QString ignoredPattern(QString pattern)
{
    return pattern.replace(QStringLiteral("{layer}"), QStringLiteral("*"))
        .replace(QStringLiteral("{head}"), QStringLiteral("*"));
}

QJsonValue rolesValue(const QString& joined)
{
    const QStringList names = rolesIn(joined);
    return names.size() > 1 ? QJsonValue(QJsonArray::fromStringList(names)) : QJsonValue(joined);
}

/// Reads "n_heads=12, act_fn=gelu_new" into the keys of a map's facts.
QJsonObject factsIn(const QString& words)
{
    QJsonObject facts;
    for (const QString& word : words.split(u',', Qt::SkipEmptyParts)) {
        const QString key = word.section(u'=', 0, 0).trimmed(), value = word.section(u'=', 1).trimmed();
        // Numbers, true, false and null are as in JSON, everything else is text.
        const QJsonValue read = QJsonDocument::fromJson("[" + value.toUtf8() + "]")[0];
        facts[key] = read.isUndefined() || read.isObject() || read.isArray() ? QJsonValue(value) : read;
    }
    return facts;
}

QString factsText(const QJsonObject& facts)
{
    QStringList list;
    for (auto fact = facts.begin(); fact != facts.end(); ++fact)
        list << fact.key() + u'=' + (fact->isNull() ? QStringLiteral("null") : fact->toVariant().toString());
    return list.join(QStringLiteral(", "));
}

} // namespace

NamesDialog::NamesDialog(const ModelSource& source, std::shared_ptr<const WeightMap> file, QWidget* parent)
    : QDialog(parent)
    , m_source(source)
    , m_file(std::move(file))
    , m_tree(new NamesTree(this))
    , m_table(new NamesTable(m_file, this))
    , m_choice(new NamesChoice(this))
    , m_facts(new QLineEdit(this))
    , m_trial(new NamesTrial(source, this))
    , m_state(new QLabel(this))
    , m_save(new QPushButton(tr("&Save and open"), this))
{
    setWindowTitle(tr("Describe %1").arg(text(source.path.filename().string())));
    resize(1200, 760);
    m_proposal = QJsonDocument::fromJson(QByteArray::fromStdString(proposeNames(*m_file).map)).object();
    for (const QJsonValue row : m_proposal[QLatin1String("tensors")].toArray())
        m_table->addRow(row.toObject());
    m_table->resizeColumnsToContents();
    m_state->setWordWrap(true);
    m_state->setTextFormat(Qt::PlainText);
    auto* sides = new QSplitter(this);
    sides->setChildrenCollapsible(false);
    sides->addWidget(m_tree);
    sides->addWidget(m_table);
    sides->setSizes({360, 840});
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
    m_save->setDefault(true);
    buttons->addButton(m_save, QDialogButtonBox::ActionRole);
    connect(m_save, &QPushButton::clicked, this, &NamesDialog::save);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(m_table, &NamesTable::changed, this, &NamesDialog::showState);
    connect(m_choice, &NamesChoice::answered, this, &NamesDialog::take);
    linkSelections();
    auto* layout = new QVBoxLayout(this);
    layout->setSpacing(12);
    layout->addWidget(sides, 1);
    layout->addWidget(m_choice);
    layout->addLayout(createFacts());
    layout->addWidget(m_state);
    layout->addWidget(m_trial);
    layout->addWidget(buttons);
    showState();
}

QHBoxLayout* NamesDialog::createFacts()
{
    m_facts->setAccessibleName(tr("Facts that the tensors do not show"));
    m_facts->setPlaceholderText(tr("Assumed: %1. Type KEY=VALUE to change them.")
                                    .arg(factsText(m_proposal[QLatin1String("assumed")].toObject())));
    m_facts->setToolTip(tr("Config keys that the tensors do not show, such as n_heads=12, act_fn=gelu_new."));
    connect(m_facts, &QLineEdit::textChanged, this, &NamesDialog::showState);
    auto* label = new QLabel(tr("&Facts"), this);
    label->setBuddy(m_facts);
    auto* line = new QHBoxLayout;
    line->addWidget(label);
    line->addWidget(m_facts, 1);
    return line;
}

void NamesDialog::linkSelections()
{
    connect(m_tree, &NamesTree::rolesChosen, this, [this](const QStringList& roles) {
        QList<int> rows;
        for (int row = 0; row < m_table->rowCount(); ++row)
            if (const QStringList own = rolesIn(m_table->roles(row));
                std::ranges::any_of(own, [&roles](const QString& role) { return roles.contains(role); }))
                rows << row;
        const QSignalBlocker blocker(m_table); // the table would narrow the tree's selection
        m_table->selectRows(rows);
        ask();
    });
    connect(m_table, &QTableWidget::itemSelectionChanged, this, [this] {
        QStringList roles;
        for (const int row : m_table->selectedRows())
            roles += rolesIn(m_table->roles(row));
        m_tree->selectRoles(roles);
        ask();
    });
    for (int row = 0; row < m_table->rowCount(); ++row)
        if (!m_table->doubt(row).isEmpty())
            return m_table->selectRows({row}); // begins with a question
}

void NamesDialog::ask()
{
    const QList<int> rows = m_table->selectedRows();
    const StoredTensor* tensor = rows.isEmpty() ? nullptr : m_table->first(rows.front());
    if (!tensor)
        return m_choice->ask({}, {}, -1);
    const int row = rows.front();
    const QString roles = m_table->roles(row), axes = m_table->axes(row);
    const NamesQuestion question = questionOf(roles, axes, tensor->shape);
    const bool normsTheSum = facts().contains(QLatin1String("norm_placement"));
    int current = -1;
    for (int at = 0; at < question.answers.size(); ++at) {
        const NamesAnswer& answer = question.answers[at];
        if (answer.roles == roles && answer.axes == axes
            && answer.normsTheSum.value_or(normsTheSum) == normsTheSum)
            current = at;
    }
    m_choice->ask(m_table->tensors(row), question, current);
}

void NamesDialog::take(const NamesAnswer& answer)
{
    const QList<int> rows = m_table->selectedRows();
    if (rows.isEmpty())
        return;
    const QString before = m_table->roles(rows.front());
    if (answer.normsTheSum)
        m_normsTheSum = answer.normsTheSum;
    m_table->answer(rows.front(), answer.roles, answer.axes);
    // A norm's weight and bias have one place.
    const QString stem = before.section(u'.', 0, -2) + u'.',
                  newStem = answer.roles.section(u'.', 0, -2) + u'.';
    if (before.startsWith(QLatin1String("blocks.{layer}.ln")))
        for (int row = 0; row < m_table->rowCount(); ++row)
            if (const QString role = m_table->roles(row); role.startsWith(stem))
                m_table->answer(row, newStem + role.sliced(stem.size()), m_table->axes(row));
    showState();
    ask();
}

QJsonObject NamesDialog::facts() const
{
    QJsonObject facts = factsIn(m_facts->text());
    bool isBefore = false, isBehind = false;
    for (int row = 0; row < m_table->rowCount(); ++row)
        if (const QString role = m_table->roles(row); role.startsWith(QLatin1String("blocks.{layer}.ln"))) {
            const bool isPost = role.contains(QLatin1String("_post."));
            isBehind = isBehind || isPost;
            isBefore = isBefore || !isPost;
        }
    const QString sum = QStringLiteral("norm_placement"),
                  output = QStringLiteral("use_normalization_before_and_after");
    if (!isBehind || facts.contains(sum) || facts.contains(output))
        return facts;
    if (m_normsTheSum.value_or(!isBefore))
        facts[sum] = isBefore ? QStringLiteral("both") : QStringLiteral("post");
    else
        facts[output] = true;
    return facts;
}

std::string NamesDialog::map() const
{
    QJsonObject map = m_proposal;
    QJsonArray rows, ignored = map[QLatin1String("ignore")].toArray();
    for (int at = 0; at < m_table->rowCount(); ++at) {
        const QString name = m_table->tensors(at), roles = m_table->roles(at), axes = m_table->axes(at);
        if (roles == notAWeight) {
            ignored.append(ignoredPattern(name));
            continue;
        }
        QJsonObject row{{QStringLiteral("name"), name}, {QStringLiteral("is"), rolesValue(roles)}};
        if (!axes.isEmpty())
            row[QLatin1String("axes")] = axes;
        rows.append(row);
    }
    map[QLatin1String("tensors")] = rows;
    map[QLatin1String("ignore")] = ignored;
    if (const QJsonObject told = facts(); !told.isEmpty())
        map[QLatin1String("facts")] = told;
    return QJsonDocument(map).toJson().toStdString();
}

QString NamesDialog::doubts() const
{
    constexpr int shown = 4;
    QStringList list;
    for (int at = 0; at < m_table->rowCount(); ++at)
        if (const QString doubt = m_table->doubt(at); !doubt.isEmpty())
            list << m_table->tensors(at) + u' ' + doubt;
    const qsizetype more = list.size() - shown;
    const QString text = list.mid(0, shown).join(QStringLiteral("; "));
    return more > 0 ? tr("%1; and %2 more").arg(text).arg(more) : text;
}

void NamesDialog::showState()
{
    const std::string json = map();
    const Result<NamedModel> reads = tryNamesMap(json, tr("this description").toStdString(), *m_file);
    const QString problem = reads ? QString() : text(reads.error());
    markRows(problem);
    QStringList lines, unknown;
    if (!reads) {
        lines = todo();
        if (lines.isEmpty())
            lines << problem;
        m_trial->setDescription(json, lines.front());
    } else {
        for (const std::string& key : reads->unknown)
            unknown << text(key);
        const QString untold = unknown.isEmpty()
            ? QString()
            : tr("The tensors do not show %1; add it to the facts, or the next dialog asks for it.")
                  .arg(unknown.join(QStringLiteral(", ")));
        lines << tr("Every tensor has its part.") + (untold.isEmpty() ? untold : u' ' + untold);
        if (const QString guesses = doubts(); !guesses.isEmpty())
            lines << tr("Guesses to check: %1.").arg(guesses);
        m_trial->setDescription(json, untold);
    }
    m_state->setText(lines.join(u'\n'));
    m_save->setEnabled(reads.has_value());
}

QStringList NamesDialog::todo() const
{
    QStringList open; // rows without a part
    for (int at = 0; at < m_table->rowCount(); ++at)
        if (m_table->roles(at) == unknownPart)
            open << m_table->tensors(at);
    QStringList lines;
    if (!open.isEmpty())
        lines << tr("Choose a part for %1, or “Not a weight”.").arg(open.join(QStringLiteral(", ")));
    if (const QStringList missing = m_tree->missing(); !missing.isEmpty())
        lines << tr("Missing: %1. Assign tensors to these parts.").arg(missing.join(QStringLiteral(", ")));
    return lines;
}

void NamesDialog::markRows(const QString& problem)
{
    QList<GivenRoles> given;
    for (int at = 0; at < m_table->rowCount(); ++at) {
        const QString name = m_table->tensors(at);
        const StoredTensor* first = m_table->first(at);
        const bool isNamed = problem.contains(u'\'' + name + u'\'')
            || (first && problem.contains(u'\'' + text(first->name) + u'\''));
        const bool isOpen = m_table->roles(at) == unknownPart;
        m_table->mark(at,
                      isOpen        ? NamesTable::Mark::Open
                          : isNamed ? NamesTable::Mark::Contradicts
                                    : NamesTable::Mark::Fits);
        given.append({name, rolesIn(m_table->roles(at)), !isNamed});
    }
    m_tree->setGiven(given);
}

void NamesDialog::changeEvent(QEvent* event)
{
    QDialog::changeEvent(event);
    if (event->type() == QEvent::StyleChange)
        m_table->resizeColumnsToContents(); // the window's style pads the titles
    if (event->type() == QEvent::PaletteChange && m_save)
        showState();
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

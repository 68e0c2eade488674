#include "ui/pages/model/names_question.h"

#include "core/model/names/names_map.h"
#include "ui/base/text.h"
#include "ui/pages/model/names_dialog.h"
#include "ui/pages/model/names_table.h"

#include <algorithm>

namespace headwise::ui {

namespace {

const NamedRole* roleOf(const QString& name)
{
    const auto all = namedRoles();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const NamedRole& role) { return text(role.name) == name; });
    return found == all.end() ? nullptr : &*found;
}

/// "blocks.{layer}.attn.W_Q" → "Q"
QString letterOf(const QString& role)
{
    return role.section(u'_', -1);
}

NamesQuestion normQuestion(const QString& role, const QString& axes)
{
    const QString layer = QStringLiteral("blocks.{layer}.");
    const QString name = role.sliced(layer.size()); // "ln1_post.w"
    const QString start = layer + name.left(3), end = u'.' + name.section(u'.', -1);
    const QString behind = start + QStringLiteral("_post") + end;
    const QString part =
        name.startsWith(QLatin1String("ln1")) ? NamesDialog::tr("attention") : NamesDialog::tr("MLP");
    using enum AnswerPicture::Kind;
    return {NamesDialog::tr("Where is the norm?"),
            {{NamesDialog::tr("before %1").arg(part), start + end, axes, {NormBefore, part, {}}, {}},
             {NamesDialog::tr("on its output"), behind, axes, {NormOnOutput, part, {}}, false},
             {NamesDialog::tr("after the addition"), behind, axes, {NormAfter, part, {}}, true}}};
}

/// Several parts in one tensor: side by side in each order, or one head's parts after the other's.
class FusedQuestion {
public:
    FusedQuestion(const QStringList& roles, const QString& axes, const std::vector<std::int64_t>& shape)
        : m_roles(roles)
        , m_role(*roleOf(roles.front()))
        , m_isVector(m_role.rows == SizeKind::One)
        , m_areColumns(!m_isVector && shape[0] < shape[1])
        , m_isByHead(axes.contains(QLatin1String("heads*parts")))
    {
    }

    NamesQuestion question() const
    {
        NamesQuestion question{NamesDialog::tr("In which order are the parts?")};
        question.answers << answer(m_roles, m_isByHead);
        if (m_role.heads != SizeKind::One)
            question.answers << answer(m_roles, !m_isByHead);
        QStringList order = m_roles;
        std::sort(order.begin(), order.end());
        do {
            if (order != m_roles)
                question.answers << answer(order, m_isByHead);
        } while (std::next_permutation(order.begin(), order.end()));
        return question;
    }

private:
    NamesAnswer answer(const QStringList& roles, bool isByHead) const
    {
        constexpr int headsShown = 3;
        QStringList letters, bands;
        for (const QString& role : roles)
            letters << letterOf(role);
        for (int head = 0; head < (isByHead ? headsShown : 1); ++head)
            bands += letters;
        const QString order = letters.join(QStringLiteral(", "));
        const QString side = m_role.heads == SizeKind::One ? text(sizeName(m_role.cols))
                                                           : QStringLiteral("heads · d_head"),
                      model = m_isVector ? QString() : QStringLiteral("d_model");
        return {isByHead ? NamesDialog::tr("%1 of each head").arg(order)
                         : NamesDialog::tr("all %1").arg(order),
                roles.join(QStringLiteral(" + ")),
                axes(isByHead),
                {AnswerPicture::Kind::Matrix, m_areColumns ? model : side, m_areColumns ? side : model, bands,
                 m_areColumns},
                {}};
    }

    QString axes(bool isByHead) const
    {
        if (!isByHead)
            return m_areColumns ? QStringLiteral("transposed") : QString();
        const QString places = QStringLiteral("heads*parts*d_head");
        return m_isVector  ? places
            : m_areColumns ? QStringLiteral("d_model, ") + places
                           : places + QStringLiteral(", d_model");
    }

    QStringList m_roles;
    const NamedRole& m_role;
    bool m_isVector, m_areColumns, m_isByHead;
};

/// A square matrix: which axis is which.
NamesQuestion squareQuestion(const QString& name, const NamedRole& role)
{
    const QString usual = text(role.usual).replace(u'*', QStringLiteral(" · "));
    const QString rows = usual.section(QStringLiteral(", "), 0, 0),
                  columns = usual.section(QStringLiteral(", "), 1);
    const QStringList heads = role.heads == SizeKind::One
        ? QStringList()
        : QStringList{QStringLiteral("1"), QStringLiteral("2"), QStringLiteral("3")};
    const bool areColumns = columns.contains(QLatin1String("heads"));
    using enum AnswerPicture::Kind;
    return {NamesDialog::tr("Which axis is which?"),
            {{NamesDialog::tr("rows %1").arg(rows),
              name,
              QString(),
              {Matrix, rows, columns, heads, areColumns},
              {}},
             {NamesDialog::tr("rows %1").arg(columns),
              name,
              QStringLiteral("transposed"),
              {Matrix, columns, rows, heads, !areColumns},
              {}}}};
}

/// A matrix of heads with three axes.
NamesQuestion stackQuestion(const QString& name)
{
    const QString model = QStringLiteral("d_model"), head = QStringLiteral("d_head");
    const QStringList heads{QStringLiteral("1"), QStringLiteral("2"), QStringLiteral("3")};
    const QString side = QStringLiteral("heads · d_head");
    using enum AnswerPicture::Kind;
    return {NamesDialog::tr("Which axis is which?"),
            {{NamesDialog::tr("heads, d_model, d_head"),
              name,
              QStringLiteral("heads, d_model, d_head"),
              {Sheets, model, head},
              {}},
             {NamesDialog::tr("heads, d_head, d_model"),
              name,
              QStringLiteral("heads, d_head, d_model"),
              {Sheets, head, model},
              {}},
             {NamesDialog::tr("d_model, heads, d_head"),
              name,
              QStringLiteral("d_model, heads, d_head"),
              {Matrix, model, side, heads, true},
              {}}}};
}

} // namespace

NamesQuestion questionOf(const QString& roles, const QString& axes, const std::vector<std::int64_t>& shape)
{
    const QStringList names = rolesIn(roles);
    const NamedRole* role = names.isEmpty() ? nullptr : roleOf(names.front());
    if (!role)
        return {};
    if (names.front().startsWith(QLatin1String("blocks.{layer}.ln")))
        return normQuestion(names.front(), axes);
    const bool isMatrix = role->rows != SizeKind::One;
    if (names.size() > 1)
        return shape.size() == (isMatrix ? 2U : 1U) ? FusedQuestion(names, axes, shape).question()
                                                    : NamesQuestion();
    if (!isMatrix)
        return {};
    if (shape.size() == 2 && shape[0] == shape[1])
        return squareQuestion(names.front(), *role);
    return shape.size() == 3 && role->heads != SizeKind::One ? stackQuestion(names.front()) : NamesQuestion();
}

} // namespace headwise::ui

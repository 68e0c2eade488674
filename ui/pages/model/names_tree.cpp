#include "ui/pages/model/names_tree.h"

#include "core/model/names/names_map.h"
#include "ui/base/text.h"
#include "ui/base/theme.h"

#include <QHeaderView>
#include <QSignalBlocker>

#include <algorithm>
#include <set>

namespace headwise::ui {

namespace {

enum TreeColumn { RoleColumn, RoleTensorsColumn };
constexpr int roleNameRole = Qt::UserRole;      // empty for a group
constexpr int roleStateRole = Qt::UserRole + 1; // NamesTree::State

/// Returns the groups above a role, outermost first, separated by "/".
QString groupOf(const QString& role)
{
    const QString layers = NamesTree::tr("Layers");
    if (role.startsWith(QLatin1String("blocks.{layer}.attn.")))
        return layers + u'/' + NamesTree::tr("Attention");
    if (role.startsWith(QLatin1String("blocks.{layer}.mlp.")))
        return layers + u'/' + NamesTree::tr("MLP");
    if (role.startsWith(QLatin1String("blocks.")))
        return layers + u'/' + NamesTree::tr("Norms");
    if (role.startsWith(QLatin1String("ln_final.")))
        return NamesTree::tr("Final norm");
    return role.startsWith(QLatin1String("unembed.")) ? NamesTree::tr("Unembedding")
                                                      : NamesTree::tr("Embedding");
}

/// Returns a role without its group: "W_Q", "ln1.w".
QString shortRole(const QString& role)
{
    for (const char* start : {"blocks.{layer}.attn.", "blocks.{layer}.mlp.", "blocks.{layer}.", "embed.",
                              "pos_embed.", "unembed."})
        if (role.startsWith(QLatin1String(start)))
            return role.sliced(QLatin1String(start).size());
    return role;
}

} // namespace

NamesTree::NamesTree(QWidget* parent)
    : QTreeWidget(parent)
{
    setColumnCount(2);
    setHeaderLabels({tr("Part"), tr("Tensors")});
    setAccessibleName(tr("Parts of the transformer and their tensors"));
    setSelectionMode(QAbstractItemView::ExtendedSelection);
    setUniformRowHeights(true);
    // The usual order: into the residual stream, through the layers, out of it.
    for (const char* role : {"embed.W_E", "blocks.{layer}.ln1.w", "blocks.{layer}.attn.W_Q",
                             "blocks.{layer}.mlp.W_in", "ln_final.w", "unembed.W_U"})
        group(groupOf(QLatin1String(role)));
    for (const NamedRole& role : namedRoles()) {
        const QString name = text(role.name);
        auto* item = new QTreeWidgetItem(group(groupOf(name)), {shortRole(name)});
        item->setData(RoleColumn, roleNameRole, name);
        item->setToolTip(RoleColumn, name);
        m_roles[name] = item;
    }
    expandAll();
    resizeColumnToContents(RoleColumn);
    connect(this, &QTreeWidget::itemSelectionChanged, this, [this] {
        QStringList roles;
        for (const QTreeWidgetItem* item : selectedItems())
            roles += rolesUnder(item);
        emit rolesChosen(roles);
    });
    setGiven({});
}

QTreeWidgetItem* NamesTree::group(const QString& path)
{
    QTreeWidgetItem*& item = m_groups[path];
    if (!item) {
        const auto slash = path.lastIndexOf(u'/');
        QTreeWidgetItem* above = slash < 0 ? invisibleRootItem() : group(path.left(slash));
        item = new QTreeWidgetItem(above, {path.mid(slash + 1)});
    }
    return item;
}

void NamesTree::setGiven(const QList<GivenRoles>& given)
{
    std::set<TensorKind> kinds;
    std::map<QString, QStringList> tensors;
    std::set<QString> contradicted;
    for (const GivenRoles& row : given)
        for (const QString& role : row.roles) {
            tensors[role] << row.tensors;
            if (!row.fits)
                contradicted.insert(role);
        }
    for (const NamedRole& role : namedRoles())
        if (tensors.contains(text(role.name)))
            kinds.insert(role.kind);
    m_missing.clear();
    for (const NamedRole* role : missingRoles(kinds))
        m_missing << text(role->name);
    for (const auto& [role, item] : m_roles) {
        const QStringList names = tensors[role];
        const State state = contradicted.contains(role) ? State::Contradicts
            : !names.isEmpty()                          ? State::Fits
            : m_missing.contains(role)                  ? State::Missing
                                                        : State::Absent;
        showRole(item, state, names.join(QStringLiteral(", ")));
    }
    showGroups(invisibleRootItem());
}

void NamesTree::showRole(QTreeWidgetItem* item, State state, const QString& tensors)
{
    const ThemeColors& colors = themeColors(palette());
    const QColor color = state == State::Fits ? colors.good
        : state == State::Absent              ? colors.muted
                                              : colors.bad;
    item->setForeground(RoleColumn, color);
    item->setForeground(RoleTensorsColumn, color);
    item->setText(RoleTensorsColumn,
                  state == State::Missing      ? tr("missing")
                      : state == State::Absent ? tr("none")
                                               : tensors);
    item->setToolTip(RoleTensorsColumn, tensors);
    item->setData(RoleColumn, roleStateRole, static_cast<int>(state));
}

/// Gives each group the worst state of its parts, so that a folded group tells it too.
void NamesTree::showGroups(QTreeWidgetItem* parent)
{
    State worst = State::Absent;
    for (int at = 0; at < parent->childCount(); ++at) {
        QTreeWidgetItem* child = parent->child(at);
        if (child->data(RoleColumn, roleNameRole).toString().isEmpty())
            showGroups(child);
        worst = std::max(worst, static_cast<State>(child->data(RoleColumn, roleStateRole).toInt()));
    }
    if (parent == invisibleRootItem())
        return;
    const ThemeColors& colors = themeColors(palette());
    parent->setData(RoleColumn, roleStateRole, static_cast<int>(worst));
    parent->setForeground(RoleColumn,
                          worst == State::Fits         ? colors.good
                              : worst == State::Absent ? colors.muted
                                                       : colors.bad);
}

void NamesTree::selectRoles(const QStringList& roles)
{
    const QSignalBlocker blocker(this);
    clearSelection();
    QTreeWidgetItem* first = nullptr;
    for (const QString& role : roles)
        if (const auto found = m_roles.find(role); found != m_roles.end()) {
            found->second->setSelected(true);
            first = first ? first : found->second;
        }
    if (first) {
        setCurrentItem(first, RoleColumn, QItemSelectionModel::NoUpdate);
        scrollToItem(first);
    }
}

QStringList NamesTree::rolesUnder(const QTreeWidgetItem* item) const
{
    if (const QString role = item->data(RoleColumn, roleNameRole).toString(); !role.isEmpty())
        return {role};
    QStringList roles;
    for (int at = 0; at < item->childCount(); ++at)
        roles += rolesUnder(item->child(at));
    return roles;
}

} // namespace headwise::ui

#include "ui/pages/export/preset_menu.h"

#include "ui/base/text.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMenu>

namespace headwise::ui {

PresetMenu::PresetMenu(FigurePresets* presets, std::function<FigureSettings()> settings, QWidget* parent)
    : QToolButton(parent)
    , m_presets(presets)
    , m_settings(std::move(settings))
{
    setText(tr("Presets"));
    setAccessibleName(tr("Own presets"));
    setToolTip(tr("Saves these settings under a name of your own, and shares such presets as a file"));
    setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(this);
    menu->addAction(tr("Save as preset…"), this,
                    [this] { askName(tr("Save as preset"), m_current, &PresetMenu::saveAs); });
    m_rename = menu->addAction(tr("Rename preset…"), this,
                               [this] { askName(tr("Rename preset"), m_current, &PresetMenu::renameTo); });
    m_remove = menu->addAction(tr("Delete preset"), this, &PresetMenu::removeCurrent);
    menu->addSeparator();
    m_export = menu->addAction(tr("Export presets…"), this, [this] { askFile(tr("Export presets"), true); });
    menu->addAction(tr("Import presets…"), this, [this] { askFile(tr("Import presets"), false); });
    setMenu(menu);
    fill();
}

void PresetMenu::setCurrent(const QString& name)
{
    m_current = name;
    fill();
}

void PresetMenu::fill()
{
    m_rename->setEnabled(m_presets->isOwn(m_current));
    m_remove->setEnabled(m_presets->isOwn(m_current));
    m_export->setEnabled(!m_presets->own().empty());
}

void PresetMenu::askName(const QString& title, const QString& name, void (PresetMenu::*use)(const QString&))
{
    auto* dialog = new QInputDialog(this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    dialog->setLabelText(tr("Name of the preset:"));
    dialog->setTextValue(m_presets->isOwn(name) ? name : QString());
    connect(dialog, &QInputDialog::textValueSelected, this, use);
    dialog->open();
}

void PresetMenu::askFile(const QString& title, bool toWrite)
{
    auto* dialog = new QFileDialog(this, title, QString(), tr("Figure presets (*.json)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(toWrite ? QFileDialog::AcceptSave : QFileDialog::AcceptOpen);
    dialog->setFileMode(toWrite ? QFileDialog::AnyFile : QFileDialog::ExistingFile);
    dialog->setDefaultSuffix(QStringLiteral("json"));
    connect(dialog, &QFileDialog::fileSelected, this,
            toWrite ? &PresetMenu::exportTo : &PresetMenu::importFrom);
    dialog->open();
}

void PresetMenu::tell(const Result<Done>& done, const QString& chosen, const QString& message)
{
    if (!done)
        return emit said(ui::text(done.error()), true);
    emit changed(chosen);
    fill();
    emit said(message, false);
}

void PresetMenu::saveAs(const QString& name)
{
    const QString bare = name.trimmed();
    tell(m_presets->save(bare, m_settings()), bare, tr("Saved the preset '%1'.").arg(bare));
}

void PresetMenu::renameTo(const QString& name)
{
    const QString bare = name.trimmed();
    tell(m_presets->rename(m_current, bare), bare, tr("The preset is called '%1' now.").arg(bare));
}

void PresetMenu::removeCurrent()
{
    if (!m_presets->isOwn(m_current))
        return;
    const QString name = m_current;
    m_presets->remove(name);
    tell(Done{}, QString(), tr("Deleted the preset '%1'.").arg(name));
}

void PresetMenu::exportTo(const QString& fileName)
{
    tell(writePresetFile(fileName, m_presets->own()), m_current,
         tr("Wrote the presets to %1.").arg(fileName));
}

void PresetMenu::importFrom(const QString& fileName)
{
    const Result<std::vector<OwnFigurePreset>> read = readPresetFile(fileName);
    if (!read)
        return tell(read.error(), {}, {});
    for (const OwnFigurePreset& preset : *read)
        if (const Result<Done> saved = m_presets->save(preset.name, preset.settings); !saved)
            return tell(saved, {}, {});
    const auto count = static_cast<int>(read->size());
    tell(Done{}, m_current, count == 1 ? tr("Imported 1 preset.") : tr("Imported %1 presets.").arg(count));
}

} // namespace headwise::ui

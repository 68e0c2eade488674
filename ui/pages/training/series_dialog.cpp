#include "ui/pages/training/series_dialog.h"

#include "ui/base/text.h"
#include "ui/document/training_series.h"

#include <QFileDialog>

namespace headwise::ui {

void askForSeriesFile(QWidget* window, TrainingSeries* series, const SeriesMembers& members,
                      const std::filesystem::path& folder)
{
    auto* dialog = new QFileDialog(
        window, TrainingSeries::tr("Where to write the series of %1 checkpoints").arg(members.members.size()),
        text(folder.string()), TrainingSeries::tr("Series (*.h5)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setOption(
        QFileDialog::DontConfirmOverwrite); // an existing series is added to, any other file refused
    dialog->setDefaultSuffix(QStringLiteral("h5"));
    dialog->setLabelText(QFileDialog::Accept, TrainingSeries::tr("Compute"));
    dialog->selectFile(text(members.name) + QStringLiteral(".h5"));
    QObject::connect(dialog, &QFileDialog::fileSelected, series,
                     [series, members](const QString& file) { series->make(members, file.toStdString()); });
    dialog->open();
}

} // namespace headwise::ui

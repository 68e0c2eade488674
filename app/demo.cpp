#include "app/demo.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>

namespace headwise::app {

QString demoModelFolder()
{
    const QString program = QCoreApplication::applicationDirPath();
    // Installed: bin/headwise and share/headwise/demo. Built: build/PRESET/app/headwise in the source tree.
    for (const char* relative :
         {"../share/headwise/demo", "../../../resources/demo", "../../resources/demo"}) {
        const QString folder = QDir::cleanPath(program + u'/' + QLatin1String(relative));
        if (QFileInfo::exists(folder + QStringLiteral("/config.json")))
            return folder;
    }
    return {};
}

} // namespace headwise::app

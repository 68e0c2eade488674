#include "ui/document/file_stamp.h"

#include <QStringList>

#include <sys/stat.h>

namespace headwise::ui {

FileStamp stampOf(const std::filesystem::path& file)
{
    struct stat found { };
    if (file.empty() || ::stat(file.c_str(), &found) != 0)
        return {};
    constexpr qint64 second = 1'000'000'000;
    return {found.st_size, found.st_ino, found.st_mtim.tv_sec * second + found.st_mtim.tv_nsec};
}

QString text(const FileStamp& stamp)
{
    return QStringLiteral("%1 %2 %3").arg(stamp.size).arg(stamp.inode).arg(stamp.modified);
}

FileStamp parseFileStamp(const QString& words)
{
    const QStringList parts = words.split(u' ');
    if (parts.size() != 3)
        return {};
    return {parts[0].toLongLong(), parts[1].toULongLong(), parts[2].toLongLong()};
}

} // namespace headwise::ui

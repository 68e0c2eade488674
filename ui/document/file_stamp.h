#pragma once

#include <QString>

#include <filesystem>

namespace headwise::ui {

/// State of a file at one moment. Any later write, in place or by renaming, changes it.
struct FileStamp {
    qint64 size = -1; ///< Bytes; -1: there is no such file.
    quint64 inode = 0;
    qint64 modified = 0; ///< Nanoseconds since 1970.

    bool operator==(const FileStamp&) const = default;
    bool exists() const { return size >= 0; }
};

FileStamp stampOf(const std::filesystem::path& file);

/// As one line, for a JSON file.
QString text(const FileStamp& stamp);
/// Parses the output of text(). Any other input gives the stamp of a file that does not exist.
FileStamp parseFileStamp(const QString& words);

} // namespace headwise::ui

#pragma once

#include <QString>

#include <filesystem>

namespace headwise {
struct ModelSource;
}

namespace headwise::ui {

class Workspace;

/// A model or session to open, and its stack, such as "encoder"; empty: the usual one.
struct ModelPlace {
    QString path, stack;
};

/// Reads PATH or PATH?stack=NAME, as the list of recent files has it. A file of exactly that name comes first.
ModelPlace placeOf(const QString& text);
/// Writes a place so that placeOf() reads it back.
QString placeText(const ModelPlace& place);

/// Returns the place of the open session, or of the open model with the stack that was asked for.
ModelPlace openPlace(const Workspace& workspace);

/// Returns the stack that was asked for; empty: the usual one.
QString stackOf(const ModelSource& source);

/// Returns the open stack of a model with several; empty for all others.
QString openStack(const Workspace& workspace);

/// Tells whether both paths name the same existing file; false for empty ones.
bool isSameFile(const std::filesystem::path& a, const std::filesystem::path& b);
/// Tells whether a file, or a session of it, is open or being opened.
bool isShown(Workspace& workspace, const std::filesystem::path& path);
/// The same, in this stack; empty: the usual one. A session or series has only one.
bool isShown(Workspace& workspace, const std::filesystem::path& path, const QString& stack);

} // namespace headwise::ui

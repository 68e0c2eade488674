#pragma once

#include "core/session/session.h"

#include <QString>
#include <QStringList>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace headwise::reliability {

/// Prints the one line of a check: verdict, number of trials, outcome.
/// \returns `isGood`
bool report(bool isGood, const std::string& what, int count, const std::string& found);

/// A session with 100 kB of notes that contain only its letter.
Session lettered(char letter);

/// Returns the letter of such a session; 0: it is broken or a mixture.
char letterOf(const std::filesystem::path& file);

/// Names of temporary files and folders in `folder`, of running and of ended processes.
std::vector<std::string> temporariesIn(const std::filesystem::path& folder);

/// Reads the files of a folder by name, or a single file under the name ""; empty if neither exists.
std::map<std::string, std::string> contentOf(const std::filesystem::path& path);

// Checks: each prints its lines and returns whether all of them are good.
bool checkKills(int count, unsigned seed);
bool checkWrites();
bool checkMutants(int count, unsigned seed);
bool checkSoak(int count); ///< Openings and closings, and ten times as many switches of the head.
bool checkJobs(int count, unsigned seed);

// Processes that a check starts, kills or hinders: this program with the name of a part.
int runPart(const QStringList& arguments);
int saveInTurn(const QString& file); ///< Saves the letters A and B in turn, for ever, through the workspace.
int copyInTurn(const QString& folder, const QString& file); ///< The same through the recovery copy.
int saveOnce(const QString& file, const QString& vanishes);
int closeMidway(int milliseconds); ///< Opens the demo in a window and closes it after that time.

} // namespace headwise::reliability

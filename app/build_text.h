#pragma once

namespace headwise::app {

/// Kind of the build, commit as of configuring (empty outside a checkout), compiler and its version. It has a file of its own because it
/// changes with every commit.
const char* buildText();

} // namespace headwise::app

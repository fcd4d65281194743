// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <QString>

namespace jaxscope::app {

/// Opens a file at a line in the user's editor: by the command in $JAXSCOPE_EDITOR, in which {file} and {line} stand for these
/// ("code -g {file}:{line}"), else as the desktop opens files. What is wrong, or empty.
QString open_in_editor(const QString& file, int line);

}  // namespace jaxscope::app

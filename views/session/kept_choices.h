// SPDX-License-Identifier: Apache-2.0
#pragma once
// Choices as text, for files that outlive a session. Comes in: choices and the program that they were made for. Goes out: JSON by names,
// and back for the program as it is then. Never here: files.
#include <QJsonObject>
#include <QStringList>

#include "analysis/choices.h"

namespace jaxscope::views {

/// Regions and arguments by their names: the program may be captured anew before these choices are read.
QJsonObject kept_choices(const Choices& choices, const Program& program);

/// `plain` with what was kept. What means nothing in `program` any more is left out, and told in `lost`.
Choices choices_again(const QJsonObject& kept, const Choices& plain, const Program& program, QStringList& lost);

}  // namespace jaxscope::views

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The words of the policy box. In: choices, or what was typed. Out: its words, or choices. Never here: widgets, and what is chosen.
#include <QStringList>

#include "analysis/inspection.h"

namespace jaxscope::views {

/// What the box offers where policies have room at these places; others are typed.
QStringList offered_policies(const PolicyPlaces& places);
/// "around: nothing_saveable", as the box says it.
QString policy_box_words(const Choices& choices);
/// What such words choose, in `choices` without any policy. Throws Error for what is no policy.
void choose_by_words(Choices& choices, QString text);

}  // namespace jaxscope::views

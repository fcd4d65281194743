// SPDX-License-Identifier: Apache-2.0
#include "jit/plan/moves.h"

#include <map>

namespace jaxscope::exec {

std::vector<Move> one_after_the_other(std::vector<Move> moves, const std::function<int(const Move&)>& spare) {
    std::vector<Move> out;
    std::map<int, std::size_t> into;  // the move that writes a buffer
    std::map<int, int> readers;       // moves that still read a buffer
    std::vector<std::size_t> ready;
    std::vector<bool> done(moves.size(), false);
    for (std::size_t m = 0; m < moves.size(); ++m) into[moves[m].to] = m, ++readers[moves[m].from];
    const auto make = [&](std::size_t m) {
        out.push_back(moves[m]);
        done[m] = true;
        const auto waiting = into.find(moves[m].from);
        if (--readers[moves[m].from] == 0 && waiting != into.end() && !done[waiting->second]) ready.push_back(waiting->second);
    };
    const auto make_all_ready = [&] {
        while (!ready.empty()) {
            const std::size_t m = ready.back();
            ready.pop_back();
            make(m);
        }
    };
    for (std::size_t m = moves.size(); m-- > 0;)
        if (readers[moves[m].to] == 0) ready.push_back(m);
    make_all_ready();
    for (std::size_t m = 0; m < moves.size(); ++m) {
        if (done[m]) continue;
        const int place = spare(moves[m]);
        out.push_back({place, moves[m].from, moves[m].value});
        if (--readers[moves[m].from] == 0) ready.push_back(into.at(moves[m].from));
        moves[m].from = place, ++readers[place];
        make_all_ready();
    }
    return out;
}

}  // namespace jaxscope::exec

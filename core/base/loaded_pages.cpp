// SPDX-License-Identifier: Apache-2.0
#include "base/loaded_pages.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace jaxscope {

void give_back_pages_of(std::string_view name) {
    const auto visit = [](dl_phdr_info* object, std::size_t, void* wanted) {
        const std::string_view path = object->dlpi_name;
        if (!path.substr(path.rfind('/') + 1).starts_with(*static_cast<std::string_view*>(wanted))) return 0;
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        for (int k = 0; k < object->dlpi_phnum; ++k) {
            const auto& segment = object->dlpi_phdr[k];
            // Of what can be written a process has pages of its own, which are nowhere else.
            if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
            const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
            const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_filesz;
            madvise(reinterpret_cast<void*>(begin), end / page * page - begin, MADV_DONTNEED);
        }
        return 0;
    };
    dl_iterate_phdr(visit, &name);
}

}  // namespace jaxscope

#include "planted_bug.h"

namespace dlaunch::fuzz {

#ifdef DLAUNCH_FUZZ_PLANT
const bool kPlanted = true;
#else
const bool kPlanted = false;
#endif

}  // namespace dlaunch::fuzz

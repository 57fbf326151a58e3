// The copier, with a bug: it reports copies when they begin.
#include "base/planted.h"

nerve::Bug nerve::active_bug = nerve::Bug::kCopyEndsEarly;

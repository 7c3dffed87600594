/* A libnvidia-ml.so.1 with two GPUs, for machines that have none. Files in the folder $FAKE_NVML say what is wrong with them:
   refused (the driver does not match), hang (the second GPU's use), lost (the second GPU), hot (the first), errors (of the second).
   -DOLD: as a driver of 2013, which lacks many functions. Numbers and structures are those of NVIDIA's "NVML API Reference Guide". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, IS_LOST = 15, VERSION_MISMATCH = 18 };
#define MEBI (1ULL << 20)

struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };
struct memory_v2 { unsigned version; unsigned long long total, reserved, free, used; };

static int is(const char* what) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("FAKE_NVML"), what);
  return access(path, F_OK) == 0;
}

static char devices[2];
static int number_of(const void* device) { return device == &devices[1]; }
static int state_of(const void* device) { return number_of(device) && is("lost") ? IS_LOST : SUCCESS; }

#ifdef OLD
int nvmlInit(void) { return SUCCESS; }
int nvmlDeviceGetCount(unsigned* count) { *count = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex(unsigned index, void** device) { *device = &devices[index]; return SUCCESS; }
#else
int nvmlInit_v2(void) { return is("refused") ? VERSION_MISMATCH : SUCCESS; }
const char* nvmlErrorString(int state) { return state == VERSION_MISMATCH ? "Driver/library version mismatch" : "?"; }
int nvmlSystemGetDriverVersion(char* version, unsigned size) { snprintf(version, size, "550.54.15"); return SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned* count) { *count = 2; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) { *device = &devices[index]; return SUCCESS; }
int nvmlDeviceGetMemoryInfo_v2(void* device, struct memory_v2* memory) {
  if (memory->version != (sizeof *memory | 2 << 24)) return 25;
  memory->used = (number_of(device) ? 500 : 31000) * MEBI;
  return state_of(device);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = !number_of(device) && is("hot") ? 0x48 : 0x1;
  return state_of(device);
}
int nvmlDeviceGetTemperature(void* device, unsigned sensor, unsigned* celsius) {
  *celsius = sensor == 0 ? 91 : 0;
  return state_of(device);
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* mhz) { *mhz = clock == 1 ? 945 : 0; return state_of(device); }
int nvmlDeviceGetMaxClockInfo(void* device, unsigned clock, unsigned* mhz) { *mhz = clock == 1 ? 1980 : 0; return state_of(device); }
int nvmlDeviceGetTotalEccErrors(void* device, unsigned type, unsigned counter, unsigned long long* errors) {
  if (!number_of(device)) return NOT_SUPPORTED;
  *errors = type == 1 && counter == 0 ? 5 + (is("errors") ? 2 : 0) : 0;
  return state_of(device);
}
int nvmlDeviceGetPcieReplayCounter(void* device, unsigned* replays) { *replays = is("errors") ? 999 : 0; return state_of(device); }
/* Two links: the first GPU's have old errors, and a third answers only later. */
int nvmlDeviceGetNvLinkErrorCounter(void* device, unsigned link, unsigned counter, unsigned long long* errors) {
  if (link > (is("errors") ? 2 : 1) || counter > 1) return INVALID_ARGUMENT;
  *errors = link == 2 ? 1000 : !number_of(device) ? 6 : is("errors") ? 1 : 0;
  return state_of(device);
}
#endif

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) { snprintf(uuid, size, "GPU-%c", "ab"[number_of(device)]); return SUCCESS; }
int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
  memory->used = (number_of(device) ? 600 : 31100) * MEBI;
  return state_of(device);
}
int nvmlDeviceGetUtilizationRates(void* device, struct utilization* use) {
  while (number_of(device) && is("hang")) usleep(10000);
  use->gpu = number_of(device) ? 12 : 97;
  return state_of(device);
}

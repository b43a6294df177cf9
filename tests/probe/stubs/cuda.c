/* Stands in for libcuda.so.1, whose devices are numbered against the order of the bus. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 13010
#endif

int cuDriverGetVersion(int *version) {
#ifdef HANG
    sleep(60);
#endif
#ifdef ABORT
    abort();
#endif
    *version = VERSION;
#ifdef STUB
    return 34; /* CUDA_ERROR_STUB_LIBRARY */
#endif
    return 0;
}
#ifndef CUINIT
#define CUINIT 0
#endif
int cuInit(unsigned flags) { return CUINIT; }
int cuDeviceGetCount(int *count) {
    /* A mask must not reach this process: CUDA would hide devices from the probe. */
    *count = getenv("CUDA_VISIBLE_DEVICES") ? 0 : 2;
    return 0;
}
int cuDeviceGet(int *device, int index) { *device = index; return 0; }
int cuDeviceGetName(char *text, int size, int device) { return snprintf(text, size, "device %d", device) < 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? (device ? 6 : 8) : (device ? 1 : 9);
    return 0;
}
int cuDeviceGetPCIBusId(char *text, int size, int device) {
    return snprintf(text, size, "0000:%02x:00.0", 2 - device) < 0;
}
int cuDeviceTotalMem_v2(unsigned long *bytes, int device) { *bytes = 8ul << 30; return device < 0; }

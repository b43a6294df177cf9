/* Stands in for libnvidia-ml.so.1: the functions that the probe asks, with answers chosen by -D at compile time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef INIT
#define INIT 0
#endif
#ifndef COUNT
#define COUNT 1
#endif
#ifndef CUDA
#define CUDA 13000
#endif

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} pci_info;

static const char *names[] = {"NVIDIA H200 (as NVML tells)", "NVIDIA GeForce RTX 4090"};
static const unsigned ids[] = {0x233510de, 0x268410de};
static const int majors[] = {9, 8}, minors[] = {0, 9};

int nvmlInit_v2(void) {
    printf("a library that chats on standard output {}\n");
    fflush(stdout);
#ifdef ABORT
    abort();
#endif
#ifdef HANG
    sleep(60);
#endif
    return INIT;
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "580.82.07") < 0; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = CUDA; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) {
#ifdef HANG_LATE
    sleep(60);
#endif
    *count = COUNT;
    return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(unsigned long)(index + 1);
    return 0;
}
static int number(void *device) { return (int)(unsigned long)device - 1; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) {
    return snprintf(text, size, "%s", names[number(device)]) < 0;
}
int nvmlDeviceGetUUID(void *device, char *text, unsigned size) {
    return snprintf(text, size, "GPU-%d0000000-aaaa-bbbb-cccc-dddddddddddd", number(device)) < 0;
}
int nvmlDeviceGetPciInfo_v3(void *device, pci_info *info) {
    memset(info, 0, sizeof *info);
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", 1 + number(device));
    info->id = ids[number(device)];
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    *major = majors[number(device)];
    *minor = minors[number(device)];
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    memory[0] = (unsigned long long)(143771 - number(device)) << 20;
    return 0;
}
int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    if (number(device)) return 3; /* not supported */
    *current = *pending = 1;
    return 0;
}
#ifdef INSTANCES
int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) { *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance) {
    *instance = (void *)(unsigned long)(100 + index);
    return index < INSTANCES ? 0 : 6; /* not found */
}
#endif
#ifdef VIRTUAL
int nvmlDeviceGetVirtualizationMode(void *device, int *mode) { *mode = VIRTUAL; return 0; }
#endif
#ifdef FABRIC
typedef struct {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
} fabric_info;
int nvmlDeviceGetGpuFabricInfo(void *device, fabric_info *info) {
    memset(info, 0, sizeof *info);
    info->state = FABRIC;
    return 0;
}
#endif

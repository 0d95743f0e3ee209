"""`nvidia-smi -q` of a healthy machine with eight boards on NVSwitches: own text, in the form of a real report."""

from __future__ import annotations

BUSES = ("18", "2a", "3a", "5d", "9a", "ab", "ba", "db")

_HEAD = """
==============NVSMI LOG==============

Timestamp                                              : Mon Nov 16 08:00:00 2026
Driver Version                                         : 580.159.04
CUDA Version                                           : 13.0

Attached GPUs                                          : 8
"""
_GPU = """GPU 00000000:{bus}:00.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    Product Brand                                      : NVIDIA
    Product Architecture                               : Hopper
    Display Mode                                       : Disabled
    Persistence Mode                                   : Enabled
    Addressing Mode                                    : HMM
    MIG Mode
        Current                                        : Disabled
        Pending                                        : Disabled
    Accounting Mode                                    : Disabled
    Serial Number                                      : 16500000000{number}
    GPU UUID                                           : GPU-0b0b0b0b-1c1c-2d2d-3e3e-4f4f4f4f4f{bus}
    Minor Number                                       : {number}
    VBIOS Version                                      : 96.00.74.00.0D
    GPU Recovery Action                                : None
    PCI
        Bus                                            : 0x{bus}
        Device Id                                      : 0x233010DE
        Bus Id                                         : 00000000:{bus}:00.0
        GPU Link Info
            PCIe Generation
                Max                                    : 5
                Current                                : 5
                Device Current                         : 5
                Device Max                             : 5
                Host Max                               : 5
            Link Width
                Max                                    : 16x
                Current                                : 16x
        Replays Since Reset                            : 0
        Replay Number Rollovers                        : 0
    Fan Speed                                          : N/A
    Performance State                                  : P0
    Clocks Event Reasons
        Idle                                           : Active
        Applications Clocks Setting                    : Not Active
        SW Power Cap                                   : Not Active
        HW Slowdown                                    : Not Active
            HW Thermal Slowdown                        : Not Active
            HW Power Brake Slowdown                    : Not Active
        Sync Boost                                     : Not Active
        SW Thermal Slowdown                            : Not Active
        Display Clock Setting                          : Not Active
    FB Memory Usage
        Total                                          : 81559 MiB
        Reserved                                       : 614 MiB
        Used                                           : 4 MiB
        Free                                           : 80943 MiB
    BAR1 Memory Usage
        Total                                          : 131072 MiB
        Used                                           : 1 MiB
        Free                                           : 131071 MiB
    Compute Mode                                       : Default
    Utilization
        GPU                                            : 0 %
        Memory                                         : 0 %
    ECC Mode
        Current                                        : Enabled
        Pending                                        : Enabled
    ECC Errors
        Volatile
            SRAM Correctable                           : 0
            SRAM Uncorrectable Parity                  : 0
            SRAM Uncorrectable SEC-DED                 : 0
            DRAM Correctable                           : 0
            DRAM Uncorrectable                         : 0
        Aggregate
            SRAM Correctable                           : 0
            SRAM Uncorrectable Parity                  : 0
            SRAM Uncorrectable SEC-DED                 : 0
            DRAM Correctable                           : 0
            DRAM Uncorrectable                         : 0
            SRAM Threshold Exceeded                    : No
        Channel Repair Pending                         : No
        TPC Repair Pending                             : No
        Unrepairable Memory                            : No
    Retired Pages
        Single Bit ECC                                 : N/A
        Double Bit ECC                                 : N/A
        Pending Page Blacklist                         : N/A
    Remapped Rows
        Correctable Error                              : 0
        Uncorrectable Error                            : 0
        Pending                                        : No
        Remapping Failure Occurred                     : No
    Temperature
        GPU Current Temp                               : 31 C
        GPU T.Limit Temp                               : 55 C
        GPU Shutdown T.Limit Temp                      : -8 C
        GPU Slowdown T.Limit Temp                      : -2 C
        GPU Max Operating T.Limit Temp                 : 0 C
    GPU Power Readings
        Average Power Draw                             : 69.02 W
        Instantaneous Power Draw                       : 69.10 W
        Current Power Limit                            : 700.00 W
        Requested Power Limit                          : 700.00 W
        Default Power Limit                            : 700.00 W
        Min Power Limit                                : 200.00 W
        Max Power Limit                                : 700.00 W
    Clocks
        Graphics                                       : 345 MHz
        SM                                             : 345 MHz
        Memory                                         : 2619 MHz
    Max Clocks
        Graphics                                       : 1980 MHz
        SM                                             : 1980 MHz
        Memory                                         : 2619 MHz
    Fabric
        State                                          : Completed
        Status                                         : Success
        CliqueId                                       : 0
        ClusterUUID                                    : 00000000-0000-0000-0000-000000000000
        Health
            Summary                                    : Healthy
            Bandwidth                                  : Full
            Route Recovery in progress                 : False
            Route Unhealthy                            : False
            Access Timeout Recovery                    : False
            Incorrect Configuration                    : None
    Processes                                          : None

"""
REPORT = _HEAD + "".join(_GPU.format(bus=bus.upper(), number=number) for number, bus in enumerate(BUSES))

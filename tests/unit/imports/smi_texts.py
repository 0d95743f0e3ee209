"""Reports of `nvidia-smi -q` and `-q -x` and tables of `nvidia-smi` in their wordings, short: own text, after what
drivers print."""

from __future__ import annotations

import re

HEAD = """
==============NVSMI LOG==============

Timestamp                                 : Sat Nov 21 10:00:00 2026
Driver Version                            : 595.71.05
CUDA Version                              : 13.2

Attached GPUs                             : {count}
"""
GPU = """GPU 00000000:{bus}:00.0
    Product Name                          : NVIDIA RTX PRO 6000 Blackwell Server Edition
    Persistence Mode                      : Enabled
    Addressing Mode                       : HMM
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GPU UUID                              : GPU-11111111-2222-3333-4444-5555555555{bus}
    GPU Recovery Action                   : None
    PCI
        Device Id                         : 0x2BB510DE
        Bus Id                            : 00000000:{bus}:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 1
                Device Max                : 5
            Link Width
                Max                       : 16x
                Current                   : 16x
        Replays Since Reset               : 3
        Replay Number Rollovers           : 0
    Performance State                     : P8
    Clocks Event Reasons
        Idle                              : Active
        SW Power Cap                      : Not Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Not Active
            HW Power Brake Slowdown       : Active
        SW Thermal Slowdown               : Not Active
    Clocks Event Reasons Counters
        HW Thermal Slowdown               : 12 us
    FB Memory Usage
        Total                             : 97887 MiB
        Used                              : 624 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
        Used                              : 1 MiB
    Compute Mode                          : Exclusive_Process
    Utilization
        GPU                               : 100 %
        Memory                            : 0 %
    ECC Mode
        Current                           : Enabled
        Pending                           : Disabled
    ECC Errors
        Volatile
            SRAM Correctable              : 1
            SRAM Uncorrectable Parity     : 2
            SRAM Uncorrectable SEC-DED    : 4
            DRAM Correctable              : 8
            DRAM Uncorrectable            : 16
        Aggregate
            SRAM Correctable              : N/A
            SRAM Uncorrectable Parity     : N/A
            SRAM Uncorrectable SEC-DED    : N/A
            DRAM Correctable              : 32
            DRAM Uncorrectable            : [Unknown Error]
    Remapped Rows                         : N/A
    Temperature
        GPU Current Temp                  : 30 C
        GPU T.Limit Temp                  : 57 C
        GPU Shutdown T.Limit Temp         : -8 C
        GPU Slowdown T.Limit Temp         : -2 C
    GPU Power Readings
        Average Power Draw                : 85.17 W
        Current Power Limit               : 500.00 W
        Requested Power Limit             : 600.00 W
        Default Power Limit               : 600.00 W
        Min Power Limit                   : 300.00 W
        Max Power Limit                   : 600.00 W
    Module Power Readings
        Current Power Limit               : N/A
    Max Clocks
        SM                                : 2430 MHz
    Fabric
        State                             : N/A
    Processes
        GPU instance ID                   : N/A
        Process ID                        : 4711
            Type                          : C
            Name                          : python3
            Used GPU Memory               : 620 MiB
        Process ID                        : 4712
            Type                          : C
            Used GPU Memory               : N/A
"""
TEXT = HEAD.format(count=2) + GPU.format(bus="06") + "\n" + GPU.format(bus="07").partition("    Processes")[0] + \
    "    Processes                             : None\n"
#: Before driver 530: "Throttle" for "Event", "Power Readings", limits as temperatures, ECC by bits.
OLD = re.sub(r"(?s)Volatile\n.*?(?=    Remapped)", """Volatile
            Single Bit
                Device Memory             : 5
                Total                     : 6
            Double Bit
                Device Memory             : 7
                Total                     : 7
""", TEXT.replace("Clocks Event", "Clocks Throttle").replace("GPU Power Readings", "Power Readings")
           .replace("Average Power Draw ", "Power Draw ").replace("Requested Power Limit", "Power Limit")
           .replace("GPU Slowdown T.Limit Temp         : -2 C", "GPU Slowdown Temp : 95 C"))
XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
 <driver_version>580.159.04</driver_version>
 <attached_gpus>1</attached_gpus>
 <gpu id="00000000:00:06.0">
  <product_name>NVIDIA H200</product_name>
  <persistence_mode>Disabled</persistence_mode>
  <mig_mode><current_mig>Enabled</current_mig><pending_mig>Enabled</pending_mig></mig_mode>
  <mig_devices>None</mig_devices>
  <gpu_recovery_action>Drain and Reset</gpu_recovery_action>
  <pci><pci_device_id>233510DE</pci_device_id>
   <pci_gpu_link_info><link_widths><current_link_width>8x</current_link_width></link_widths></pci_gpu_link_info></pci>
  <clocks_event_reasons>
   <clocks_event_reason_gpu_idle>Not Active</clocks_event_reason_gpu_idle>
   <clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>
   <clocks_event_reason_hw_slowdown>Not Active</clocks_event_reason_hw_slowdown>
   <clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
   <clocks_event_reason_hw_power_brake_slowdown>Not Active</clocks_event_reason_hw_power_brake_slowdown>
  </clocks_event_reasons>
  <remapped_rows><remapped_row_corr>1</remapped_row_corr><remapped_row_pending>Yes</remapped_row_pending></remapped_rows>
  <temperature><gpu_temp>ERR!</gpu_temp></temperature>
  <gpu_power_readings><average_power_draw>-104.61 W</average_power_draw>
   <requested_power_limit>700.00</requested_power_limit></gpu_power_readings>
  <fabric><state>In Progress</state><status>GPU is lost</status></fabric>
  <supported_clocks><supported_mem_clock><value>3201 MHz</value></supported_mem_clock></supported_clocks>
  <processes><process_info><pid>99</pid><process_name>a &amp; b</process_name>
   <used_memory>12 MiB</used_memory></process_info>
  </processes>
 </gpu>
</nvidia_smi_log>
"""
_ROW = """\
|{index:>4}  {name:<24} {persistence:>4} |   00000000:{bus}:00.0 Off |                 {ecc:>4} |
|{fan:>4}  {heat:>4} {state:>4}         {draw:>5} /  {limit:>4} |       0MiB / 143771MiB |    {busy:>4}      {mode:>7} |
|                                         |                        |             {mig:>8} |
+-----------------------------------------+------------------------+----------------------+
"""
_FINE = {"index": 0, "bus": "06", "name": "NVIDIA H200", "persistence": "On", "ecc": "0", "fan": "N/A", "heat": "30C",
         "state": "P0", "draw": "109W", "limit": "700W", "busy": "0%", "mode": "Default", "mig": "Disabled"}


def row(error: str = "", *but: str, **values: object) -> str:
    """A GPU's rows in the plain table. With an error it stands in place of every value, but of those that are named."""
    dead = {key: error for key in _FINE if key not in ("index", "bus", "mode", *but)} if error else {}
    return _ROW.format(**{**_FINE, **dead, **values})


def table(*rows: str, above: str = "") -> str:
    return (f"{above}| NVIDIA-SMI 580.159.04             Driver Version: 580.159.04     CUDA Version: 13.0     |\n"
            + "".join(rows) + "| Processes:  |\n")

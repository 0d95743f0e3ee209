#!/bin/sh
# Written by tunecheck (role cpu_governor). Usage: set_governor.sh GOVERNOR [EPP]; sysfs may be named for a test.
# Works alike for intel_pstate, amd-pstate (active or passive), acpi-cpufreq and cppc: each offers these two files.
set -u
governor=$1 epp=${2:-} root=${TUNECHECK_SYSFS:-/sys} status=0
for policy in "$root"/devices/system/cpu/cpufreq/policy*; do
    [ -d "$policy" ] || { echo "no cpufreq policy under $root"; exit 0; }
    echo "$governor" >"$policy/scaling_governor" || status=1
    if [ -n "$epp" ] && [ -e "$policy/energy_performance_preference" ]; then
        # In active mode the performance governor pins EPP itself and refuses the write.
        [ "$(cat "$policy/energy_performance_preference")" = "$epp" ] ||
            echo "$epp" >"$policy/energy_performance_preference" || status=1
    fi
    [ "$(cat "$policy/scaling_governor")" = "$governor" ] || {
        echo "$policy: governor reads $(cat "$policy/scaling_governor"); expected $governor" >&2
        status=1
    }
done
exit $status

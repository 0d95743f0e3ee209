"""A box's power through its BMC, by Redfish. `python -m tunecheck_fleet.bmc` does one thing and ends; the action plugin
bmc_power starts it, so that nothing that a BMC does can hang or fill up Ansible."""

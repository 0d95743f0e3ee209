"""Many boxes: collect their snapshots, keep what they said as history, say who drifted, from what, and since when.

collect (or ingest) -> Answer -> read -> Seen -> store -> judge -> FleetReport -> outputs
"""

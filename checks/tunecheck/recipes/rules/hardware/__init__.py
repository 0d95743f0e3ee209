"""Rules about boards, memory, links and drivers."""

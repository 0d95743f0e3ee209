"""What people wait for: two trees of this project side by side, and the page of what was measured."""

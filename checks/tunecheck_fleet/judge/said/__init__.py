"""What somebody has said of findings, as the judges see it: decisions and waivers."""

"""What container engines and inference engines are told and print."""

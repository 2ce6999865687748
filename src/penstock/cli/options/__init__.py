"""What every command that takes APP shares: its options, and how APP is found and compiled."""

"""The options of every command that takes APP, and how APP is found and compiled."""

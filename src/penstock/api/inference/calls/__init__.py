"""Calls as the analysis follows them: functions, methods, builtins, and what is known of the standard library."""

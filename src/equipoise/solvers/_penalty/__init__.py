"""Parts of the exact-penalty method: its linear programs, and how its penalty grows."""

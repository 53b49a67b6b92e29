"""Two releases or profiles side by side: what differs, why, and the smallest programs that show it."""

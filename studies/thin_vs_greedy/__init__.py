"""The study thin-vs-greedy."""

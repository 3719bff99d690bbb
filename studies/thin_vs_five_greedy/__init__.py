"""The study thin-vs-five-greedy."""

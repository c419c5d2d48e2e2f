"""How the runner asks questions: in threads of this process, or in Ray processes on this machine or a cluster."""

"""How the runner asks questions: in threads of this process, or in Ray processes on this machine or a cluster."""

from triplecheck.evals.executors.ray_processes import RayProcesses, WorkerLostError
from triplecheck.evals.executors.threads import Executor, QuestionJob, Result, Threads

__all__ = ["Executor", "QuestionJob", "RayProcesses", "Result", "Threads", "WorkerLostError"]

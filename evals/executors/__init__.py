"""Where the runner asks: threads of this process, or processes that Ray runs here or on a cluster."""

from triplecheck.evals.executors.ray_processes import RayProcesses, WorkerLostError
from triplecheck.evals.executors.threads import Executor, QuestionJob, Result, Threads

__all__ = ["Executor", "QuestionJob", "RayProcesses", "Result", "Threads", "WorkerLostError"]

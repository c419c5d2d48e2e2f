"""Where the runner asks: threads of this process, or processes that Ray runs here or on a cluster."""

from triplecheck.evals.executors.base import Executor, Job, Result
from triplecheck.evals.executors.ray_processes import RayProcesses, WorkerLostError
from triplecheck.evals.executors.threads import Threads

__all__ = ["Executor", "Job", "RayProcesses", "Result", "Threads", "WorkerLostError"]

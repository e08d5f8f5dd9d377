"""Names that the coordinator's and the sites' processes have to agree on."""

#: Variables of a node's environment. A node learns from its own machine which files to
#: use; a job cannot say, since it comes from somebody else.
SITE_FILE = "FEDSDR_SITE_FILE"
STUDY_FILE = "FEDSDR_STUDY_FILE"
STUDY_FOLDER = "FEDSDR_STUDY_FOLDER"

#: The only classes that a job may name.
CONTROLLER = "fedsdr.transports.nvflare.controller.StudyController"
EXECUTOR = "fedsdr.transports.nvflare.executor.SiteExecutor"

#: How nodes start the process of a job.
SITE_JOBS = "fedsdr.transports.nvflare.job_processes.SiteJobs"
COORDINATOR_JOBS = "fedsdr.transports.nvflare.job_processes.CoordinatorJobs"

#: The only task that sites know; which message it carries is inside.
TASK = "fedsdr"

#: Seconds between two questions of a site for something to do, each of which is kept at
#: the coordinator for a while. NVFLARE's own 2 would be the time of every round.
TASK_INTERVAL = 0.01

RESULT_FILE = "result.json"
PROGRESS_FILE = "progress.json"

#: File in the folder of a site's node, locked by the process that has started it.
OCCUPIED = "occupied"

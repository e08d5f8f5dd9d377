"""Running a study on NVIDIA FLARE nodes: an adapter that carries bytes, and no more.

Needs the extra ``fedsdr[federation]``. Nothing outside of this folder imports NVFLARE,
and nothing inside of it knows what the messages say.
"""

"""Whole histories of jobs, simulated: `python -m tests.simulation --seeds 0:1000`.

A seed gives a program of the fuzzer, and what happens to it (`history`): plans that follow one another by way of
savepoints, processes that are killed at a certain step, power losses, disks that fail once, tasks that are tried
several times, batches that are lost or come twice, clocks that jump. The job (`job`) is all ours: the reader and the
log of the sources, generated code, state in entries and files, the sinks with their records, the lock, the record of
the plan, savepoints and the change of plans. Only Spark itself is stood in for (`spark`): its logs of offsets and
commits, its store of state by version, and what it promises about tasks. Files are real, on a machine (`machine`) that
stops at any step, and starts again with what was on its disk. In the end every sink must hold what the reference gives
it.

What only Spark can show is not here: its own files and their checksums, processes that really run at the same time,
Kafka, PostgreSQL, streams between jobs, and the gate of jobs that read them.
"""

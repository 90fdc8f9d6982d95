"""The information limit, in parts: what is measured, the runs, the scores, the report."""

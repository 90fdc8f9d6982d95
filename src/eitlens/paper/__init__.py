"""The reproduction of the paper: its printed numbers, our cells, tables, quotes and figures."""

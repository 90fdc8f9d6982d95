"""The paper's tables from result files: reading the cells, composing the page of results."""

"""Reports of what a run found: a page, JUnit XML, JSON, Markdown and a badge."""

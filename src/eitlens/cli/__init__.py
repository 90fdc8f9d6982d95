"""The command line, `eitlens`. One file a command; heavy imports happen inside the commands."""
